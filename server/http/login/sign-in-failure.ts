import type { Language } from '../../texts/language.ts'
import type { ProviderError, ProviderFailure } from '../../core/session/session-provider.ts'

/** Why a sign-in failed: the provider's failure, or a reason of this server. */
export type SignInReason =
  | ProviderFailure
  | 'captcha_not_configured'
  | 'not_allowed'
  | 'email_code_over'
  | 'wrong_email_code'
  | 'second_factor_gone'
  | 'second_factor_wrong_codes'

/** The HTTP status of the page, by reason; its text is in the table of texts. */
export const failureStatus: Readonly<Record<SignInReason, number>> = {
  invalid_credentials: 400,
  bad_email: 400,
  bad_domain: 400,
  unknown_domain: 400,
  wrong_email_code: 400,
  email_code_over: 400,
  email_unconfirmed: 400,
  captcha: 400,
  captcha_not_configured: 400,
  not_allowed: 403,
  wrong_code: 400,
  second_factor_missing: 400,
  second_factor_unusable: 400,
  second_factor_gone: 400,
  second_factor_wrong_codes: 400,
  rate_limited: 429,
  disabled: 400,
  expired: 400,
  denied: 400,
  terminal: 400,
  invalid_token: 502,
  transient: 503,
  protocol: 502,
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
