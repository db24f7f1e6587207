import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { createBoundedMap } from '../../core/bounded-map.ts'

const maxDeaths = 3
const windowSeconds = 60
const maxKeys = 10_000

/** Keeps processes that die again and again from being started again and again: three deaths within a minute are enough for it. */
export class Breaker {
  readonly #runtime: Pick<Runtime, 'now'>
  /** When the latest deaths were, by whose process it was. */
  readonly #deaths = createBoundedMap<readonly number[]>(maxKeys)

  constructor(runtime: Pick<Runtime, 'now'>) {
    this.#runtime = runtime
  }

  /** Says whether that was one too many. */
  recordDeath(key: string): boolean {
    const deaths = [...this.#recent(key), this.#runtime.now()]
    this.#deaths.set(key, deaths)
    return deaths.length === maxDeaths
  }

  /** For how many seconds nothing may be started; 0: it may. */
  openFor(key: string): number {
    const deaths = this.#recent(key)
    const first = deaths.at(-maxDeaths)
    return first === undefined ? 0 : first + windowSeconds - this.#runtime.now()
  }

  #recent(key: string): readonly number[] {
    const since = this.#runtime.now() - windowSeconds
    return (this.#deaths.get(key) ?? []).filter((time) => time > since)
  }
}
