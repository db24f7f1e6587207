import { randomUUID } from 'node:crypto'
import type { Account, Accounts } from './account.ts'

/** A social provider's description of a user; the address counts as verified. */
export interface SocialProfile {
  provider: string
  subject: string
  email: string
  name: string
  /** Secret of a second factor that comes with the account, in base32. */
  factorSecret?: string
}

/**
 * Returns the account of a profile: the one it was used with before, else the one with its address, else a new one. An account of
 * single sign-on is never one that was there without it.
 */
export function signInByProfile(profile: SocialProfile, accounts: Accounts): Account {
  const { provider, subject, email, name, factorSecret: secret } = profile
  const isSso = provider.startsWith('sso:')
  const known =
    accounts.findByIdentity(provider, subject) ?? (isSso ? undefined : accounts.findByEmail(email))
  const { id } = known ?? accounts.create({ kind: isSso ? 'sso' : 'social', email, confirmed: true })
  if (known) accounts.refuseBanned(known)
  return accounts.update(id, (account, now) => {
    const isLinked = account.identities.some((one) => one.provider === provider && one.providerId === subject)
    if (!isLinked) account.identities.push({ provider, providerId: subject })
    Object.assign(account.metadata, { email, email_verified: true, full_name: name, name, sub: subject })
    if (account.confirmedAt === null) claimUnconfirmed(account, now)
    if (secret !== undefined && account.factors.length === 0)
      account.factors.push({ id: randomUUID(), friendlyName: 'Demo', status: 'verified', secret })
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
