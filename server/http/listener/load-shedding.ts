import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type AddressBlock, addressBlocks } from '../../core/address-block.ts'
import { knownShare, refusals, tokenRefusals } from '../../core/limits/limit-table.ts'
import { BoundedMap } from '../../core/bounded-map.ts'
import { type Rate, RateLimit } from '../../core/limits/rate-limit.ts'
import { hashSecret } from '../../core/seal.ts'
import type { AddressChain } from './client-address.ts'
import type { RawRequest, RequestGate } from './guarded-server.ts'
import { errorTable } from '../error-table.ts'
import { type RawAnswer, rawRefusal } from './raw-response.ts'

const maxBlocks = 30_000
const maxCredentials = 20_000
const reportSeconds = 10
const retrySeconds = '1'

export interface LoadSheddingPorts {
  addressOf: AddressChain
  runtime: Pick<Runtime, 'now'>
  report: (event: string, fields: Record<string, unknown>) => void
  tokenPaths: readonly string[]
  /** Paths whose requests are always admitted: a flood must not make a load balancer or supervisor give this server up. */
  healthPaths: readonly string[]
  /** Returns whether a `Cookie` header proves that its browser has signed in here before. Called only while strangers are refused. */
  isKnownBrowser: (cookieHeader: string | undefined) => boolean
  /** Paths where a successful POST proves that the `Authorization` header is valid. A GET may return a page. */
  provingPaths: readonly string[]
}

/**
 * Creates the {@link RequestGate} that keeps the server available to good clients while others only cause refusals.
 *
 * It counts responses: each 4xx uses up one of the refusals that an address (for IPv6 a /64, and more for its /56 and /48) and all
 * addresses together may cause. An address that has used up its own gets 429, and everyone gets 503 when all are used up, without
 * further processing, until some are available again. A third of the total is reserved for browsers that have signed in before. Two
 * kinds of requests are admitted regardless:
 *
 * - Those whose `Authorization` header was recently accepted at `/mcp` or by the token endpoint: a good client is served even
 *   if it shares its address. Its own refusals are counted too, so a valid credential does not allow flooding.
 * - Token requests count separately, with a higher limit: the refresh token is in the body, so a valid one is not recognized
 *   before it is processed.
 *
 * Successful responses are not counted: this does not limit good clients. All state is in this process's memory, bounded, and lost
 * with it. Many addresses together can make new clients retry a few times; active clients do not notice.
 */
export function createLoadShedding(ports: LoadSheddingPorts): RequestGate {
  const { addressOf, runtime } = ports
  const shedding = createReporter(ports)
  // The token endpoint is used by clients, not by browsers.
  const ofTokens = new RefusalBudget(tokenRefusals, 0)
  const ofOthers = new RefusalBudget(refusals, 1 / knownShare)
  const credentials = new CredentialMemory()
  const posts = (request: RawRequest, paths: readonly string[]): boolean =>
    request.method === 'POST' && paths.includes(pathOf(request))
  const budgetFor = (request: RawRequest): RefusalBudget =>
    posts(request, ports.tokenPaths) ? ofTokens : ofOthers

  return {
    refuse(request) {
      if (ports.healthPaths.includes(pathOf(request))) return undefined
      const now = runtime.now()
      const blocks = blocksOf(request, addressOf)
      const isKnown = (): boolean => ports.isKnownBrowser(request.headers.cookie)
      const answer = budgetFor(request).refusal(blocks, isKnown, now)
      if (!answer || credentials.mayPass(request.headers.authorization, now)) return undefined
      shedding(blocks[0]?.name, now)
      return answer
    },
    answered(request, status) {
      const { authorization } = request.headers
      const now = runtime.now()
      if (status >= 400 && status < 500) {
        budgetFor(request).take(blocksOf(request, addressOf), now)
        credentials.refused(authorization, status, now)
      } else if (status < 400 && authorization !== undefined && posts(request, ports.provingPaths)) {
        credentials.accepted(authorization)
      }
    },
  }
}

/** Limits the refusals that requests of one kind may cause. */
class RefusalBudget {
  readonly #perAddress: Rate
  readonly #everyone: Rate
  readonly #strangers: Rate
  readonly #limit: RateLimit

