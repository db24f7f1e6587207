import { readJwt } from '@drawbridge/shared/oauth/jwt.ts'
import { displayText } from '../display-text.ts'
import { hostOf } from '../site.ts'

/** What a token says of itself, as text. Nobody has verified it. */
export interface TokenFacts {
  /** The e-mail, else the subject. */
  account: string | undefined
  /** Host of the issuer, or whatever the issuer is when it is no URL. */
  issuer: string | undefined
}

/** The farthest second that a date can hold, and so the farthest that can be shown. */
export const farthestSecond = 8.64e12

/** Reads whose token it is and who made it. Both are undefined when it is no JWT. Never throws. */
export function readTokenFacts(token: string): TokenFacts {
  const { email, sub, iss } = readJwt(token)?.claims ?? {}
  const issuer = textOf(iss)
  return { account: textOf(email) ?? textOf(sub), issuer: hostOf(issuer) || issuer }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? displayText(value) : undefined
}
