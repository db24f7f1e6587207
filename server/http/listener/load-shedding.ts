import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type AddressBlock, addressBlocks } from '../../core/access/address-block.ts'
import { knownShare, refusals, tokenRefusals } from '../../core/access/limit-table.ts'
import { createBoundedMap } from '../../core/bounded-map.ts'
import { createRateLimit, type Rate, type RateLimit } from '../../core/access/rate-limit.ts'
import { hashSecret } from '../../core/seal.ts'
import type { AddressChain } from './client-address.ts'
import type { RawRequest, RequestGate } from './guarded-server.ts'
import { httpErrors } from '../http-error.ts'
import { type RawAnswer, rawRefusal } from './raw-response.ts'

const mostAddresses = 10_000
const mostCredentials = 20_000
const everyone = 'everyone'
const reportSeconds = 10
const retrySeconds = '1'

/** What shedding needs from outside. */
export interface LoadSheddingPorts {
  addressOf: AddressChain
  runtime: Pick<Runtime, 'now'>
  report: (event: string, fields: Record<string, unknown>) => void
  tokenPaths: readonly string[]
  /** Whether a `Cookie` header proves that its browser has signed in here before. Asked only while strangers are refused. */
  isKnownBrowser: (cookieHeader: string | undefined) => boolean
  /** Paths where a good answer proves the `Authorization` header that came with the request. */
  provingPaths: readonly string[]
}

/**
 * The {@link RequestGate} that keeps the server there for good clients while others only cause refusals.
 *
 * What counts is how requests were answered: each 4xx is one of so many that an address (of IPv6 a /64, and more of them its
 * /56 and /48), and everybody together, may cause. An address that has none left is answered 429, and everybody 503 when all
 * are used up, without being looked at, until some come back. A third of what everybody may cause is kept for browsers that have
 * signed in before. Two kinds of requests are let in all the same:
 *
 * - One whose `Authorization` header was accepted lately, at `/mcp` or by the token endpoint: a good client is served
 *   whoever else has its address. Its own refusals are counted too, so a good credential is no licence to flood.
 * - Token requests count apart from all others, and more of them are let in: a refresh token is in the body, so nobody
 *   knows a good refresh before it has been judged.
 *
 * Nothing that was answered well is counted: how much good clients may ask is not decided here. All is in this process's
 * memory, bounded, and forgotten with it. Many addresses together can make new clients come back a few times; clients
 * that are at work do not notice.
 */
export function createLoadShedding(ports: LoadSheddingPorts): RequestGate {
  const { addressOf, runtime } = ports
  const tokenPaths = new Set(ports.tokenPaths)
  const provingPaths = new Set(ports.provingPaths)
  const shedding = createReporter(ports)
  const budgets = {
    // Clients come to the token endpoint, not browsers.
    token: createBudget(tokenRefusals, 0),
    other: createBudget(refusals, 1 / knownShare),
  }
  const credentials = createCredentialMemory()
  const budgetFor = (request: RawRequest): RefusalBudget =>
    request.method === 'POST' && tokenPaths.has(pathOf(request)) ? budgets.token : budgets.other
  const proves = (request: RawRequest): boolean =>
    request.method !== 'OPTIONS' && provingPaths.has(pathOf(request))

  return {
    refuse(request) {
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
      } else if (status < 400 && authorization !== undefined && proves(request)) {
        credentials.accepted(authorization)
      }
    },
  }
}

/** What requests of one kind may cause. */
interface RefusalBudget {
  refusal(blocks: readonly AddressBlock[], isKnown: () => boolean, now: number): RawAnswer | undefined
  take(blocks: readonly AddressBlock[], now: number): void
}

/** `kept` is the part of what everybody may cause that strangers do not get. */
function createBudget(
  { perAddress: ofAddress, everyone: ofEveryone }: { perAddress: Rate; everyone: Rate },
  kept: number,
): RefusalBudget {
  const limits = new Map<number, RateLimit>()
  /** The limit of blocks that may cause `factor` times as much as an address, and no more than half of what there is. */
  const limitOf = ({ factor }: AddressBlock): RateLimit => {
    const limit =
      limits.get(factor) ??
      createRateLimit(
        {
          burst: Math.min(ofAddress.burst * factor, ofEveryone.burst / 2),
          perSecond: Math.min(ofAddress.perSecond * factor, ofEveryone.perSecond / 2),
        },
        mostAddresses,
      )
    limits.set(factor, limit)
    return limit
  }
  const all = createRateLimit(ofEveryone, 1)
  const strangers = createRateLimit(
    { burst: Math.ceil(ofEveryone.burst * (1 - kept)), perSecond: ofEveryone.perSecond * (1 - kept) },
    1,
  )
  return {
    refusal(blocks, isKnown, now) {
      if (blocks.some((block) => limitOf(block).isSpent(block.name, now))) return tooManyOfAddress
      if (!strangers.isSpent(everyone, now)) return undefined
      return all.isSpent(everyone, now) || !isKnown() ? tooManyOfEveryone : undefined
    },
    take(blocks, now) {
      for (const block of blocks) limitOf(block).take(block.name, now)
      // Refusals of known browsers count for strangers too: telling them apart here would cost more than it is worth.
      strangers.take(everyone, now)
      all.take(everyone, now)
    },
  }
}

/** Which `Authorization` headers were accepted lately, by their hashes. */
interface CredentialMemory {
  mayPass(authorization: string | undefined, now: number): boolean
  accepted(authorization: string): void
  refused(authorization: string | undefined, status: number, now: number): void
}

function createCredentialMemory(): CredentialMemory {
  const good = createBoundedMap<true>(mostCredentials)
  const limit: RateLimit = createRateLimit(refusals.perAddress, mostAddresses)
  return {
    mayPass(authorization, now) {
      if (authorization === undefined) return false
      const hash = hashSecret(authorization)
      return good.get(hash) === true && !limit.isSpent(hash, now)
    },
    accepted(authorization) {
      const hash = hashSecret(authorization)
      if (good.get(hash) === undefined) good.set(hash, true)
    },
    refused(authorization, status, now) {
      if (authorization === undefined) return
      const hash = hashSecret(authorization)
      if (good.get(hash) === undefined) return
      // RFC 6750 section 3.1: the token has ended.
      if (status === 401) good.delete(hash)
      limit.take(hash, now)
    },
  }
}

const tooManyOfAddress = shed('too_many_requests', httpErrors.too_many_requests.message)

const tooManyOfEveryone = shed(
  'temporarily_unavailable',
  'The server is receiving too many failing requests.',
)

function shed(code: 'too_many_requests' | 'temporarily_unavailable', message: string): RawAnswer {
  const { status, nextStep } = httpErrors[code]
  return rawRefusal(status, { code, description: `${message} ${nextStep}` }, ['Retry-After', retrySeconds])
}

function pathOf({ url = '' }: RawRequest): string {
  const query = url.indexOf('?')
  return query === -1 ? url : url.slice(0, query)
}

/** Which blocks of addresses a request counts for; none when nobody knows where it comes from. */
function blocksOf({ socket, headers }: RawRequest, addressOf: AddressChain): readonly AddressBlock[] {
  const forwardedFor = headers['x-forwarded-for']
  const address = addressOf(typeof forwardedFor === 'string' ? forwardedFor : undefined, socket.remoteAddress)
  return address === undefined ? [] : addressBlocks(address)
}

/** Tells of shed requests: at once, then at most every ten seconds with their number. */
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
