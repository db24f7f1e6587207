import { readJwt } from '@drawbridge/shared/oauth/jwt.ts'

/** A session as seen by a driver; `device` is the driver's own. */
export interface ContractSession {
  accessToken: string
  refreshToken: string
  device: unknown
}

/** Why a call was refused, in terms shared by all drivers. */
export type ContractFailure =
  | 'invalid_credentials'
  | 'email_unconfirmed'
  | 'captcha'
  | 'wrong_code'
  | 'unknown_domain'
  | 'rate_limited'
  | 'mail_limited'
  | 'expired'
  | 'terminal'
  | 'invalid_token'
  | 'transient'
  | 'other'

/** Result of a call. `detail` is for the message of a failed test. */
export type Answer<Value> =
  | { ok: true; value: Value }
  | { ok: false; failure: ContractFailure; detail: string }

/** Result of the first step of a sign-in. */
export type ContractStep =
  | { kind: 'signed_in'; session: ContractSession }
  | { kind: 'second_factor'; session: ContractSession; factors: readonly { id: string; label: string }[] }

/** A pending sign-in by a mailed link: the handler of the browser's return. */
type LinkLeg = Pick<SocialLeg, 'finish'>

/** A pending social sign-in: the browser's destination, and the handler of its return. */
export interface SocialLeg {
  url: string
  finish(params: URLSearchParams): Promise<Answer<ContractStep>>
}

/** Operations of a client of the auth API, ours or another, that the cases use. */
export interface Driver {
  signIn(account: { email: string; password: string }, captchaToken?: string): Promise<Answer<ContractStep>>
  socialStart(method: string, callbackUrl: string): Promise<SocialLeg>
  ssoStart(domain: string, callbackUrl: string): Promise<Answer<SocialLeg>>
  /** Asks for a mail with a code and a link to `callbackUrl`. Nobody is signed up for it. */
  mailStart(email: string, callbackUrl: string): Promise<Answer<LinkLeg>>
  mailVerify(email: string, code: string): Promise<Answer<ContractStep>>
  /** Presents the refresh token of `session` from a separate device. */
  refresh(session: ContractSession): Promise<Answer<ContractSession>>
  signOut(session: ContractSession): Promise<Answer<void>>
  verifySecondFactor(
    session: ContractSession,
    factorId: string,
    code: string,
  ): Promise<Answer<ContractSession>>
  /** Asks the provider about the session of an access token. */
  life(accessToken: string): Promise<Answer<'live' | 'token_refused' | 'ended'>>
  /** Verifies an access token and returns its user. */
  verify(accessToken: string): Promise<Answer<{ sub: string }>>
  /**
   * It verifies every token it receives, and rejects valid signatures with claims that do not belong to a signed-in
   * user.
   */
  judgesClaims: boolean
}

/** Returns the value of an answer; throws with the reason of a refusal. */
export function valueOf<Value>(answer: Answer<Value>): Value {
  if (answer.ok) return answer.value
  throw new Error(`Refused: ${answer.failure} (${answer.detail}).`)
}

/** Returns the session of a step that needed no second one. */
export function signedIn(answer: Answer<ContractStep>): ContractSession {
  const step = valueOf(answer)
  if (step.kind === 'signed_in') return step.session
  throw new Error('A second factor was asked for.')
}

/** Returns the failure of an answer, or `none`. */
export function failureOf(answer: Answer<unknown>): ContractFailure | 'none' {
  return answer.ok ? 'none' : answer.failure
}

/** Returns the claims of an access token, unverified. */
export function claimsOf(accessToken: string): Record<string, unknown> {
  const jwt = readJwt(accessToken)
  if (!jwt) throw new Error('The access token is not a JWT.')
  return jwt.claims
}
