import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below the ranges from which operating systems take ports for outgoing connections and for `listen(0)`. */
const allPorts = { from: 15_000, to: 32_000 }

/**
 * A loopback port on which nothing listens, for this process alone until it ends: a server on it can be stopped and started
 * again. Programs that choose their ports in another way are not kept off it. Rejects when 200 random ports were all taken.
 */
export async function freePort(range: { from: number; to: number } = allPorts): Promise<number> {
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const port = randomInt(range.from, range.to)
    if ((await reserve(port)) && (await isFree(port))) return port
  }
  throw new Error(`No free port between ${range.from} and ${range.to} was found.`)
}

/**
 * The UDP port of that number stands for the TCP port: the system gives it to one process at a time, and takes it back when
 * the process ends, however it does so.
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
