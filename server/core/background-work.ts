/** Keeps the process running until `work` has settled. */
export type WaitUntil = (work: Promise<unknown>) => void

/** Work that continues after its request was answered. A shutdown waits for it. */
export class BackgroundWork {
  readonly #running = new Set<Promise<void>>()

  /** `work` must end by itself. Its result and its error are ignored here. */
  add(work: Promise<unknown>): void {
    const ended: Promise<void> = work.then(
      () => void this.#running.delete(ended),
      () => void this.#running.delete(ended),
    )
    this.#running.add(ended)
  }

  async settle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running)
  }
}
