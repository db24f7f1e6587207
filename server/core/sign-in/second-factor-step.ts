import { attemptPending, type SignInPorts, storePending } from './pending-sign-in.ts'
import {
  ProviderError,
  type ProviderFailure,
  type ProviderSession,
  type SecondFactor,
  type SignIn,
  type SignInStep,
} from '../session/session-provider.ts'
import { attemptAt, countSignInAttempt, judgeSignIn, type SignInVisitor } from './sign-in-limit.ts'
import { keepOrSignOut } from './sign-in-orphan.ts'

const pendingTtlSeconds = 600
const maxWrongCodes = 5
/** Twice the wrong codes: an outage does not end a sign-in, and a hundred codes posted at once still hit a limit. */
const maxPosts = 10

const pendingKind = 'second factor'

export interface SecondFactorPrompt {
  id: string
  factors: readonly SecondFactor[]
}

/** Result of the first step of a sign-in, with the incomplete session already stored. */
export type FirstStep =
  | { kind: 'signed_in'; signIn: SignIn }
  | { kind: 'second_factor'; prompt: SecondFactorPrompt }

interface PendingPayload {
  factors: readonly SecondFactor[]
  /** Key for counting attempts; undefined after a social sign-in, where the factor is the key. */
  account?: string | undefined
}

/** Stores an incomplete session for ten minutes and this browser only. `account` is undefined if only the provider knows it. */
export async function afterFirstStep(
  step: SignInStep,
  account: string | undefined,
  { binding }: Pick<SignInVisitor, 'binding'>,
  ports: SignInPorts,
): Promise<FirstStep> {
  if (step.kind === 'signed_in') return step
  const { factors, session } = step
  const payload: PendingPayload = { factors, account }
  const pending = { payload, session, binding, seconds: pendingTtlSeconds }
  const id = await keepOrSignOut(session, ports.provider, () => storePending(pendingKind, pending, ports))
  return { kind: 'second_factor', prompt: { id, factors } }
}

/** Unvalidated. Without a known `factorId` the code applies to the first factor. */
export interface SecondFactorAttempt {
  id: string
  factorId: string | undefined
  code: string
}

export interface SecondFactorRetry {
  kind: 'again'
  failure: ProviderError
  /** Remaining wrong codes; undefined if the code was not checked. */
  codesLeft: number | undefined
  prompt: SecondFactorPrompt
  factorId: string
}

/** A sign-in that must be restarted. `gone`: it is unknown, expired, completed, cancelled, of another browser, or out of attempts. */
export type SecondFactorOver =
  | { kind: 'over'; reason: 'gone' | 'wrong_codes' }
  | { kind: 'over'; reason: 'refused'; failure: ProviderError }

/** Result of a second step; `account` is the key its attempts are counted by. */
export type SecondFactorResult =
  | { kind: 'signed_in'; signIn: SignIn; account: string }
  | SecondFactorRetry
  | SecondFactorOver

/**
 * Checks a code at the provider.
 *
 * Five wrong codes, or ten posts of any kind, end the sign-in. An outage, a rate limit and malformed codes do not count as wrong.
 * At most one attempt signs in, even if the right code is posted several times at once.
 */
export async function trySecondFactor(
  attempt: SecondFactorAttempt,
  visitor: SignInVisitor,
  ports: SignInPorts,
): Promise<SecondFactorResult> {
  const { store, runtime } = ports
  const { id } = attempt
  const claim = { id, max: maxPosts, binding: visitor.binding }
  const pending = await attemptPending(pendingKind, claim, ports)
  const { factors, account } = (pending?.payload ?? { factors: [] }) as PendingPayload
  const factor = factors.find(({ id }) => id === attempt.factorId) ?? factors[0]
  if (!pending || !factor) return { kind: 'over', reason: 'gone' }
  const retry = { kind: 'again', prompt: { id, factors }, factorId: factor.id } as const
  const code = attempt.code.replaceAll(/\s/g, '')
  if (!/^\d{6}$/.test(code)) {
    const failure = new ProviderError('wrong_code', 'The posted code does not have six digits.')
    return { ...retry, failure, codesLeft: undefined }
  }
  try {
    // After a social sign-in the factor stands for the account, whose name is unknown: its codes have the limit of a password.
    const counted = account ?? factor.id
    const given = { session: pending.session, factorId: factor.id, code }
    const signIn = await verifyCode(given, counted, visitor, ports)
    const first = await store.removeSecondFactor(id, false, runtime.now())
    return first ? { kind: 'signed_in', signIn, account: counted } : { kind: 'over', reason: 'gone' }
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    return afterFailure(error, retry, ports)
  }
}

/** Cancels a sign-in waiting for its code, as the user asked. Does not check the browser; only the one that shows its page knows the `id`. */
export async function cancelSecondFactor(
  id: string,
  ports: Pick<SignInPorts, 'store' | 'runtime'>,
): Promise<void> {
  await ports.store.removeSecondFactor(id, true, ports.runtime.now())
}

async function verifyCode(
  given: { session: ProviderSession; factorId: string; code: string },
  account: string,
  visitor: SignInVisitor,
  ports: SignInPorts,
): Promise<SignIn> {
  const { provider } = ports
  if (!provider.verifySecondFactor) throw new TypeError('The provider asked for a code that it cannot check.')
  const counted = await countSignInAttempt(attemptAt(account, visitor, provider.issuer), ports)
  return judgeSignIn(counted, provider.verifySecondFactor.bind(provider, given), ports)
}

// After these failures the incomplete session is still usable.
const passing: ReadonlySet<ProviderFailure> = new Set(['wrong_code', 'rate_limited', 'transient', 'protocol'])

async function afterFailure(
  failure: ProviderError,
  retry: Omit<SecondFactorRetry, 'failure' | 'codesLeft'>,
  { store, runtime }: SignInPorts,
): Promise<SecondFactorResult> {
  const { id } = retry.prompt
  if (!passing.has(failure.failure)) {
    await store.removeSecondFactor(id, true, runtime.now())
    return { kind: 'over', reason: 'refused', failure }
  }
  if (failure.failure !== 'wrong_code') return { ...retry, failure, codesLeft: undefined }
  const { count } = await store.countAttempt(`wrong code ${id}`, pendingTtlSeconds, runtime.now())
  if (count < maxWrongCodes) return { ...retry, failure, codesLeft: maxWrongCodes - count }
  await store.removeSecondFactor(id, true, runtime.now())
  return { kind: 'over', reason: 'wrong_codes' }
}
