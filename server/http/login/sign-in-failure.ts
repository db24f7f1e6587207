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

/** The page's text about a failed sign-in, and the HTTP status it is sent with. */
interface SignInMessage {
  status: number
  text: string
}

/**
 * The page's texts, by reason. A wrong password, an unknown and a banned account share one: anything else would reveal which
 * accounts exist.
 */
export const signInMessages: Readonly<Record<SignInReason, SignInMessage>> = {
  invalid_credentials: { status: 400, text: 'Wrong email or password. Check both and try again.' },
  bad_email: { status: 400, text: 'That is no email address. Enter one, such as name@example.com.' },
  bad_domain: {
    status: 400,
    text: 'That has no domain in it. Enter your work email, such as name@example.com, or the domain of your company.',
  },
  unknown_domain: {
    status: 400,
    text: 'Single sign-on is not set up for that domain. Check it, or choose another way to sign in.',
  },
  wrong_email_code: { status: 400, text: 'Wrong or expired code. Enter the code of the newest mail.' },
  email_code_over: {
    status: 400,
    text: 'That code can no longer be used: too many wrong ones, or an hour has passed. Ask for another mail.',
  },
  email_unconfirmed: {
    status: 400,
    text: 'This email address is not confirmed yet. Open the link in the confirmation email, then sign in again.',
  },
  captcha: {
    status: 400,
    text: 'The captcha is missing, failed, or expired. Complete it below, enter your password, and sign in.',
  },
  captcha_not_configured: {
    status: 400,
    text: 'Password sign-in is not fully set up on this server. Choose another way to sign in, or tell the server’s operator.',
  },
  not_allowed: {
    status: 403,
    text: 'This account may not connect here. Sign in with another account, or ask the owner of the web app.',
  },
  wrong_code: {
    status: 400,
    text: 'Wrong code. Enter the six digits that your authenticator app shows now.',
  },
  second_factor_missing: {
    status: 400,
    text: 'Only accounts with two-factor authentication can sign in here. Turn it on in the web app, then sign in again.',
  },
  second_factor_unusable: {
    status: 400,
    text: 'This account uses a second factor that is not supported here. Add an authenticator app to it in the web app, then sign in again.',
  },
  second_factor_gone: {
    status: 400,
    text: 'That sign-in expired after ten minutes, or was already completed or cancelled. Sign in again.',
  },
  second_factor_wrong_codes: {
    status: 400,
    text: 'Too many wrong codes. Sign in again.',
  },
  rate_limited: { status: 429, text: 'Too many attempts. Wait a minute, then try again.' },
  disabled: { status: 400, text: 'This sign-in method is turned off. Choose another one.' },
  expired: { status: 400, text: 'That sign-in took too long. Start again.' },
  denied: { status: 400, text: 'The sign-in was cancelled. Try again, or choose another way to sign in.' },
  terminal: { status: 400, text: 'This account cannot sign in. Ask the owner of the web app.' },
  invalid_token: {
    status: 502,
    text: 'The sign-in service sent a response that could not be verified. Try again later.',
  },
  transient: { status: 503, text: 'The sign-in service cannot be reached right now. Try again in a moment.' },
  protocol: { status: 502, text: 'The sign-in service sent an unexpected response. Try again later.' },
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
export function failureText({ reason, retryAfterSeconds = 0 }: SignInFailure): string {
  if (reason !== 'rate_limited' || retryAfterSeconds <= 60) return signInMessages[reason].text
  return `Too many attempts. Wait ${Math.ceil(retryAfterSeconds / 60)} minutes, then try again.`
}
