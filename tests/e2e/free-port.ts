import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

const handedOut = new Set<number>()

/**
 * A loopback port that nobody listens on, handed out once per process. It lies below the ranges that operating systems
 * give to outgoing connections, so that it is still free when a killed server comes back to it.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = randomInt(20_000, 32_000)
    if (handedOut.has(port) || !(await isFree(port))) continue
    handedOut.add(port)
    return port
  }
  throw new Error('No free port between 20000 and 32000 was found.')
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}
