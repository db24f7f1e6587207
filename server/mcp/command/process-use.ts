import type { Runtime } from '@drawbridge/shared/runtime.ts'

/** A process is not ended to make room for another until it has been idle this long. */
const spareSeconds = 30

/** The calls of a process, and when it was last used. */
export class ProcessUse {
  readonly #runtime: Pick<Runtime, 'now'>
  readonly #idleMs: number
  readonly #onIdle: () => void
  #calls = 0
  #usedAt: number
  #timer: NodeJS.Timeout | undefined

  /** `onIdle` is called when no call has been open for `idleMs`. */
  constructor(runtime: Pick<Runtime, 'now'>, idleMs: number, onIdle: () => void) {
    this.#runtime = runtime
    this.#idleMs = idleMs
    this.#onIdle = onIdle
    this.#usedAt = runtime.now()
  }

  get isIdle(): boolean {
    return this.#calls === 0
  }

  /** The seconds since the last call; 0 during a call. */
  get idleSeconds(): number {
    return this.isIdle ? this.#runtime.now() - this.#usedAt : 0
  }

  /** True when it may be ended to make room: many clients leave without ending their session. */
  get isSpare(): boolean {
    return this.idleSeconds >= spareSeconds
  }

  begin(): void {
    this.#calls += 1
    this.stop()
  }

  over(): void {
    this.#calls -= 1
    if (this.#calls > 0) return
    this.#usedAt = this.#runtime.now()
    this.#timer = setTimeout(this.#onIdle, this.#idleMs).unref()
  }

  /** Stops waiting for it to become idle. */
  stop(): void {
    clearTimeout(this.#timer)
  }
}
