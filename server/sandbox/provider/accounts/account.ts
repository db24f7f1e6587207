import { randomUUID } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { AuthError } from '../auth-error.ts'
import { Collection } from '../../database.ts'

/** Free-form JSON object of an account. */
export type Metadata = Record<string, unknown>

/** One way an account signs in: `email`, a social provider, or `sso:` and the id of a company's provider. */
interface Identity {
  provider: string
  providerId: string
}

/** A second factor; only `verified` ones count at sign-in. */
export interface Factor {
  id: string
  friendlyName: string
  status: 'unverified' | 'verified'
  /** base32. */
  secret: string
}

/** A user of the embedded provider. Times are epoch seconds. */
export interface Account {
  id: string
  email: string
  isSso: boolean
  passwordHash: string | null
  confirmedAt: number | null
  bannedUntil: number | null
  metadata: Metadata
  createdAt: number
  identities: Identity[]
  factors: Factor[]
}

/** Returns the lower-case form of an address under which accounts are stored; throws `validation_failed`. */
function normalizeEmail(email: string): string {
  const normal = email.trim().toLowerCase()
  if (normal.length > 255 || !/^[^\s@]+@[^\s@.]+(\.[^\s@.]+)*$/.test(normal)) {
    throw new AuthError(400, 'validation_failed', 'Unable to validate email address: invalid format')
  }
  return normal
}

/** The accounts in the database. Returns copies: {@link Accounts.update} changes an account. */
export class Accounts {
  readonly #accounts: Collection<Account>
  readonly #runtime: Pick<Runtime, 'now'>

  constructor(database: DatabaseSync, runtime: Pick<Runtime, 'now'>) {
    this.#accounts = new Collection(database, 'account')
    this.#runtime = runtime
  }

  /**
   * Creates an account that signs in by its address, socially, or by single sign-on. Throws `user_already_exists` if the address is
   * taken, in any letter case. Not so for single sign-on: what a company says of an address proves nothing about other accounts
   * with it.
   */
  create(given: {
    kind: 'email' | 'social' | 'sso'
    email: string
    passwordHash?: string
    confirmed: boolean
    metadata?: Metadata
  }): Account {
    const email = normalizeEmail(given.email)
    const isSso = given.kind === 'sso'
    if (!isSso && this.findByEmail(email) !== undefined) {
      throw new AuthError(422, 'user_already_exists', 'User already registered')
    }
    const id = randomUUID()
    const now = this.#runtime.now()
    const account: Account = {
      id,
      email,
      isSso,
      passwordHash: given.passwordHash ?? null,
      confirmedAt: given.confirmed ? now : null,
      bannedUntil: null,
      metadata: given.metadata ?? {},
      createdAt: now,
      identities: [],
      factors: [],
    }
    if (given.kind === 'email') {
      account.identities.push({ provider: 'email', providerId: id })
      Object.assign(account.metadata, { email, email_verified: given.confirmed, sub: id })
    }
    return this.#accounts.save(account)
  }

  /** Throws `user_not_found`. */
  get(id: string): Account {
    const account = this.#accounts.find('id = ?', id)
    if (account) return account
    throw new AuthError(403, 'user_not_found', 'User from sub claim in JWT does not exist')
  }

  /** Ignores letter case, and accounts of single sign-on. Surrounding blanks count, as in the real API. */
  findByEmail(email: string): Account | undefined {
    return this.#accounts.find(`body ->> 'email' = ? AND body ->> 'isSso' = 0`, email.toLowerCase())
  }

  findByIdentity(provider: string, providerId: string): Account | undefined {
    const condition = `EXISTS (SELECT 1 FROM json_each(body, '$.identities')
      WHERE value ->> 'provider' = ? AND value ->> 'providerId' = ?)`
    return this.#accounts.find(condition, provider, providerId)
  }

  refuseBanned({ bannedUntil }: Account, status = 403, message = 'User is banned'): void {
    if (bannedUntil !== null && bannedUntil > this.#runtime.now()) {
      throw new AuthError(status, 'user_banned', message)
    }
  }

  /** Changes the account as it is now. */
  update(id: string, change: (account: Account, now: number) => void): Account {
    const account = this.get(id)
    change(account, this.#runtime.now())
    return this.#accounts.save(account)
  }
}

/** Returns whether the account has a second factor that counts at sign-in. */
export function hasVerifiedFactor({ factors }: Account): boolean {
  return factors.some(({ status }) => status === 'verified')
}

/** Another service's description of a user; the address counts as verified. */
export interface Person {
  subject: string
  name: string
  email: string
  /** Secret of the second factor that the account has from its first sign-in on, in base32; undefined: it has none. */
  factorSecret?: string
}

/**
 * Returns the account of a profile: the one it was used with before, else the one with its address, else a new one. An account of
 * single sign-on is never one that was there without it.
 */
export function signInByProfile(accounts: Accounts, provider: string, profile: Person): Account {
  const { subject, email, name, factorSecret: secret } = profile
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
