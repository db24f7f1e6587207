import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type AddressBlock, addressBlocks } from '../address-block.ts'
import { bytesOfCall, callsWithoutCredential } from './limit-table.ts'
import { type Rate, RateLimit } from './rate-limit.ts'

/** Limits on one user's calls in this process, across all their credentials. Undefined: no limit. */
export interface CallLimits {
  rate: Rate | undefined
  atOnce: number | undefined
}

/** A user, or an address block, which may make `factor` times as many calls. */
type CallSource = AddressBlock

/** The size of one request. */
export interface CallLoad {
  messages: number
  bytes: number
  /** Messages that stay in progress until `leave`. */
  requests: number
}

/** Admits or refuses messages. Call `leave` once when admitted messages are done. */
export type CallAdmission =
  | { kind: 'admitted'; leave: () => void }
  | { kind: 'refused'; retryAfterSeconds: number }

/** Maximum number of tracked sources. A forgotten source has its full burst again. */
const maxSources = 100_000
const atOnceRetrySeconds = 1

/** Returns the source of a user's calls. */
export function personCalling(userId: string): readonly CallSource[] {
  return [{ name: userId, factor: 1 }]
}

/**
 * Returns the sources of calls without a credential: the blocks of `address`, and one for all such calls. None of their ids can be
 * a user id.
 */
export function strangerCalling(address: string | undefined): readonly CallSource[] {
  const { unknownFactor, everyoneFactor } = callsWithoutCredential
  const blocks = address === undefined ? [{ name: 'unknown', factor: unknownFactor }] : addressBlocks(address)
  const named = blocks.map(({ name, factor }) => ({ name: `address ${name}`, factor }))
  return [...named, { name: 'without a credential', factor: everyoneFactor }]
}

/** Limits the rate and the number of concurrent requests of a user, or of an address without credentials. */
export class CallLimit {
  readonly #limits: CallLimits
  readonly #rate: RateLimit | undefined
  readonly #runtime: Pick<Runtime, 'now'>
  readonly #underWay = new Map<string, number>()

  constructor(limits: CallLimits, runtime: Pick<Runtime, 'now'>) {
    this.#limits = limits
    this.#rate = limits.rate && new RateLimit(limits.rate, maxSources)
    this.#runtime = runtime
  }

  /** Counts the messages of one request, such as a batch, for each of `sources`: all or none. */
  enter(sources: readonly CallSource[], { messages, bytes, requests }: CallLoad): CallAdmission {
    const { rate, atOnce } = this.#limits
    const underWay = ({ name }: CallSource): number => this.#underWay.get(name) ?? 0
    if (atOnce !== undefined && sources.some((each) => underWay(each) + requests > atOnce * each.factor)) {
      return { kind: 'refused', retryAfterSeconds: atOnceRetrySeconds }
    }
    // A message larger than the whole burst costs the whole burst: otherwise it could never be sent.
    const count = Math.max(messages, Math.min(Math.ceil(bytes / bytesOfCall), rate?.burst ?? 0))
    const now = this.#runtime.now()
    const spent = sources.find(({ name, factor }) => this.#rate?.isSpent(name, now, count / factor))
    if (rate && spent) {
      const seconds = Math.ceil(count / spent.factor / rate.perSecond)
      return { kind: 'refused', retryAfterSeconds: Math.max(1, seconds) }
    }
    for (const each of sources) {
      this.#rate?.take(each.name, now, count / each.factor)
      if (requests > 0) this.#underWay.set(each.name, underWay(each) + requests)
    }
    return { kind: 'admitted', leave: () => this.#leave(sources, requests) }
  }

  #leave(sources: readonly CallSource[], requests: number): void {
    for (const { name } of sources) {
      const left = (this.#underWay.get(name) ?? 0) - requests
      if (left > 0) this.#underWay.set(name, left)
      else this.#underWay.delete(name)
    }
  }
}
