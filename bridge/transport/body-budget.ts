/** Limit of all bodies that arrive at the same time or wait for a slow client. */
const maxHeldBytes = 16 * 1024 * 1024
/** Shorter bodies are never held back: most are. */
const smallBytes = 64 * 1024

/** Counts itself, because a `Map` of all bodies would keep the last ones in memory: V8 links its outgrown tables, each to the next. */
export interface HeldBody {
  /** Bytes that were read and not yet delivered. */
  heldBytes: number
}

/** Bounds the memory of all responses. Beyond the limit, large ones are read one after the other. */
export class BodyBudget {
  /** In the order in which they grew. */
  readonly #large = new Set<HeldBody>()
  #total = 0
  #waiting: (() => void)[] = []

  /** Counts bytes of a body. Returns a promise if there is no room for more, which resolves when there is. */
  add(body: HeldBody, bytes: number): Promise<void> | undefined {
    body.heldBytes += bytes
    this.#total += bytes
    if (body.heldBytes <= smallBytes) return undefined
    this.#large.add(body)
    return this.#total > maxHeldBytes ? this.#roomFor(body) : undefined
  }

  /** Releases the bytes of a body that were delivered. */
  release(body: HeldBody): void {
    this.#total -= body.heldBytes
    body.heldBytes = 0
    this.#large.delete(body)
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  async #roomFor(body: HeldBody): Promise<void> {
    const isFirst = (): boolean => this.#large.values().next().value === body
    while (this.#total > maxHeldBytes && this.#large.has(body) && !isFirst())
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }
}
