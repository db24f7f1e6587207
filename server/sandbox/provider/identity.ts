import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { Account, Accounts, Metadata } from './account.ts'
import { AuthError } from './auth-error.ts'
import type { Database } from './database.ts'
import { createUuid } from './uuid.ts'

/** One way an account signs in: `email`, or a social provider. */
export interface Identity {
  id: string
  accountId: string
  provider: string
  providerId: string
  data: Metadata
  lastSignInAt: number
  createdAt: number
}

/** What a social provider says about the person; the address counts as verified. */
export interface SocialProfile {
  provider: string
  subject: string
  email: string
  name: string
}

/** The identities of all accounts. */
export interface Identities {
  list(accountId: string): Identity[]
  /** Records that the account can sign in by its address. */
  addEmail(account: Account): void
  /** The account of a social profile: the one it was used with before, else the one with its address, else a new one. */
  signIn(profile: SocialProfile): Account
}

interface IdentityRow {
  id: string
  account_id: string
  provider: string
  provider_id: string
  data: string
  last_sign_in_at: number
  created_at: number
}

/** Identities kept in the database. */
export function createIdentities(database: Database, accounts: Accounts, runtime: Runtime): Identities {
  function add(accountId: string, provider: string, providerId: string, data: Metadata): void {
    database.run(
      `INSERT INTO identity (id, account_id, provider, provider_id, data, last_sign_in_at, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
      createUuid(runtime),
      accountId,
      provider,
      providerId,
      JSON.stringify(data),
      runtime.now(),
      runtime.now(),
    )
  }

  function accountOf(profile: SocialProfile): { account: Account; known: boolean } {
    const row = database.get<IdentityRow>(
      'SELECT * FROM identity WHERE provider = ? AND provider_id = ?',
      profile.provider,
      profile.subject,
    )
    const known = row === undefined ? undefined : accounts.findById(row.account_id)
    if (known !== undefined) return { account: known, known: true }
    const sameAddress = accounts.findByEmail(profile.email)
    return {
      account: sameAddress ?? accounts.create({ email: profile.email, confirmed: true }),
      known: false,
    }
  }

  return {
    list: (accountId) =>
      database
        .all<IdentityRow>('SELECT * FROM identity WHERE account_id = ? ORDER BY created_at, rowid', accountId)
        .map(toIdentity),
    addEmail: (account) =>
      add(account.id, 'email', account.id, {
        email: account.email,
        email_verified: account.confirmedAt !== undefined,
        phone_verified: false,
        sub: account.id,
      }),
    signIn: (profile) =>
      database.transaction(() => {
        const { account, known } = accountOf(profile)
        if (accounts.isBanned(account)) throw new AuthError(403, 'user_banned', 'User is banned')
        const data = profileData(profile)
        if (known) {
          database.run(
            'UPDATE identity SET data = ?, last_sign_in_at = ? WHERE provider = ? AND provider_id = ?',
            JSON.stringify(data),
            runtime.now(),
            profile.provider,
            profile.subject,
          )
        } else {
          add(account.id, profile.provider, profile.subject, data)
        }
        accounts.mergeMetadata(account.id, data)
        if (account.confirmedAt === undefined) claimUnconfirmed(account.id)
        return accounts.findById(account.id)!
      }),
  }

  /**
   * Somebody registered this address with a password and never confirmed it. The owner has arrived: that password may
   * be an attacker's, so it goes (account pre-hijacking).
   */
  function claimUnconfirmed(accountId: string): void {
    accounts.setPasswordHash(accountId, undefined)
    database.run(`DELETE FROM identity WHERE account_id = ? AND provider = 'email'`, accountId)
    accounts.confirm(accountId)
  }
}

function toIdentity(row: IdentityRow): Identity {
  const data: Metadata = JSON.parse(row.data)
  return {
    id: row.id,
    accountId: row.account_id,
    provider: row.provider,
    providerId: row.provider_id,
    data,
    lastSignInAt: row.last_sign_in_at,
    createdAt: row.created_at,
  }
}

function profileData(profile: SocialProfile): Metadata {
  return {
    email: profile.email,
    email_verified: true,
    full_name: profile.name,
    iss:
      profile.provider === 'google' ? 'https://accounts.google.com' : `https://${profile.provider}.example`,
    name: profile.name,
    phone_verified: false,
    provider_id: profile.subject,
    sub: profile.subject,
  }
}
