import { randomUUID } from 'node:crypto'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { Account, Accounts, Metadata } from './account.ts'
import { AuthError } from '../auth-error.ts'
import type { Database } from '../database.ts'

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

interface IdentityRow {
  id: string
  account_id: string
  provider: string
  provider_id: string
  data: string
  last_sign_in_at: number
  created_at: number
}

/** The identities of all accounts. */
export class Identities {
  readonly #database: Database
  readonly #accounts: Accounts
  readonly #runtime: Pick<Runtime, 'now'>

  constructor(database: Database, accounts: Accounts, runtime: Pick<Runtime, 'now'>) {
    this.#database = database
    this.#accounts = accounts
    this.#runtime = runtime
  }

  list(accountId: string): Identity[] {
    const sql = 'SELECT * FROM identity WHERE account_id = ? ORDER BY created_at, rowid'
    return this.#database.all<IdentityRow>(sql, accountId).map(toIdentity)
  }

  /** Records that the account can sign in by its address. */
  addEmail(account: Account): void {
    this.#add(account.id, 'email', account.id, {
      email: account.email,
      email_verified: account.confirmedAt !== undefined,
      phone_verified: false,
      sub: account.id,
    })
  }

  /** The account of a social profile: the one it was used with before, else the one with its address, else a new one. */
  signIn(profile: SocialProfile): Account {
    return this.#database.transaction(() => {
      const known = this.#findAccount(profile)
      const account =
        known ??
        this.#accounts.findByEmail(profile.email) ??
        this.#accounts.create({ email: profile.email, confirmed: true })
      if (this.#accounts.isBanned(account)) throw new AuthError(403, 'user_banned', 'User is banned')
      const data = profileData(profile)
      if (known) this.#recordSignIn(profile, data)
      else this.#add(account.id, profile.provider, profile.subject, data)
      this.#accounts.mergeMetadata(account.id, data)
      if (account.confirmedAt === undefined) this.#claimUnconfirmed(account.id)
      return this.#accounts.findById(account.id)!
    })
  }

  #findAccount({ provider, subject }: SocialProfile): Account | undefined {
    const row = this.#database.get<IdentityRow>(
      'SELECT * FROM identity WHERE provider = ? AND provider_id = ?',
      provider,
      subject,
    )
    return row && this.#accounts.findById(row.account_id)
  }

  #recordSignIn({ provider, subject }: SocialProfile, data: Metadata): void {
    this.#database.run(
      'UPDATE identity SET data = ?, last_sign_in_at = ? WHERE provider = ? AND provider_id = ?',
      JSON.stringify(data),
      this.#runtime.now(),
      provider,
      subject,
    )
  }

  #add(accountId: string, provider: string, providerId: string, data: Metadata): void {
    const now = this.#runtime.now()
    this.#database.run(
      `INSERT INTO identity (id, account_id, provider, provider_id, data, last_sign_in_at, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
      randomUUID(),
      accountId,
      provider,
      providerId,
      JSON.stringify(data),
      now,
      now,
    )
  }

  /**
   * Someone registered this address with a password and never confirmed it. Now its owner has signed in: the password may
   * be an attacker's, so it is removed (account pre-hijacking).
   */
  #claimUnconfirmed(accountId: string): void {
    this.#accounts.setPasswordHash(accountId, undefined)
    this.#database.run(`DELETE FROM identity WHERE account_id = ? AND provider = 'email'`, accountId)
    this.#accounts.confirm(accountId)
  }
}

function toIdentity(row: IdentityRow): Identity {
  return {
    id: row.id,
    accountId: row.account_id,
    provider: row.provider,
    providerId: row.provider_id,
    data: JSON.parse(row.data) as Metadata,
    lastSignInAt: row.last_sign_in_at,
    createdAt: row.created_at,
  }
}

function profileData({ provider, subject, email, name }: SocialProfile): Metadata {
  return {
    email,
    email_verified: true,
    full_name: name,
    iss: provider === 'google' ? 'https://accounts.google.com' : `https://${provider}.example`,
    name,
    phone_verified: false,
    provider_id: subject,
    sub: subject,
  }
}
