import {
  addressLimits,
  type AttemptLimit,
  type AttemptLimitPorts,
  type CountedAttempt,
  countWithin,
  everyoneLimits,
  giveBack,
} from '../access/attempt-limit.ts'
import { addressBlocks } from '../address-block.ts'
import {
  accountGuesses,
  accountGuessesAtSite,
  signInGuesses,
  signInsOfMinute,
} from '../access/limit-table.ts'
import { hashSecret } from '../seal.ts'
import { ProviderError, type ProviderFailure } from '../session/session-provider.ts'
import { type KnownAccounts, markOfAccount } from './device-cookie.ts'
import type { BrowserBinding } from './sign-in-transaction.ts'

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
  /** The browser proves by a cookie that it has signed in before: to this account, or to any while that is not known. */
  trusted: boolean
}

/**
 * Counts an attempt to sign in before anything of it is sent to the provider, and answers the part of it that
 * {@link judgeSignIn} may give back; rejects with `rate_limited` over a limit. With the default of twenty a minute for
 * everybody, the limits are
 *
 * - ten a minute from one address or one site, so no site takes more than half of what there is for all; sixty an hour from
 *   one address (of IPv6 a /64), 240 from a /56 or /48,
 * - ten in fifteen minutes on one account from browsers that are new to it, five of them from one site,
 * - ten in fifteen minutes on one account from each browser that has signed in to it before, whatever others do,
 * - and the one for everybody, a third of which is kept for trusted browsers. It protects the provider: to it all users come
 *   from one address, so people (or a program) trying passwords would use up the calls that keep everybody's sessions alive.
 *
 * Unknown accounts count like known ones: a refusal tells nothing about whether an account exists, and comes before any
 * work that could. All instances of a store count together, and what is stored are hashes (NIST SP 800-63B section 3.2.2).
 *
 * What it cannot stop: several sites together can use up what there is for strangers, minute by minute, and what one account
 * has for new browsers. Nobody who is signed in notices either.
 */
export async function countSignInAttempt(
  attempt: SignInAttempt,
  { store, runtime, limitPerMinute }: SignInLimitPorts,
): Promise<readonly CountedAttempt[]> {
  const result = await countWithin(signInLimits(attempt, limitPerMinute), { store, runtime })
  if (result.waitSeconds === 0) return result.refundable
  throw new ProviderError('rate_limited', 'A limit of sign-in attempts of this server is reached.', {
    retryAfterSeconds: result.waitSeconds,
  })
}

// The provider did not judge the credential. `protocol` is not among these: it may be how the provider refuses one.
const unjudged: ReadonlySet<ProviderFailure> = new Set(['transient', 'rate_limited'])

/**
 * Does what was counted, and gives the attempt back when it was no guess: it succeeded, or the provider did not judge it.
 * What limits calls to the provider, the minutes, is not given back. Rejects as `work` does.
 */
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
    if (error instanceof ProviderError && unjudged.has(error.failure)) await giveBack(counted, ports)
    throw error
  }
}

function signInLimits({ address, account, trusted }: SignInAttempt, perMinute: number): AttemptLimit[] {
  const { kind, perAddress, everyone } = signInsOfMinute(perMinute)
  const { addressMinutes, siteMinutes, windowSeconds } = signInGuesses
  const ofHour = { max: addressMinutes * perMinute, windowSeconds }
  const guesses: AttemptLimit[] = [
    ...addressLimits(`${kind} hour`, ofHour, address, siteMinutes * perMinute),
    ...(account === undefined ? [] : accountLimits(account, address, trusted)),
  ]
  for (const limit of guesses) limit.refundable = true
  return [
    ...addressLimits(kind, perAddress, address, perAddress.max),
    ...guesses,
    // Last, so that a source over its own limit uses up nothing of the shared one.
    ...everyoneLimits(kind, everyone, trusted),
  ]
}

function accountLimits(account: string, address: string | undefined, trusted: boolean): AttemptLimit[] {
  if (trusted) return [{ key: keyOf('account trusted', account), ...accountGuesses }]
  const ofAll = { key: keyOf('account', account), ...accountGuesses }
  const site = address === undefined ? undefined : addressBlocks(address).at(-1)?.name
  if (site === undefined) return [ofAll]
  return [{ key: keyOf('account at site', JSON.stringify([account, site])), ...accountGuessesAtSite }, ofAll]
}

/** No email address is in the store as such. */
function keyOf(kind: string, value: string): string {
  return `sign-in ${kind} ${hashSecret(`drawbridge sign-in ${kind} ${value}`)}`
}

/** What is known about a browser before its user has signed in. */
export interface SignInVisitor {
  binding: BrowserBinding
  /** IP address; undefined if unknown. */
  address: string | undefined
  knownAccounts: KnownAccounts
}

/**
 * The attempt of `visitor` at `account`, an {@link accountOf} an email address at the provider `issuer`. In browsers
 * that know the account, attempts are counted by the sign-in that made it known: deliberate failures on a shared
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
