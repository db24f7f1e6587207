import {
  addressLimits,
  type AttemptLimit,
  type AttemptLimitPorts,
  type CountedAttempt,
  countWithin,
  everyoneLimits,
  giveBack,
} from '../limits/attempt-limit.ts'
import { addressBlocks } from '../address-block.ts'
import {
  accountGuesses,
  accountGuessesAtSite,
  signInGuesses,
  signInsOfMinute,
} from '../limits/limit-table.ts'
import { hashSecret } from '../seal.ts'
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
export async function countSignInAttempt(
  attempt: SignInAttempt,
  { store, runtime, limitPerMinute }: SignInLimitPorts,
): Promise<readonly CountedAttempt[]> {
  const result = await countWithin(signInLimits(attempt, limitPerMinute), { store, runtime })
  if (result.waitSeconds === 0) return result.refundable
  const { waitSeconds, reached = '' } = result
  const mayEndSoon = underJudgement.has(reached)
  throw new ProviderError('rate_limited', "This server's limit of sign-in attempts is reached.", {
    retryAfterSeconds: mayEndSoon ? Math.min(waitSeconds, judgementSeconds) : waitSeconds,
  })
}

/** Counts within `limits` and returns what may be given back; rejects with `failure` over one. `what` completes "This server's limit of ...". */
export async function countOrRefuse(
  limits: readonly AttemptLimit[],
  what: string,
  ports: AttemptLimitPorts,
  failure: ProviderFailure = 'rate_limited',
): Promise<readonly CountedAttempt[]> {
  const { waitSeconds, refundable } = await countWithin(limits, ports)
  if (waitSeconds === 0) return refundable
  throw new ProviderError(failure, `This server's limit of ${what} is reached.`, {
    retryAfterSeconds: waitSeconds,
  })
}

/** By key: each may still be given back, so a limit they have reached says nothing about the rest of its window. */
const underJudgement = new Map<string, number>()
const judgementSeconds = 10

// The provider did not judge the credential. Excludes `protocol`: it may be how the provider refuses one.
const unjudged: ReadonlySet<ProviderFailure> = new Set(['transient', 'rate_limited'])

/** Gives the attempt back if it succeeded or was not judged; the limits per minute, which limit calls, stay counted. */
export async function judgeSignIn<Result>(
  counted: readonly CountedAttempt[],
  work: () => Promise<Result>,
  ports: Pick<SignInLimitPorts, 'store'>,
): Promise<Result> {
  for (const { key } of counted) underJudgement.set(key, (underJudgement.get(key) ?? 0) + 1)
  try {
    const result = await work()
    await giveBack(counted, ports)
    return result
  } catch (error) {
    await giveBackUnjudged(error, counted, ports)
    throw error
  } finally {
    for (const { key } of counted) {
      const left = (underJudgement.get(key) ?? 0) - 1
      if (left > 0) underJudgement.set(key, left)
      else underJudgement.delete(key)
    }
  }
}

export async function giveBackUnjudged(
  error: unknown,
  counted: readonly CountedAttempt[],
  ports: Pick<SignInLimitPorts, 'store'>,
): Promise<void> {
  if (error instanceof ProviderError && unjudged.has(error.failure)) await giveBack(counted, ports)
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
    // Last, so that a source over its own limit does not use up the shared one.
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

/** Builds the key without storing the email address itself. */
function keyOf(kind: string, value: string): string {
  return `sign-in ${kind} ${hashSecret(`drawbridge sign-in ${kind} ${value}`)}`
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
