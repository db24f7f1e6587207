/** One audit event as it was logged, with its place among all of this process. */
export interface AuditRingEvent {
  sequence: number
  time: string
  event: string
  [field: string]: unknown
}

/** A microsecond each: more events than that in one second of a process's life are not to be expected. */
const sequencesPerSecond = 1_000_000

/**
 * The last audit events of this process, in memory: a destination of the log, whose lines are redacted already. Sequence
 * numbers grow by one with every event and, because they begin with the time of the start, over restarts too.
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
   * The oldest events after `sequence`, at most `limit`; those that the ring has lost are left out. `next` is the `sequence` to ask
   * with for what comes after them. A number that this process has not reached is none of its own, and counts as 0.
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
