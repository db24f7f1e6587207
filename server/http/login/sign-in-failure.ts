import type { Texts } from '../../texts/english.ts'
import type { Language } from '../../texts/language.ts'
import type { ProviderError } from '../../core/session/session-provider.ts'

/** Why a sign-in failed: the provider's failure, or a reason of this server. What it says is in the table of texts. */
export type SignInReason = keyof Texts['failures']

/** The HTTP status of the page of a failure, where it is not 400. */
const otherStatus: Readonly<Partial<Record<SignInReason, number>>> = {
  not_allowed: 403,
  rate_limited: 429,
  invalid_token: 502,
  protocol: 502,
  transient: 503,
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
 * Like {@link signInFailure}, once the user has proven which account is theirs, by a social sign-in or a password. What otherwise
 * counts as a wrong password is then an account that may not sign in, and saying so reveals nothing.
 */
export function provenAccountFailure(error: ProviderError): SignInFailure {
  return error.failure === 'invalid_credentials' ? { reason: 'terminal' } : signInFailure(error)
}

/** Returns the page's text about a failed sign-in: that of its reason, and how long to wait if that is over a minute. */
export function failureText({ reason, retryAfterSeconds = 0 }: SignInFailure, language: Language): string {
  if (reason !== 'rate_limited' || retryAfterSeconds <= 60) return language.texts.failures[reason]
  return language.counted(language.texts.tooManyAttempts, Math.ceil(retryAfterSeconds / 60))
}
