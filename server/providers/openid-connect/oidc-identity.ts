import type { Identity, Profile } from '../../core/session/session-provider.ts'
import { textClaim } from '../jwt.ts'

/** Claims whose signature or origin has been checked. */
export type OidcClaims = Readonly<Record<string, unknown>>

// Authentication Method Reference values (RFC 8176 section 2), by kind of factor.
const factorKinds: readonly ReadonlySet<string>[] = [
  new Set(['pwd', 'pin', 'kba']),
  new Set(['otp', 'hwk', 'swk', 'pop', 'sc', 'sms', 'tel']),
  new Set(['face', 'fpt', 'iris', 'retina', 'vbm']),
]

// Authentication Context Classes that mean several factors wherever they are used.
const multiFactorClasses = new Set([
  'https://refeds.org/profile/mfa',
  'http://schemas.openid.net/pape/policies/2007/06/multi-factor',
])

/** Returns the claims as access rules read them. An address counts as verified only if the provider says so. */
export function profileOfClaims(claims: OidcClaims, issuer: string): Profile {
  return {
    email: textClaim(claims['email']),
    emailVerified: verifiedClaim(claims),
    name: textClaim(claims['name']) ?? textClaim(claims['preferred_username']),
    providers: [issuer],
    claims,
  }
}

/** Returns `claims`, with the address verified only if the first of `sources` that says so means that exact address. */
export function withProofOfAddress(
  claims: OidcClaims,
  sources: readonly (OidcClaims | undefined)[],
): OidcClaims {
  const { email } = claims
  const proof = sources.find((source) => source?.['email'] === email && verifiedClaim(source) !== undefined)
  return { ...claims, email_verified: proof?.['email_verified'] }
}

/** Some providers send it as a string. */
function verifiedClaim(claims: OidcClaims | undefined): boolean | undefined {
  const text = String(claims?.['email_verified'])
  return text === 'true' || (text === 'false' ? false : undefined)
}

/** Returns the user of ID token, access token or userinfo claims. Leaves out an email address that the provider marks as unverified. */
export function identityOfClaims(claims: OidcClaims, issuer: string, expiresAt: number): Identity {
  const { email, emailVerified, name } = profileOfClaims(claims, issuer)
  return {
    sub: textClaim(claims['sub']) ?? '',
    email: emailVerified === false ? undefined : email,
    name,
    claims,
    secondFactor: provesSecondFactor(claims),
    expiresAt,
  }
}

/**
 * True when the provider says that more than one factor was used: `mfa`, factors of two kinds, or a class that means it. Anything
 * else proves nothing, since every provider defines other classes itself.
 */
function provesSecondFactor({ amr, acr }: OidcClaims): boolean {
  if (typeof acr === 'string' && multiFactorClasses.has(acr)) return true
  if (!Array.isArray(amr)) return false
  const methods: readonly unknown[] = amr
  const kinds = factorKinds.filter((kind) => methods.some((method) => kind.has(String(method))))
  return methods.includes('mfa') || kinds.length > 1
}
