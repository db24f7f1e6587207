import type { HttpResponse } from '../network/http-client.ts'
import { discard } from './discarded-body.ts'
import { pause, politeMs } from './interruptible-pause.ts'
import type { LegPorts } from './leg-config.ts'
import { isEventStream } from './post-exchange.ts'
import type { PostExchange } from './post-exchange.ts'
import { RemoteError } from './remote-leg.ts'

/** What fetching the rest of an answer needs. */
export interface ResumePorts extends Pick<LegPorts, 'runtime' | 'note'> {
  signal: AbortSignal
  /** A GET for what came after that event. */
  resume(lastEventId: string): Promise<HttpResponse>
}

/** When the server names no time. */
const defaultWaitMs = 1000

/**
 * Reads the answers to a message; of a stream that ends too early the rest is fetched, as often as it takes (MCP 2025-11-25
 * transports, resumability). Rejects with `RemoteError` `lost` when the server gave its events no ids, or does not resume.
 */
export async function readResumed(
  first: HttpResponse,
  exchange: PostExchange,
  ports: ResumePorts,
): Promise<void> {
  let response = first
  let lastEventId: string | undefined
  let retryMs: number | undefined
  for (;;) {
    const cut = await exchange.read(response)
    if (cut === undefined) return
    lastEventId = cut.lastEventId ?? lastEventId
    retryMs = cut.retryMs ?? retryMs
    if (lastEventId === undefined || ports.signal.aborted) throw lostError(cut.cause)
    ports.note('an answer was cut off: resuming it')
    await pause(ports.runtime, politeMs(retryMs ?? defaultWaitMs), ports.signal)
    response = await ports.resume(lastEventId)
    if (response.status < 300 && isEventStream(response)) continue
    discard(response.body)
    throw lostError(cut.cause)
  }
}

/** The answer is not coming any more. */
export function lostError(cause: unknown): RemoteError {
  return new RemoteError('lost', 'The connection ended before the answer was there.', { cause })
}
