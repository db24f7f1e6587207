import type { Identity, Profile } from '../../core/session/session-provider.ts'

/** Claims whose signature or origin has been checked. */
export type OidcClaims = Readonly<Record<string, unknown>>

// Authentication Method Reference values (RFC 8176 section 2), by what they prove.
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

/** What claims say for access rules. Only an address that the provider calls verified counts as such. */
export function profileOfClaims(claims: OidcClaims, issuer: string): Profile {
  const email = textClaim(claims['email'])
  // Some providers write it as a text.
  const verified = String(claims['email_verified'])
  return {
    email: verified === 'false' ? undefined : email,
    emailVerified: verified === 'true' && email !== undefined,
    providers: [issuer],
    claims,
  }
}

/**
 * The person that claims of an ID token, an access token or userinfo name. An email address that the provider says is
 * not verified is left out.
 */
export function identityOfClaims(claims: OidcClaims, issuer: string, expiresAt: number): Identity {
  return {
    ...profileOfClaims(claims, issuer),
    sub: textClaim(claims['sub']) ?? '',
    name: textClaim(claims['name']) ?? textClaim(claims['preferred_username']),
    secondFactor: provesSecondFactor(claims),
    expiresAt,
  }
}

/**
 * Whether the provider says that more than one factor was used: `mfa`, factors of two kinds, or a class that means it.
 * Everything else proves nothing, since what other classes mean is each provider's own business.
 */
function provesSecondFactor({ amr, acr }: OidcClaims): boolean {
  if (typeof acr === 'string' && multiFactorClasses.has(acr)) return true
  if (!Array.isArray(amr)) return false
  const methods: readonly unknown[] = amr
  const kinds = factorKinds.filter((kind) => methods.some((method) => kind.has(String(method))))
  return methods.includes('mfa') || kinds.length > 1
}

function textClaim(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}
