import { readJwt } from '@drawbridge/shared/oauth/jwt.ts'
import { displayText } from '../display-text.ts'
import { hostOf } from '../site.ts'

/** A token's own claims about itself, as text. Not verified. */
export interface TokenFacts {
  /** The e-mail, or else the subject. */
  account: string | undefined
  /** Host of the issuer, or the issuer itself when it is not a URL. */
  issuer: string | undefined
}

/** The last second that a date can hold and thus display. */
export const farthestSecond = 8.64e12

/** Reads a token's account and issuer. Both are undefined when it is not a JWT. Never throws. */
export function readTokenFacts(token: string): TokenFacts {
  const { email, sub, iss } = readJwt(token)?.claims ?? {}
  const issuer = textOf(iss)
  return { account: textOf(email) ?? textOf(sub), issuer: hostOf(issuer) || issuer }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? displayText(value) : undefined
}
