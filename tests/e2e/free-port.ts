import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

const handedOut = new Set<number>()

/** Test files that run at the same time have ports of their own: one of them may be between a stop and a start. */
const shares = 8
const [from, size] = [20_000, 1500]
const share = Number(process.env['VITEST_POOL_ID'] ?? 0) % shares

/**
 * A loopback port that nobody listens on, handed out once per process. It lies below the ranges that operating systems
 * give to outgoing connections, so that it is still free when a killed server comes back to it.
 */
export async function freePort(): Promise<number> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const port = randomInt(from + share * size, from + (share + 1) * size)
    if (handedOut.has(port) || !(await isFree(port))) continue
    handedOut.add(port)
    return port
  }
  throw new Error(`No free port of the ${size} from ${from + share * size} on was found.`)
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer()
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}
