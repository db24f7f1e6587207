import type { PendingRequests } from './pending-requests.ts'

/**
 * Stops reading from a client that asks or tells faster than the server takes it, or that does not read what it is answered, so
 * that memory stays bounded.
 */
export interface ReadingLimit {
  /** To be called when the number of waiting calls, or of bytes that wait to be written, has changed. */
  check(): void
  /** A message is passed on that nobody answers. The returned function is to be called when the server has it. */
  passing(bytes: number): () => void
  /** The server has asked the client something. The answer has to be read, whatever waits. */
  asked(): void
  replied(): void
}

const maxCalls = 1024
const maxBytes = 64 * 1024 * 1024
const maxUnwrittenBytes = 16 * 1024 * 1024

/** Reading goes on when half of it is done. */
export function createReadingLimit(
  pendingRequests: PendingRequests,
  input: { pause(): void; resume(): void },
  output: { readonly writableLength: number },
): ReadingLimit {
  const passing = { count: 0, bytes: 0 }
  let isPaused = false
  let questions = 0

  function check(): void {
    const share = isPaused ? 0.5 : 1
    const isMuch =
      pendingRequests.count + passing.count > maxCalls * share ||
      pendingRequests.bytes + passing.bytes > maxBytes * share ||
      output.writableLength > maxUnwrittenBytes * share
    const shouldPause = isMuch && questions === 0
    if (shouldPause === isPaused) return
    isPaused = shouldPause
    if (isPaused) input.pause()
    else input.resume()
  }

  return {
    check,
    passing(bytes) {
      passing.count += 1
      passing.bytes += bytes
      check()
      return () => {
        passing.count -= 1
        passing.bytes -= bytes
        check()
      }
    },
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
