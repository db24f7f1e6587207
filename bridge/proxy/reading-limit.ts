import type { InFlight } from './in-flight.ts'

/** Stops reading from a client that asks faster than the server answers, so that memory stays bounded. */
export interface ReadingLimit {
  /** To be called when the number of waiting calls has changed. */
  check(): void
  /** The server has asked the client something. The answer has to be read, whatever waits. */
  asked(): void
  replied(): void
}

const mostCalls = 1024
const mostBytes = 64 * 1024 * 1024

/** Reading goes on when half of it is done. */
export function createReadingLimit(
  inFlight: InFlight,
  input: { pause(): void; resume(): void },
): ReadingLimit {
  let isPaused = false
  let questions = 0

  function check(): void {
    const share = isPaused ? 0.5 : 1
    const isMuch = inFlight.count > mostCalls * share || inFlight.bytes > mostBytes * share
    const shouldPause = isMuch && questions === 0
    if (shouldPause === isPaused) return
    isPaused = shouldPause
    if (isPaused) input.pause()
    else input.resume()
  }

  return {
    check,
    asked() {
      questions += 1
      check()
    },
    replied() {
      questions = Math.max(0, questions - 1)
      check()
    },
  }
}
