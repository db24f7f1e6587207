import { randomUUID } from 'node:crypto'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { Account, Accounts, Metadata } from './account.ts'
import { AuthError } from '../auth-error.ts'
import type { Database } from '../../database.ts'

/** One way an account signs in: `email`, a social provider, or `sso:` and the id of a company's provider. */
export interface Identity {
  id: string
  provider: string
  providerId: string
  data: Metadata
  lastSignInAt: number
  createdAt: number
}

/** A social provider's description of a user; the address counts as verified. */
export interface SocialProfile {
  provider: string
  subject: string
  email: string
  name: string
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
    const rows = this.#database.all<Omit<Identity, 'data'> & { data: string }>(
      `SELECT id, provider, provider_id AS providerId, data, last_sign_in_at AS lastSignInAt,
         created_at AS createdAt
       FROM identity WHERE account_id = ? ORDER BY created_at, rowid`,
      accountId,
    )
    return rows.map((row) => Object.assign(row, { data: JSON.parse(row.data) as Metadata }))
  }

  /** Records that the account can sign in by its address. */
  addEmail(account: Account): void {
    this.#add(account.id, 'email', account.id, {
      email: account.email,
      email_verified: account.confirmedAt !== null,
      phone_verified: false,
      sub: account.id,
    })
  }

  /**
   * Returns the account of a profile: the one it was used with before, else the one with its address, else a new one. An account of
   * single sign-on is never one that was there without it.
   */
  signIn(profile: SocialProfile): Account {
    const { provider, subject, email } = profile
    return this.#database.transaction(() => {
      const isSso = provider.startsWith('sso:')
      const known = this.#findAccount(profile)
      const sameAddress = isSso ? undefined : this.#accounts.findByEmail(email)
      const account = known ?? sameAddress ?? this.#accounts.create({ email, confirmed: true, isSso })
      if (this.#accounts.isBanned(account)) throw new AuthError(403, 'user_banned', 'User is banned')
      const data = profileData(profile)
      if (known) this.#recordSignIn(profile, data)
      else this.#add(account.id, provider, subject, data)
      this.#accounts.mergeMetadata(account.id, data)
      if (account.confirmedAt === null) this.#claimUnconfirmed(account.id)
      return this.#accounts.findById(account.id)!
    })
  }

  #findAccount({ provider, subject }: SocialProfile): Account | undefined {
    const row = this.#database.get<{ account_id: string }>(
      'SELECT account_id FROM identity WHERE provider = ? AND provider_id = ?',
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
   * Removes the password of an address that was never confirmed, now that its owner has signed in: it may be an attacker's (account
   * pre-hijacking).
   */
  #claimUnconfirmed(accountId: string): void {
    this.#accounts.setPasswordHash(accountId, null)
    this.#database.run(`DELETE FROM identity WHERE account_id = ? AND provider = 'email'`, accountId)
    this.#accounts.confirm(accountId)
  }
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
