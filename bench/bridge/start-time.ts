import { openConnection } from './line-client.ts'
import type { Subject } from './subject.ts'

/** Starts and ends a bridge; returns the milliseconds until the tools are listed. */
export async function timeStart(
  subject: Subject,
  node: string,
): Promise<{ wallMs: number; /** Processor time. */ cpuMs: number }> {
  const begin = performance.now()
  const client = subject.start(node)
  try {
    await openConnection(client)
    return { wallMs: performance.now() - begin, cpuMs: client.cpuMs() }
  } finally {
    await client.close()
  }
}
