/** One audit event as it was logged, with its sequence number in this process. */
export interface AuditRingEvent {
  sequence: number
  time: string
  event: string
  [field: string]: unknown
}

/** One microsecond each: a process is not expected to log more events than that in a second. */
const sequencesPerSecond = 1_000_000

/**
 * Keeps the last audit events of this process in memory: a destination of the log, whose lines are already redacted. Sequence
 * numbers increase by one per event and, because they start with the time of the start, across restarts too.
 */
export class AuditRing {
  readonly #capacity: number
  readonly #first: number
  #next: number
  readonly #lines: string[] = []

  /** `startedAt` is epoch seconds. */
  constructor(startedAt: number, capacity = 10_000) {
    this.#capacity = capacity
    this.#first = startedAt * sequencesPerSecond
    this.#next = this.#first
  }

  write(line: string): void {
    this.#lines[this.#next % this.#capacity] = line
    this.#next += 1
  }

  /**
   * Returns the oldest events after `sequence`, at most `limit`, without those the ring has dropped. Pass `next` as the `sequence`
   * of the following call. A number this process has not reached is from another one, and counts as 0.
   */
  since(sequence: number, limit: number): { events: AuditRingEvent[]; next: number } {
    const oldest = Math.max(this.#first, this.#next - this.#capacity)
    const from = sequence < this.#next ? Math.max(oldest, sequence + 1) : oldest
    const end = Math.min(this.#next, from + limit)
    const events = Array.from({ length: end - from }, (_, index) => this.#read(from + index))
    return { events, next: end - 1 }
  }

  #read(sequence: number): AuditRingEvent {
    const line = this.#lines[sequence % this.#capacity] ?? '{}'
    return { sequence, ...(JSON.parse(line) as Omit<AuditRingEvent, 'sequence'>) } as AuditRingEvent
  }
}
