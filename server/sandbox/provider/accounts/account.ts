import { randomUUID } from 'node:crypto'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { AuthError } from '../auth-error.ts'
import type { Database } from '../../database.ts'

/** Free-form JSON object of an account. */
export type Metadata = Record<string, unknown>

interface AccountRow {
  id: string
  email: string
  passwordHash: string | null
  confirmedAt: number | null
  bannedUntil: number | null
  metadata: string
  lastSignInAt: number | null
  createdAt: number
  updatedAt: number
}

/** A user of the embedded provider. Times are epoch seconds. */
export type Account = Omit<AccountRow, 'metadata'> & { metadata: Metadata }

const select = `SELECT id, email, password_hash AS passwordHash, confirmed_at AS confirmedAt,
  banned_until AS bannedUntil, user_metadata AS metadata, last_sign_in_at AS lastSignInAt,
  created_at AS createdAt, updated_at AS updatedAt FROM account`

/** Returns the lower-case form of an address under which accounts are stored; throws `validation_failed`. */
export function normalizeEmail(email: string): string {
  const normal = email.trim().toLowerCase()
  if (normal.length > 255 || !/^[^\s@]+@[^\s@.]+(\.[^\s@.]+)*$/.test(normal)) {
    throw new AuthError(400, 'validation_failed', 'Unable to validate email address: invalid format')
  }
  return normal
}

/** The accounts in the database. */
export class Accounts {
  readonly #database: Database
  readonly #runtime: Pick<Runtime, 'now'>

  constructor(database: Database, runtime: Pick<Runtime, 'now'>) {
    this.#database = database
    this.#runtime = runtime
  }

  /**
   * Throws `user_already_exists` if the address is taken, in any letter case. Not so for single sign-on: what a company says of an
   * address proves nothing about other accounts with it.
   */
  create(account: {
    email: string
    passwordHash?: string
    confirmed: boolean
    metadata?: Metadata
    isSso?: boolean
  }): Account {
    const email = normalizeEmail(account.email)
    const { isSso = false } = account
    if (!isSso && this.findByEmail(email) !== undefined) {
      throw new AuthError(422, 'user_already_exists', 'User already registered')
    }
    const id = randomUUID()
    const now = this.#runtime.now()
    this.#database.run(
      `INSERT INTO account
         (id, email, is_sso, password_hash, confirmed_at, user_metadata, created_at, updated_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
      id,
      email,
      Number(isSso),
      account.passwordHash ?? null,
      account.confirmed ? now : null,
      JSON.stringify(account.metadata ?? {}),
      now,
      now,
    )
    return this.findById(id)!
  }

  /** Ignores letter case, and accounts of single sign-on. Surrounding blanks count, as in the real API. */
  findByEmail(email: string): Account | undefined {
    return readAccount(this.#database.get(`${select} WHERE email = ? AND is_sso = 0`, email.toLowerCase()))
  }

  findById(id: string): Account | undefined {
    return readAccount(this.#database.get(`${select} WHERE id = ?`, id))
  }

  isBanned({ bannedUntil }: Account): boolean {
    return bannedUntil !== null && bannedUntil > this.#runtime.now()
  }

  confirm(id: string): void {
    this.#update(id, 'confirmed_at', this.#runtime.now())
  }

  /** Bans until the given epoch second; `undefined` lifts the ban. */
  ban(id: string, until: number | undefined): void {
    this.#update(id, 'banned_until', until ?? null)
  }

  setPasswordHash(id: string, hash: string | null): void {
    this.#update(id, 'password_hash', hash)
  }

  /** Merges members into the user metadata; a `null` member removes it. */
  mergeMetadata(id: string, changes: Metadata): void {
    this.#database.transaction(() => {
      const merged = Object.entries({ ...this.findById(id)?.metadata, ...changes })
      const kept = Object.fromEntries(merged.filter(([, value]) => value !== null))
      this.#update(id, 'user_metadata', JSON.stringify(kept))
    })
  }

  recordSignIn(id: string): void {
    this.#update(id, 'last_sign_in_at', this.#runtime.now())
  }

  delete(id: string): void {
    this.#database.run('DELETE FROM account WHERE id = ?', id)
  }

  #update(id: string, column: string, value: string | number | null): void {
    const sql = `UPDATE account SET ${column} = ?, updated_at = ? WHERE id = ?`
    this.#database.run(sql, value, this.#runtime.now(), id)
  }
}

function readAccount(row: AccountRow | undefined): Account | undefined {
  return row && { ...row, metadata: JSON.parse(row.metadata) as Metadata }
}
