import type { UnsafeRequestReason } from '../../core/authorization/authorization-request.ts'
import type { ProviderError, ProviderFailure } from '../../core/session/session-provider.ts'
import type { ErrorText } from '../error-table.ts'

/** Why the browser gets an error page instead of returning to the client. */
export type SignInErrorReason =
  | UnsafeRequestReason
  | 'transaction_invalid'
  | 'transaction_expired'
  | 'foreign_browser'
  | 'foreign_form'
  | 'form_unreadable'
  | 'social_expired'
  | 'social_refused'
  | 'social_rate_limited'
  | 'sign_in_unavailable'
  | 'client_unavailable'
  | 'client_document_faulty'
  | 'client_limited'
  | 'request_refused'
  | 'device_gone'
  | 'device_client_unknown'

const startOver = 'Go back to the app you came from and connect again.'

/** The error pages, by reason. */
export const signInErrors: Readonly<Record<SignInErrorReason, ErrorText>> = {
  client_id_missing: {
    status: 400,
    title: 'This link is incomplete',
    message: 'It does not say which app wants to connect (the client_id parameter is missing).',
    nextStep: startOver,
  },
  client_unknown: {
    status: 400,
    title: 'This app is not registered here',
    message: 'Its registration was removed or never existed, so it cannot be connected.',
    nextStep:
      'In the app, remove this server and add it again. Signing in again is not enough: the app would use its old registration.',
  },
  redirect_uri_missing: {
    status: 400,
    title: 'This link is incomplete',
    message: 'It does not say where to return to (the redirect_uri parameter is missing).',
    nextStep: startOver,
  },
  redirect_uri_mismatch: {
    status: 400,
    title: 'This app uses an unregistered return address',
    message:
      'The return address in the link is not registered for this app. Sending you there could be unsafe.',
    nextStep:
      'In the app, remove this connector and add it again. If that does not help, contact the app’s developer.',
  },
  parameter_repeated: {
    status: 400,
    title: 'This link is not valid',
    message: 'It names the app or the return address more than once.',
    nextStep: startOver,
  },
  transaction_invalid: {
    status: 400,
    title: 'This sign-in page is not valid',
    message: 'It is incomplete, or it comes from another server.',
    nextStep: startOver,
  },
  transaction_expired: {
    status: 400,
    title: 'This sign-in page has expired',
    message: 'For your security, a sign-in page expires after one hour.',
    nextStep: startOver,
  },
  foreign_browser: {
    status: 403,
    title: 'This sign-in page belongs to another browser',
    message: 'It was opened in another browser, or this browser does not accept cookies.',
    nextStep: 'Allow cookies for this site, then go back to the app you came from and connect again.',
  },
  foreign_form: {
    status: 403,
    title: 'This form was sent from another site',
    message: 'Sign-in forms are only accepted from the sign-in page itself.',
    nextStep: startOver,
  },
  form_unreadable: {
    status: 400,
    title: 'This form cannot be read',
    message: 'It is too large, or some of its fields are missing or repeated.',
    nextStep: startOver,
  },
  social_expired: {
    status: 400,
    title: 'This sign-in took too long',
    message: 'The sign-in you came back from has expired or was already completed.',
    nextStep: startOver,
  },
  social_refused: {
    status: 400,
    title: 'The sign-in was not completed',
    message:
      'It was cancelled or failed. This browser has several sign-ins open, so the server cannot tell which one it was.',
    nextStep: 'Go back to the tab with the sign-in page and try again, or start again in the app.',
  },
  social_rate_limited: {
    status: 429,
    title: 'Too many people are signing in',
    message: 'Your sign-in has to wait. It is still open.',
    nextStep: 'Wait a minute, then reload this page.',
  },
  sign_in_unavailable: {
    status: 503,
    title: 'Sign-in is not available right now',
    message: 'The web app’s sign-in service cannot be reached.',
    nextStep: 'Wait a moment, then reload this page.',
  },
  client_unavailable: {
    status: 503,
    title: 'This app cannot be checked right now',
    message: 'Its metadata document cannot be fetched, so the server cannot verify the app.',
    nextStep:
      'Wait a minute, then connect again in the app. If this happens again, tell the server’s operator.',
  },
  client_document_faulty: {
    status: 400,
    title: 'This app’s metadata is not valid',
    message: 'Its metadata document is missing or has an error, so the app cannot be connected.',
    nextStep: 'Trying again will not help. Send the details on this page to the app’s developer.',
  },
  request_refused: {
    status: 400,
    title: 'This app’s request was refused',
    message: 'The app requested a sign-in in a way that this server does not accept.',
    nextStep:
      'If you trust the site below, go back to it; the app is told what went wrong. Otherwise close this page.',
  },
  client_limited: {
    status: 429,
    title: 'This app cannot be checked right now',
    message: 'Too many new apps were connected from your network within a minute.',
    nextStep: 'Wait a minute, then connect again in the app.',
  },
  device_gone: {
    status: 400,
    title: 'This code is no longer valid',
    message: 'It has expired, or the device was already allowed or denied.',
    nextStep: 'If your device is still waiting, start again there and enter the new code it shows.',
  },
  device_client_unknown: {
    status: 400,
    title: 'The app on this device is not registered here',
    message: 'Its registration was removed or never existed, so it cannot be connected.',
    nextStep: 'On the device, remove this connector and add it again, then enter the new code it shows.',
  },
}

/** Why a sign-in failed: the provider's failure, or a reason of this server. */
export type SignInReason =
  | ProviderFailure
  | 'captcha_not_configured'
  | 'not_allowed'
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

const defaultWaitSeconds: Readonly<Record<number, number>> = { 429: 60, 503: 5 }

/** Returns `Retry-After` where trying again later helps: what the failure asks for, otherwise a minute (429) or five seconds (503). */
export function retryHeaders({ reason, retryAfterSeconds }: SignInFailure): Record<string, string> {
  const seconds = defaultWaitSeconds[signInMessages[reason].status]
  return seconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds ?? seconds) }
}
