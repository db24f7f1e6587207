import { type Account, type Accounts, addIdentity, mergeMetadata, type Metadata } from './account.ts'

/** A social provider's description of a user; the address counts as verified. */
export interface SocialProfile {
  provider: string
  subject: string
  email: string
  name: string
}

/**
 * Returns the account of a profile: the one it was used with before, else the one with its address, else a new one. An account of
 * single sign-on is never one that was there without it.
 */
export function signInByProfile(profile: SocialProfile, accounts: Accounts): Account {
  const { provider, subject, email } = profile
  const isSso = provider.startsWith('sso:')
  const known =
    accounts.findByIdentity(provider, subject) ?? (isSso ? undefined : accounts.findByEmail(email))
  const { id } = known ?? accounts.create({ kind: isSso ? 'sso' : 'social', email, confirmed: true })
  if (known) accounts.refuseBanned(known)
  return accounts.update(id, (account, now) => {
    const data = profileData(profile)
    const identity = account.identities.find((one) => one.provider === provider && one.providerId === subject)
    if (identity) Object.assign(identity, { data, lastSignInAt: now })
    else addIdentity(account, { provider, providerId: subject, data }, now)
    mergeMetadata(account, data)
    if (account.confirmedAt === null) claimUnconfirmed(account, now)
  })
}

/**
 * Removes the password of an address that was never confirmed, now that its owner has signed in: it may be an attacker's (account
 * pre-hijacking).
 */
function claimUnconfirmed(account: Account, now: number): void {
  account.passwordHash = null
  account.identities = account.identities.filter(({ provider }) => provider !== 'email')
  account.confirmedAt = now
}

function profileData({ provider, subject, email, name }: SocialProfile): Metadata {
  return {
    email,
    email_verified: true,
    full_name: name,
    iss: provider === 'google' ? 'https://accounts.google.com' : `https://${provider.split(':')[0]}.example`,
    name,
    phone_verified: false,
    provider_id: subject,
    sub: subject,
  }
}
