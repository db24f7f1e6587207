import type { Texts } from '../../texts/built-in.ts'
import type { Language } from '../../texts/language.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { ProviderError } from '../../core/session/session-provider.ts'
import type { RequestContext } from '../endpoint.ts'

/**
 * Why a sign-in failed: the provider's failure, or a reason of this server. Its text has the same key. A wrong password, an unknown
 * account and a banned one share a reason: a reason of their own would reveal accounts.
 */
export type SignInReason = keyof Texts['failures']

/** The HTTP status of the page of a failure, where it is not 400. */
const otherStatus: Readonly<Partial<Record<SignInReason, number>>> = {
  not_allowed: 403,
  rate_limited: 429,
  mail_limited: 429,
  mail_pause: 429,
  invalid_token: 502,
  protocol: 502,
  transient: 503,
  workspaces_unavailable: 503,
}

/** Returns the HTTP status of the page of a failure. */
export function statusOf({ reason }: SignInFailure): number {
  return otherStatus[reason] ?? 400
}

/** A failed sign-in as pages need it. The error's own message is never shown. */
export interface SignInFailure {
  reason: SignInReason
  retryAfterSeconds?: number | undefined
}

/** Returns the {@link SignInFailure} of a provider's error. */
export function signInFailure(error: ProviderError): SignInFailure {
  return { reason: error.failure, retryAfterSeconds: error.retryAfterSeconds }
}

/**
 * Like {@link signInFailure}, once the user has proven which account is theirs, by a social sign-in or a password. A failure that
 * otherwise reads as a wrong password then means that the account may not sign in, and saying so reveals nothing.
 */
export function provenAccountFailure(error: ProviderError): SignInFailure {
  return error.failure === 'invalid_credentials' ? { reason: 'terminal' } : signInFailure(error)
}

/** Returns the page's text about a failed sign-in, with the time to wait if the reason alone does not say it. */
export function failureText({ reason, retryAfterSeconds = 0 }: SignInFailure, language: Language): string {
  const { failures, mailPause, tooManyAttempts, tooManyMails } = language.texts
  if (reason === 'mail_pause') return language.counted(mailPause, retryAfterSeconds)
  const minutes = Math.ceil(retryAfterSeconds / 60)
  if (reason === 'rate_limited' && minutes > 1) return language.counted(tooManyAttempts, minutes)
  return reason === 'mail_limited' && minutes > 1 ? language.counted(tooManyMails, minutes) : failures[reason]
}

/** Reports a refusal of the provider; rethrows everything else. */
export function reportedFailure(error: unknown, context: Pick<RequestContext, 'report'>): SignInFailure {
  if (!(error instanceof ProviderError)) throw error
  context.report('sign_in_failed', { failure: error.failure, message: error.message })
  return signInFailure(error)
}

/** Longer than any kind of refusal takes here, and acceptable to users after a wrong password. */
const minRefusalMs = 500

/**
 * Starts the minimum duration of refusing a password; await the result for the rest of it. Wrong passwords, unknown accounts and
 * accounts over their limit cost this server and the provider different work, and the response time must not reveal which it was
 * (OWASP Authentication Cheat Sheet, authentication responses). Does not hide a provider that takes longer.
 */
export function startRefusalDelay(
  runtime: Pick<Runtime, 'sleep'>,
  milliseconds: () => number = () => performance.now(),
): () => Promise<void> {
  const startedAt = milliseconds()
  let due: Promise<void> | undefined
  return () => {
    const left = Math.ceil(minRefusalMs - (milliseconds() - startedAt))
    return (due ??= left > 0 ? runtime.sleep(left) : Promise.resolve())
  }
}
