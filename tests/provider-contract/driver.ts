import { readJwt } from '@drawbridge/shared/oauth/jwt.ts'

/** A session as a driver knows it; `device` is the driver's own. */
export interface ContractSession {
  accessToken: string
  refreshToken: string
  device: unknown
}

/** Why a call was refused, in words that all drivers share. */
export type ContractFailure =
  | 'invalid_credentials'
  | 'email_unconfirmed'
  | 'captcha'
  | 'wrong_code'
  | 'rate_limited'
  | 'expired'
  | 'terminal'
  | 'invalid_token'
  | 'transient'
  | 'other'

/** What became of a call. `detail` is for the message of a failed test. */
export type Answer<Value> =
  | { ok: true; value: Value }
  | { ok: false; failure: ContractFailure; detail: string }

/** How the first step of a sign-in ended. */
export type ContractStep =
  | { kind: 'signed_in'; session: ContractSession }
  | { kind: 'second_factor'; session: ContractSession; factors: readonly { id: string; label: string }[] }

/** A social sign-in under way: where the browser goes, and what is made of its return. */
export interface SocialLeg {
  url: string
  finish(params: URLSearchParams): Promise<Answer<ContractStep>>
}

/** What every case needs of a client of the auth API, ours or another. */
export interface Driver {
  signIn(account: { email: string; password: string }, captchaToken?: string): Promise<Answer<ContractStep>>
  socialStart(method: string, callbackUrl: string): Promise<SocialLeg>
  /** Presents the refresh token of `session` from a device of its own. */
  refresh(session: ContractSession): Promise<Answer<ContractSession>>
  signOut(session: ContractSession): Promise<Answer<void>>
  verifySecondFactor(
    session: ContractSession,
    factorId: string,
    code: string,
  ): Promise<Answer<ContractSession>>
  /** What the provider says about the session behind an access token. */
  life(accessToken: string): Promise<Answer<'live' | 'token_refused' | 'ended'>>
  /** Checks an access token and answers whose it is. */
  verify(accessToken: string): Promise<Answer<{ sub: string }>>
  /** Whether it verifies every token it gets, and refuses good signatures under claims that are no signed-in person's. */
  judgesClaims: boolean
}

/** The value of an answer; throws with the reason of a refusal. */
export function valueOf<Value>(answer: Answer<Value>): Value {
  if (answer.ok) return answer.value
  throw new Error(`Refused: ${answer.failure} (${answer.detail}).`)
}

/** The session of a step that needed no second one. */
export function signedIn(answer: Answer<ContractStep>): ContractSession {
  const step = valueOf(answer)
  if (step.kind === 'signed_in') return step.session
  throw new Error('A second factor was asked for.')
}

/** The failure of an answer, or `none`. */
export function failureOf(answer: Answer<unknown>): ContractFailure | 'none' {
  return answer.ok ? 'none' : answer.failure
}

/** The claims of an access token, unverified. */
export function claimsOf(accessToken: string): Record<string, unknown> {
  const jwt = readJwt(accessToken)
  if (!jwt) throw new Error('The access token is no JWT.')
  return jwt.claims
}
