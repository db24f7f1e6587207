import type { IssuedTokens, IssuerQuirks } from '../credentials/credential.ts'

/** What a token endpoint said to one request. */
export type TokenAnswer =
  | { kind: 'issued'; tokens: IssuedTokens }
  /** A definite no (RFC 6749 section 5.2). `error` and `description` are untrusted text. */
  | { kind: 'refused'; error: string; description: string | undefined; status: number }
  /** Nobody can tell whether it was done: network, timeout, 5xx, 429. Nothing may be thrown away. */
  | { kind: 'unavailable'; retryAfterSeconds: number | undefined; cause: unknown; sent: boolean }

/** The answer to a refresh, and what was learned about the issuer on the way. */
export interface RefreshAnswer {
  answer: TokenAnswer
  quirks: IssuerQuirks
}
