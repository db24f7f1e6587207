/** Less is not worth counting: most answers are shorter, and there are not that many calls at once. */
const smallBytes = 64 * 1024

/**
 * Bounds what the answers that arrive at the same time, and those that wait for a slow client, hold in memory. Beyond `maxBytes`
 * only the answer is read on that became large first: so one answer after the other gets through.
 */
export class BodyBudget {
  readonly #maxBytes: number
  /** In the order in which they became large. */
  readonly #held = new Set<BodyShare>()
  #waiting: (() => void)[] = []

  constructor(maxBytes: number = 16 * 1024 * 1024) {
    this.#maxBytes = maxBytes
  }

  share(): BodyShare {
    return new BodyShare(this)
  }

  /** Resolves when the next part of that body may be read. */
  async room(share: BodyShare): Promise<void> {
    if (share.bytes <= smallBytes) return
    this.#held.add(share)
    while (this.#isFull() && this.#first() !== share && this.#held.has(share))
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  release(share: BodyShare): void {
    this.#held.delete(share)
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }

  #first(): BodyShare | undefined {
    const [first] = this.#held
    return first
  }

  #isFull(): boolean {
    let total = 0
    for (const { bytes } of this.#held) total += bytes
    return total > this.#maxBytes
  }
}

/** What of one body is in memory. */
export class BodyShare {
  bytes = 0
  readonly #budget: BodyBudget

  constructor(budget: BodyBudget) {
    this.#budget = budget
  }

  /** Counts bytes that were read. Resolves when more may be read. */
  add(bytes: number): Promise<void> {
    this.bytes += bytes
    return this.#budget.room(this)
  }

  /** What has come so far was taken. */
  release(): void {
    this.bytes = 0
    this.#budget.release(this)
  }
}
