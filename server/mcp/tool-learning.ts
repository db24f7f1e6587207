import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { callsOf } from '../core/access/call-record.ts'
import { BoundedMap } from '../core/bounded-map.ts'
import type { Incoming } from './incoming.ts'
import type { KnownTools } from './known-tools.ts'

const patienceMs = 10_000
const maxPages = 100
const pauseSeconds = 5
const maxRemembered = 10_000

/** Requests one page of the caller's list of tools, and returns its result; undefined: the session that it belongs to is gone. */
export type ListTools = (params: JsonObject, signal: AbortSignal) => Promise<JsonObject | undefined>

/** How the list was read. If that failed, the tools that are still unknown count as writes. */
export type Learned = 'done' | 'session_gone'

/**
 * Reads the list of tools for a caller who may be refused a tool only because this instance has not seen how it is marked. Concurrent
 * calls of one owner share a list, and the next is read five seconds after it at the earliest, whatever came of it.
 */
export class ToolLearning {
  readonly #known: KnownTools
  readonly #runtime: Pick<Runtime, 'now'>
  readonly #lists = new BoundedMap<{ learned: Promise<Learned>; until: number }>(maxRemembered)

  constructor(known: KnownTools, runtime: Pick<Runtime, 'now'>) {
    this.#known = known
    this.#runtime = runtime
  }

  /** Returns whether a scope that the caller lacks depends on a mark that is unknown. */
  isNeeded({ body, caller: { scope } }: Incoming): boolean {
    const held = scope.split(' ')
    return callsOf(body).some(({ event, name }) => {
      const doubtful = event === 'tool_called' ? this.#known.scopeInDoubt(name) : undefined
      return doubtful !== undefined && !held.includes(doubtful)
    })
  }

  /** Never rejects. */
  learn(owner: string, listTools: ListTools): Promise<Learned> {
    const earlier = this.#lists.get(owner)
    if (earlier && this.#runtime.now() < earlier.until) return earlier.learned
    const learned = this.#read(listTools).catch((): Learned => 'done')
    const list = { learned, until: Infinity }
    this.#lists.set(owner, list)
    void learned.then(() => (list.until = this.#runtime.now() + pauseSeconds))
    return learned
  }

  async #read(listTools: ListTools): Promise<Learned> {
    const signal = AbortSignal.timeout(patienceMs)
    let cursor: unknown
    for (let page = 0; page < maxPages; page += 1) {
      const result = await listTools(typeof cursor === 'string' ? { cursor } : {}, signal)
      if (!result) return 'session_gone'
      cursor = result['nextCursor']
      const isLast = typeof cursor !== 'string'
      if (Array.isArray(result['tools'])) this.#known.list(result['tools'], { isFirst: true, isLast })
      if (isLast) break
    }
    return 'done'
  }
}
