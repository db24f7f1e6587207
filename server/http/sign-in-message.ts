import type { ProviderError, ProviderFailure } from '../core/session-provider.ts'

/** What the login page says about a failed sign-in, and the HTTP status it is sent with. */
export interface SignInMessage {
  status: number
  text: string
}

/**
 * What the login page says, by failure. Wrong password, unknown and banned account share one text: anything else would
 * tell which accounts exist.
 */
export const signInMessages: Readonly<Record<ProviderFailure, SignInMessage>> = {
  invalid_credentials: { status: 400, text: 'Email or password is not right. Check both and try again.' },
  email_unconfirmed: {
    status: 400,
    text: 'This email address is not confirmed yet. Open the link in the confirmation mail, then sign in here again.',
  },
  second_factor_needed: {
    status: 400,
    text: 'This account is protected by a second factor, which this page cannot ask for yet. Use another account, or ask the people who run this server.',
  },
  rate_limited: { status: 429, text: 'Too many attempts. Wait a minute, then try again.' },
  disabled: { status: 400, text: 'This way of signing in is switched off. Choose another one.' },
  expired: { status: 400, text: 'That sign-in took too long. Start it again.' },
  denied: { status: 400, text: 'The sign-in was cancelled. Try again, or choose another way.' },
  terminal: { status: 400, text: 'This account cannot sign in. Ask the owner of the web app.' },
  invalid_token: {
    status: 502,
    text: 'The sign-in service gave an answer that cannot be trusted. Try again later.',
  },
  transient: { status: 503, text: 'The sign-in service cannot be reached right now. Try again in a moment.' },
  protocol: { status: 502, text: 'The sign-in service gave an unexpected answer. Try again later.' },
}

/** The {@link SignInMessage} for a provider failure. The error's own message never reaches a page. */
export function signInMessage(error: ProviderError): SignInMessage {
  return signInMessages[error.failure]
}
