import type { Readable } from 'node:stream'
import type { HttpResponse } from '../http/http-client.ts'

/** Bounds what the answers that arrive at the same time, and those that wait for a slow client, hold in memory. */
export interface BodyBudget {
  /** Counts what comes out of the body from now on. `announced` is how much that is, -1 if nobody knows. */
  follow(response: Pick<HttpResponse, 'body' | 'isWhole'>, announced: number): BodyShare
}

/** What of one body is in memory. */
export interface BodyShare {
  /** What has come so far was taken. Without it the others wait. */
  release(): void
}

/** Less is not worth counting: most answers are shorter, and there are not that many calls at once. One read gives no more. */
const smallBytes = 64 * 1024

const uncounted: BodyShare = { release() {} }

const usualMostBytes = 32 * 1024 * 1024

interface Held {
  body: Readable
  bytes: number
  isPaused: boolean
}

/**
 * Beyond `mostBytes` only the body is read on that became large first: so one answer after the other gets through. Whoever
 * reads a body may pause and resume it as well.
 */
export function createBodyBudget(mostBytes: number = usualMostBytes): BodyBudget {
  /** In the order in which they became large. */
  const large = new Set<Held>()
  let total = 0

  function isFirst(held: Held): boolean {
    const [first] = large
    return first === held
  }

  function count(held: Held, bytes: number): void {
    held.bytes += bytes
    if (held.bytes <= smallBytes) return
    total += large.has(held) ? bytes : held.bytes
    large.add(held)
    if (total <= mostBytes || isFirst(held)) return
    held.isPaused = true
    held.body.pause()
  }

  function release(held: Held): void {
    if (large.delete(held)) total -= held.bytes
    held.bytes = 0
    for (const other of large) {
      if (total > mostBytes && !isFirst(other)) return
      if (!other.isPaused) continue
      other.isPaused = false
      other.body.resume()
    }
  }

  return {
    follow(response, announced) {
      if (response.isWhole === true || (announced >= 0 && announced <= smallBytes)) return uncounted
      const { body } = response
      const held: Held = { body, bytes: 0, isPaused: false }
      body.on('data', (chunk: Buffer) => count(held, chunk.length))
      return { release: () => release(held) }
    },
  }
}
