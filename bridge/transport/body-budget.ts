/** Limit of all bodies that arrive at the same time or wait for a slow client. */
const maxHeldBytes = 16 * 1024 * 1024
/** Shorter bodies are never held back: most are. */
const smallBytes = 64 * 1024

/** Bounds the memory of all responses. Beyond the limit, large ones are read one after the other. */
export class BodyBudget {
  readonly #held = new Map<object, number>()
  #total = 0
  #waiting: (() => void)[] = []

  /** Counts bytes of a body. Resolves when more of it may be read. */
  async add(body: object, bytes: number): Promise<void> {
    const held = (this.#held.get(body) ?? 0) + bytes
    this.#held.set(body, held)
    this.#total += bytes
    if (held <= smallBytes) return
    while (this.#total > maxHeldBytes && this.#firstLarge() !== body && this.#held.has(body))
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /** Releases the bytes of a body that were delivered. */
  release(body: object): void {
    this.#total -= this.#held.get(body) ?? 0
    this.#held.delete(body)
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  #firstLarge(): object | undefined {
    for (const [body, bytes] of this.#held) if (bytes > smallBytes) return body
    return undefined
  }
}
