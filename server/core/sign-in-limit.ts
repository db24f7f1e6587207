import { addressBlock } from './address-block.ts'
import { type AttemptLimit, type AttemptLimitPorts, countWithin } from './attempt-limit.ts'
import { hashSecret } from './seal.ts'
import { ProviderError } from './session-provider.ts'

const minute = 60
const quarterHour = 15 * minute
const hour = 60 * minute

// What is protected is the rate limit that the provider has for this server as a whole.
const everyoneKey = 'sign-in'

const mostForAccount = 10
// Half, so that one address alone cannot use up what an account has at all others.
const mostForAccountAtAddress = 5
const hoursLimitInMinutes = 3

/** What the limit needs from outside. */
export interface SignInLimitPorts extends AttemptLimitPorts {
  /** Attempts per minute, of everybody at all instances together. */
  limitPerMinute: number
}

/** Who tries to sign in to what. */
export interface SignInAttempt {
  /** IP address of the browser. Undefined: no limit per address holds. */
  address: string | undefined
  /**
   * What was typed as the account, trimmed and in lower case, whether or not it exists; with the browser's own mark for one
   * that it has signed in to before. Undefined: it is not known yet.
   */
  account: string | undefined
  /** Whether this very browser has signed in to this account before, by a cookie that proves it. */
  trusted: boolean
}

/**
 * Counts an attempt to sign in before anything of it is sent to the provider; rejects with `rate_limited` over a limit.
 * With the default of twenty a minute for everybody, the limits are
 *
 * - ten a minute and sixty an hour from one address (of IPv6 a /64), so one source never takes more than half of what
 *   there is for all,
 * - ten in fifteen minutes on one account from browsers that are new to it, five of them from one address,
 * - ten in fifteen minutes on one account from each browser that has signed in to it before, whatever others do,
 * - and the one for everybody, which protects the provider: to it all users come from one address, so people (or a
 *   program) trying passwords would use up the calls that keep the sessions of everybody else alive.
 *
 * They are asked in that order, and an attempt that one of them refuses is not counted by those behind it. So whoever
 * is over a limit of their own takes nothing from the account or from the others.
 *
 * Unknown accounts count like known ones: a refusal tells nothing about whether an account exists, and comes before any
 * work that could. All instances of a store count together, and what is stored are hashes (NIST SP 800-63B section 3.2.2).
 *
 * What it cannot stop: many addresses together can use up the limit for everybody, minute by minute, and what one account
 * has for new browsers. Nobody who is signed in notices either.
 */
export async function countSignInAttempt(
  attempt: SignInAttempt,
  { store, runtime, limitPerMinute }: SignInLimitPorts,
): Promise<void> {
  const wait = await countWithin(limitsOf(attempt, limitPerMinute), { store, runtime })
  if (wait === 0) return
  throw new ProviderError('rate_limited', 'A limit of sign-in attempts of this server is reached.', {
    retryAfterSeconds: wait,
  })
}

function limitsOf({ address, account, trusted }: SignInAttempt, limitPerMinute: number): AttemptLimit[] {
  const block = address === undefined ? undefined : addressBlock(address)
  return [
    ...(block === undefined ? [] : limitsOfAddress(block, limitPerMinute)),
    ...(account === undefined ? [] : limitsOfAccount(account, block, trusted)),
    { key: everyoneKey, most: limitPerMinute, windowSeconds: minute },
  ]
}

function limitsOfAddress(block: string, limitPerMinute: number): AttemptLimit[] {
  return [
    {
      key: keyOf('address minute', block),
      // A limit of one attempt for everybody has no half.
      most: Math.max(1, Math.floor(limitPerMinute / 2)),
      windowSeconds: minute,
    },
    { key: keyOf('address hour', block), most: hoursLimitInMinutes * limitPerMinute, windowSeconds: hour },
  ]
}

function limitsOfAccount(account: string, block: string | undefined, trusted: boolean): AttemptLimit[] {
  const windowSeconds = quarterHour
  if (trusted) return [{ key: keyOf('account trusted', account), most: mostForAccount, windowSeconds }]
  const ofAll = { key: keyOf('account', account), most: mostForAccount, windowSeconds }
  if (block === undefined) return [ofAll]
  const key = keyOf('account at address', JSON.stringify([account, block]))
  return [{ key, most: mostForAccountAtAddress, windowSeconds }, ofAll]
}

/** No email and no address is in the store as such. */
function keyOf(kind: string, value: string): string {
  return `sign-in ${kind} ${hashSecret(`drawbridge sign-in ${kind} ${value}`)}`
}
