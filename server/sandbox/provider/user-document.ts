import type { Account } from './account.ts'
import type { Factor } from './factor.ts'
import type { Identity } from './identity.ts'

/** The `app_metadata` of an account: how it can sign in. */
export function appMetadata(identities: readonly Identity[]): { provider: string; providers: string[] } {
  const providers = [...new Set(identities.map((identity) => identity.provider))]
  return { provider: providers[0] ?? 'email', providers }
}

/** The user object of the auth API. Secrets (password hash, factor secrets) are not in it. */
export function userDocument(
  account: Account,
  identities: readonly Identity[],
  factors: readonly Factor[],
): Record<string, unknown> {
  return {
    id: account.id,
    aud: 'authenticated',
    role: 'authenticated',
    email: account.email,
    email_confirmed_at: isoTime(account.confirmedAt),
    phone: '',
    confirmed_at: isoTime(account.confirmedAt),
    last_sign_in_at: isoTime(account.lastSignInAt),
    app_metadata: appMetadata(identities),
    user_metadata: account.metadata,
    identities: identities.map((identity) => identityDocument(account, identity)),
    factors: factors.length === 0 ? undefined : factors.map(factorDocument),
    created_at: isoTime(account.createdAt),
    updated_at: isoTime(account.updatedAt),
    banned_until: isoTime(account.bannedUntil),
    is_anonymous: false,
  }
}

function identityDocument(account: Account, identity: Identity): Record<string, unknown> {
  return {
    identity_id: identity.id,
    id: identity.providerId,
    user_id: account.id,
    identity_data: identity.data,
    provider: identity.provider,
    last_sign_in_at: isoTime(identity.lastSignInAt),
    created_at: isoTime(identity.createdAt),
    updated_at: isoTime(identity.lastSignInAt),
    email: identity.data['email'],
  }
}

function factorDocument(factor: Factor): Record<string, unknown> {
  return {
    id: factor.id,
    created_at: isoTime(factor.createdAt),
    updated_at: isoTime(factor.updatedAt),
    status: factor.status,
    friendly_name: factor.friendlyName,
    factor_type: 'totp',
  }
}

function isoTime(epochSeconds: number | undefined): string | undefined {
  return epochSeconds === undefined ? undefined : new Date(epochSeconds * 1000).toISOString()
}
