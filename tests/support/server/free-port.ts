import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the ranges that operating systems use for outgoing connections and for `listen(0)`. */
const allPorts = { from: 15_000, to: 32_000 }

/**
 * Returns a free loopback port, reserved for this process until it exits: a server on it can be stopped and
 * restarted. Does not stop programs that choose their ports in another way. Rejects when 200 random ports were all
 * taken.
 */
export async function freePort(range: { from: number; to: number } = allPorts): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const port = randomInt(range.from, range.to)
    if ((await reserve(port)) && (await isFree(port))) return port
  }
  throw new Error(`No free port between ${range.from} and ${range.to} was found.`)
}

/**
 * Reserves the UDP port of that number in place of the TCP port: the system gives it to one process at a time, and
 * releases it when the process exits for any reason.
 */
async function reserve(port: number): Promise<boolean> {
  const reservation = createSocket('udp4')
  try {
    reservation.bind({ port, address: '127.0.0.1', exclusive: true })
    await once(reservation, 'listening')
    reservation.unref()
    return true
  } catch {
    reservation.close()
    return false
  }
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer()
  try {
    probe.listen(port, '127.0.0.1')
    await once(probe, 'listening')
  } catch {
    return false
  }
  probe.close()
  await once(probe, 'close')
  return true
}