  /** `kept` is the part of the total reserved for known browsers. */
  constructor({ perAddress, everyone: all }: { perAddress: Rate; everyone: Rate }, kept: number) {
    this.#perAddress = perAddress
    this.#everyone = all
    this.#strangers = { burst: Math.ceil(all.burst * (1 - kept)), perSecond: all.perSecond * (1 - kept) }
    this.#limit = new RateLimit(all, maxBlocks)
  }

  refusal(blocks: readonly AddressBlock[], isKnown: () => boolean, now: number): RawAnswer | undefined {
    const isSpent = (key: string, rate: Rate): boolean => this.#limit.isSpent(key, now, 1, rate)
    if (blocks.some((block) => isSpent(block.name, this.#rateOf(block)))) return tooManyOfAddress
    if (!isSpent('strangers', this.#strangers)) return undefined
    return isSpent('everyone', this.#everyone) || !isKnown() ? tooManyOfEveryone : undefined
  }

  take(blocks: readonly AddressBlock[], now: number): void {
    for (const block of blocks) this.#limit.take(block.name, now, 1, this.#rateOf(block))
    // Refusals of known browsers count for strangers too: telling them apart here would cost more than it is worth.
    this.#limit.take('strangers', now, 1, this.#strangers)
    this.#limit.take('everyone', now, 1, this.#everyone)
  }

  /** Returns the rate of a block that may cause `factor` times as much as an address, and at most half of the total. */
  #rateOf({ factor }: AddressBlock): Rate {
    const share = (name: keyof Rate): number =>
      Math.min(this.#perAddress[name] * factor, this.#everyone[name] / 2)
    return { burst: share('burst'), perSecond: share('perSecond') }
  }
}

/** Remembers which `Authorization` headers were recently accepted, by their hashes. */
class CredentialMemory {
  readonly #good = new BoundedMap<true>(maxCredentials)
  readonly #limit = new RateLimit(refusals.perAddress, maxCredentials)

  mayPass(authorization: string | undefined, now: number): boolean {
    if (authorization === undefined) return false
    const hash = hashSecret(authorization)
    return this.#good.get(hash) === true && !this.#limit.isSpent(hash, now)
  }

  accepted(authorization: string): void {
    const hash = hashSecret(authorization)
    if (this.#good.get(hash) === undefined) this.#good.set(hash, true)
  }

  refused(authorization: string | undefined, status: number, now: number): void {
    if (authorization === undefined) return
    const hash = hashSecret(authorization)
    if (this.#good.get(hash) === undefined) return
    // RFC 6750 section 3.1: the token is no longer valid.
    if (status === 401) this.#good.delete(hash)
    this.#limit.take(hash, now)
  }
}

const tooManyOfAddress = shed('too_many_requests', errorTable.too_many_requests.message)

const tooManyOfEveryone = shed(
  'temporarily_unavailable',
  'The server is receiving too many failing requests.',
)

function shed(code: 'too_many_requests' | 'temporarily_unavailable', message: string): RawAnswer {
  const { status, nextStep } = errorTable[code]
  return rawRefusal(status, { code, description: `${message} ${nextStep}` }, ['Retry-After', retrySeconds])
}

function pathOf({ url = '' }: RawRequest): string {
  const query = url.indexOf('?')
  return query === -1 ? url : url.slice(0, query)
}

/** Returns the address blocks that a request counts for; none if its address is unknown. */
function blocksOf({ socket, headers }: RawRequest, addressOf: AddressChain): readonly AddressBlock[] {
  const forwardedFor = headers['x-forwarded-for']
  const address = addressOf(typeof forwardedFor === 'string' ? forwardedFor : undefined, socket.remoteAddress)
  return address === undefined ? [] : addressBlocks(address)
}

/** Reports shed requests: at once, then at most every ten seconds with their number. */
function createReporter({ report }: LoadSheddingPorts): (block: string | undefined, now: number) => void {
  let count = 0
  let reportedAt = 0
  return (block, now) => {
    count += 1
    if (now - reportedAt < reportSeconds) return
    report('requests_shed', { count, address: block })
    count = 0
    reportedAt = now
  }
}
