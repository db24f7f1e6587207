import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type AddressBlock, addressBlocks } from '../address-block.ts'
import { bytesOfCall, callsWithoutCredential } from './limit-table.ts'
import { type Admission, type Rate, SourceLimit } from './rate-limit.ts'

/** Limits on one user's calls in this process, across all their credentials. Undefined: no limit. */
export interface CallLimits {
  rate: Rate | undefined
  atOnce: number | undefined
}

export interface CallLoad {
  messages: number
  bytes: number
  /** Messages that stay in progress until `leave`. */
  requests: number
}

/** A signed-in user, whatever their address. */
export function personCalling(userId: string): readonly AddressBlock[] {
  return [{ name: userId, factor: 1 }]
}

/** The blocks of `address`, and one for all calls without a credential. None of the names can be a user id. */
export function strangerCalling(address: string | undefined): readonly AddressBlock[] {
  const { unknownFactor, everyoneFactor } = callsWithoutCredential
  const blocks = address === undefined ? [{ name: 'unknown', factor: unknownFactor }] : addressBlocks(address)
  const named = blocks.map(({ name, factor }) => ({ name: `address ${name}`, factor }))
  return [...named, { name: 'without a credential', factor: everyoneFactor }]
}

/** Limits the rate and the number of concurrent requests, in this process. */
export class CallLimit {
  readonly #limits: CallLimits
  readonly #sources: SourceLimit

  constructor(limits: CallLimits, runtime: Pick<Runtime, 'now'>) {
    this.#limits = limits
    this.#sources = new SourceLimit(runtime)
  }

  /** Counts the messages of one request, such as a batch, for each of `sources`: all or none. */
  enter(sources: readonly AddressBlock[], { messages, bytes, requests }: CallLoad): Admission {
    const { rate, atOnce } = this.#limits
    const shares = sources.map(({ name, factor }) => ({
      key: name,
      rate: rate && { burst: rate.burst * factor, perSecond: rate.perSecond * factor },
      atOnce: atOnce === undefined ? undefined : atOnce * factor,
    }))
    // A message larger than the whole burst costs the whole burst: otherwise it could never be sent.
    const count = Math.max(messages, Math.min(Math.ceil(bytes / bytesOfCall), rate?.burst ?? 0))
    return this.#sources.enter(shares, { count, underWay: requests })
  }
}
