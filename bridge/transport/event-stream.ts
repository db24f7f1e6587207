import type { HttpResponse } from '../http/http-client.ts'
import { discard } from './discarded-body.ts'
import { createSseParser } from './sse-parser.ts'
import type { SseEvent } from './sse-parser.ts'

/** How far a stream of events came. */
export interface EventStreamEnd {
  /** Of the last event that was taken. */
  lastEventId: string | undefined
  /** How long the server wants to be left alone before the stream is resumed. */
  retryMs: number | undefined
  /** Why it ended, when it did not end as it should. */
  cause: unknown
}

/** Who reads a stream of events. */
export interface EventReader {
  /** Takes one event, in order. While a promise is pending nothing more is read from the connection. */
  take(event: SseEvent): void | Promise<void>
  /** Asked after each event: whether nothing more is wanted. */
  isDone(): boolean
}

/** 64 MB: as much as a line of stdio may have. */
const mostEventBytes = 64 * 1024 * 1024

/**
 * Reads events until the stream ends or breaks, or the reader is done. Rejects only with what the reader throws and with
 * `SseError`; the stream is cut off then.
 */
export function readEventStream(
  response: Pick<HttpResponse, 'body' | 'takeWhole'>,
  reader: EventReader,
): Promise<EventStreamEnd> {
  const whole = response.takeWhole?.()
  if (whole !== undefined) return readEvents(whole, reader)
  const { body } = response
  const parser = createSseParser(mostEventBytes)
  let waiting: SseEvent[] = []
  let next = 0
  let lastEventId: string | undefined
  let isTaking = false
  let isOver = false
  let isSettled = false

  return new Promise((resolve, reject) => {
    function settle(cause: unknown): void {
      if (isSettled) return
      isSettled = true
      resolve({ lastEventId, retryMs: parser.retryMs(), cause })
    }

    function fail(error: unknown): void {
      if (isSettled) return
      isSettled = true
      body.destroy()
      reject(error)
    }

    /** Takes what is waiting; comes back to it when a reader needed time. */
    function work(): void {
      while (next < waiting.length) {
        if (isSettled) return
        const event = waiting[next]
        next += 1
        if (event === undefined) continue
        const taken = reader.take(event)
        if (taken !== undefined) return waitFor(taken, event)
        if (!passed(event)) return
      }
      waiting = []
      next = 0
      if (isOver) settle(cause)
    }

    function passed(event: SseEvent): boolean {
      lastEventId = event.id
      if (!reader.isDone()) return true
      settle(undefined)
      discard({ body })
      return false
    }

    function waitFor(taken: Promise<void>, event: SseEvent): void {
      function goOn(): void {
        isTaking = false
        if (passed(event)) guardedWork()
        if (!isTaking) body.resume()
      }
      isTaking = true
      body.pause()
      taken.then(goOn, fail)
    }

    function guardedWork(): void {
      try {
        work()
      } catch (error) {
        fail(error)
      }
    }

    let cause: unknown
    function end(error: unknown): void {
      if (isOver) return
      isOver = true
      cause = error
      if (!isTaking) guardedWork()
    }

    body.on('data', (chunk: Buffer) => {
      if (isSettled) return
      try {
        const events = parser.push(chunk)
        if (events.length === 0) return
        waiting = next === waiting.length ? events : [...waiting.slice(next), ...events]
        next = 0
        if (!isTaking) work()
      } catch (error) {
        fail(error)
      }
    })
    body.on('end', () => end(undefined))
    body.on('error', end)
    body.on('close', () => end(undefined))
  })
}

/** Of a stream that is here to its end, as the answers of fast tools are. */
async function readEvents(bytes: Buffer, reader: EventReader): Promise<EventStreamEnd> {
  const parser = createSseParser(mostEventBytes)
  let lastEventId: string | undefined
  for (const event of parser.push(bytes)) {
    const taken = reader.take(event)
    if (taken !== undefined) await taken
    lastEventId = event.id
    if (reader.isDone()) break
  }
  return { lastEventId, retryMs: parser.retryMs(), cause: undefined }
}
