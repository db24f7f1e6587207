import type { Readable } from 'node:stream'

/** Gives what is read, or keeps it for later. */
export interface ReadAhead {
  pause(): void
  resume(): void
  /** Whether something is kept for later. */
  readonly isKeeping: boolean
}

/** What happens to what is read. */
export interface ReadAheadPorts {
  chunk(chunk: Buffer): void
  /** Once: everything that was read was given. */
  last(): void
  /** Once: nothing more will be read. Comes before what is kept, and after {@link ReadAheadPorts.last} when nothing is. */
  end(): void
}

const mostAheadBytes = 4 * 1024 * 1024

/** What a piece costs beside its bytes: a sender may send them one by one. */
const pieceBytes = 256

/**
 * Starts reading at once. While it is paused it reads on for some megabytes and keeps them: nothing but reading tells that a
 * pipe has ended. Who sends more than that is held back.
 */
export function createReadAhead(input: Readable, { chunk: give, last, end }: ReadAheadPorts): ReadAhead {
  let kept: Buffer[] = []
  let keptBytes = 0
  let isPaused = false
  let isGiving = false
  let hasEnded = false

  input.on('data', (chunk: Buffer) => {
    if (!isPaused && kept.length === 0) return give(chunk)
    kept.push(chunk)
    keptBytes += chunk.length + pieceBytes
    if (keptBytes > mostAheadBytes) input.pause()
  })
  input.on('end', () => {
    hasEnded = true
    if (kept.length === 0) last()
    end()
  })

  /** Whoever gets a piece may pause and resume: there is one loop nevertheless. */
  function giveKept(): void {
    if (isGiving) return
    isGiving = true
    let count = 0
    try {
      for (const chunk of kept) {
        if (isPaused) break
        count += 1
        keptBytes -= chunk.length + pieceBytes
        give(chunk)
      }
    } finally {
      kept = kept.slice(count)
      isGiving = false
    }
  }

  return {
    pause() {
      isPaused = true
    },
    resume() {
      if (!isPaused) return
      isPaused = false
      const hadKept = kept.length > 0
      giveKept()
      if (isGiving) return
      if (hasEnded && hadKept && kept.length === 0) last()
      else if (keptBytes <= mostAheadBytes) input.resume()
    },
    get isKeeping() {
      return kept.length > 0
    },
  }
}
