type Listener = NonNullable<Parameters<AbortSignal['addEventListener']>[1]>

/**
 * An `AbortController` for what happens thousands of times an hour. The one of Node keeps a function for each listener in an
 * object of a class, and V8 holds on to such functions, and to all that they close over, until the next full collection:
 * with a listener for each call that was a third of what a call cost (measured). Listeners are told in their order, once;
 * `AbortSignal.any` and `fetch` do not take its signal.
 */
export class CallAbort implements AbortController {
  readonly signal: CallSignal = new CallSignal()

  abort(reason: unknown = new DOMException('This operation was aborted', 'AbortError')): void {
    this.signal.end(reason)
  }
}

class CallSignal implements AbortSignal {
  aborted = false
  reason: unknown = undefined
  onabort: ((this: AbortSignal, event: Event) => unknown) | null = null
  readonly #listeners: Listener[] = []

  end(reason: unknown): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    this.dispatchEvent(new Event('abort'))
  }

  throwIfAborted(): void {
    if (this.aborted) throw this.reason
  }

  addEventListener(_type: string, listener: Listener | null): void {
    if (listener !== null && !this.aborted && !this.#listeners.includes(listener))
      this.#listeners.push(listener)
  }

  removeEventListener(_type: string, listener: Listener | null): void {
    const index = listener === null ? -1 : this.#listeners.indexOf(listener)
    if (index !== -1) this.#listeners.splice(index, 1)
  }

  dispatchEvent(event: Event): boolean {
    this.onabort?.(event)
    for (let listener = this.#listeners.shift(); listener !== undefined; listener = this.#listeners.shift()) {
      if (typeof listener === 'function') listener(event)
      else listener.handleEvent(event)
    }
    return true
  }
}
