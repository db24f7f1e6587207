import {
  addressLimits,
  type AttemptLimit,
  type AttemptLimitPorts,
  type CountedAttempt,
  countWithin,
  everyoneLimits,
  giveBack,
  limitKey,
  refundable,
} from '../limits/attempt-limit.ts'
import { addressBlocks } from '../address-block.ts'
import {
  accountGuesses,
  accountGuessesAtSite,
  signInGuesses,
  signInsOfMinute,
} from '../limits/limit-table.ts'
import { ProviderError, type ProviderFailure } from '../session/session-provider.ts'
import { type KnownAccounts, markOfAccount } from './device-cookie.ts'
import type { BrowserBinding } from './browser-seal.ts'

export interface SignInLimitPorts extends AttemptLimitPorts {
  /** Attempts per minute, of all visitors at all instances together. */
  limitPerMinute: number
}

export interface SignInAttempt {
  /** IP address of the browser. Undefined: no limit per address applies. */
  address: string | undefined
  /** An {@link accountOf}, whether or not it exists, with the browser's own mark if it knows it. Undefined while unknown. */
  account: string | undefined
  /** True when the browser's device cookie proves an earlier sign-in: to this account, or to any while the account is unknown. */
  trusted: boolean
}

/**
 * Counts a sign-in attempt before anything is sent to the provider, and returns the part that {@link judgeSignIn} may give back;
 * rejects with `rate_limited` over a limit. With the default of twenty a minute in total, the limits are
 *
 * - ten a minute from one address or one site; sixty an hour from one address, 240 from one site,
 * - ten in fifteen minutes on one account from browsers new to it, five of them from one site,
 * - ten in fifteen minutes on one account from each browser that has signed in to it before, whatever others do,
 * - and the total, a third of which is reserved for trusted browsers: all users reach the provider from one address.
 *
 * Unknown accounts count like known ones: a refusal does not reveal whether an account exists. All instances of a store count
 * together, and only hashes are stored (NIST SP 800-63B section 3.2.2).
 *
 * Limit: several sites together can use up the strangers' share, and an account's share for new browsers.
 */
export function countSignInAttempt(
  attempt: SignInAttempt,
  ports: SignInLimitPorts,
): Promise<readonly CountedAttempt[]> {
  return countOrRefuse(signInLimits(attempt, ports.limitPerMinute), 'sign-in attempts', ports)
}

/**
 * Counts within `limits` and returns what may be given back; over a limit, rejects with the failure that `failureOf` its key. `what`
 * completes "This server's limit of ...".
 */
export async function countOrRefuse(
  limits: readonly AttemptLimit[],
  what: string,
  ports: AttemptLimitPorts,
  failureOf: (reached: string) => ProviderFailure = () => 'rate_limited',
): Promise<readonly CountedAttempt[]> {
  const result = await countWithin(limits, ports)
  if (result.waitSeconds === 0) return result.refundable
  throw new ProviderError(failureOf(result.reached ?? ''), `This server's limit of ${what} is reached.`, {
    retryAfterSeconds: result.waitSeconds,
  })
}

// The provider did not judge the credential. Excludes `protocol`: it may be how the provider refuses one.
const unjudged: ReadonlySet<ProviderFailure> = new Set(['transient', 'rate_limited'])

/** Gives the attempt back if it succeeded or was not judged; the limits per minute, which limit calls, stay counted. */
export async function judgeSignIn<Result>(
  counted: readonly CountedAttempt[],
  work: () => Promise<Result>,
  ports: Pick<SignInLimitPorts, 'store'>,
): Promise<Result> {
  try {
    const result = await work()
    await giveBack(counted, ports)
    return result
  } catch (error) {
    await giveBackUnjudged(error, counted, ports)
    throw error
  }
}

export async function giveBackUnjudged(
  error: unknown,
  counted: readonly CountedAttempt[],
  ports: Pick<SignInLimitPorts, 'store'>,
): Promise<void> {
  if (error instanceof ProviderError && unjudged.has(error.failure)) await giveBack(counted, ports)
}

/** The limits of {@link countSignInAttempt}. */
export function signInLimits(
  { address, account, trusted }: SignInAttempt,
  perMinute: number,
): AttemptLimit[] {
  const { kind, perAddress, everyone } = signInsOfMinute(perMinute)
  const { addressMinutes, siteMinutes, windowSeconds } = signInGuesses
  const ofHour = { max: addressMinutes * perMinute, windowSeconds }
  const guesses: AttemptLimit[] = [
    ...addressLimits(`${kind} hour`, ofHour, address, siteMinutes * perMinute),
    ...(account === undefined ? [] : accountLimits(account, address, trusted)),
  ]
  return [
    ...addressLimits(kind, perAddress, address, perAddress.max),
    ...guesses.map(refundable),
    // Last, so that a source over its own limit does not use up the shared one.
    ...everyoneLimits(kind, everyone, trusted),
  ]
}

function accountLimits(account: string, address: string | undefined, trusted: boolean): AttemptLimit[] {
  if (trusted) return [{ key: limitKey('sign-in account trusted', account), ...accountGuesses }]
  const ofAll = { key: limitKey('sign-in account', account), ...accountGuesses }
  const site = address === undefined ? undefined : addressBlocks(address).at(-1)?.name
  if (site === undefined) return [ofAll]
  return [
    { key: limitKey('sign-in account at site', JSON.stringify([account, site])), ...accountGuessesAtSite },
    ofAll,
  ]
}

export interface SignInVisitor {
  binding: BrowserBinding
  address: string | undefined
  knownAccounts: KnownAccounts
}

/**
 * In browsers that know the account, attempts are counted by the sign-in that made it known: deliberate failures on a shared
 * computer or with a copied cookie do not affect the owner's other browsers.
 */
export function attemptAt(
  account: string | undefined,
  { address, knownAccounts }: SignInVisitor,
  issuer: string,
): SignInAttempt {
  if (account === undefined) return { address, account, trusted: knownAccounts.length > 0 }
  const mark = markOfAccount(knownAccounts, account, issuer)
  return mark === undefined
    ? { address, account, trusted: false }
    : { address, account: `${account} ${mark}`, trusted: true }
}
