import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { AuthError } from './auth-error.ts'
import type { Database } from './database.ts'
import { createUuid } from './uuid.ts'

/** Free-form JSON object of an account. */
export type Metadata = Record<string, unknown>

/** A user of the embedded provider. Times are epoch seconds. */
export interface Account {
  id: string
  email: string
  passwordHash: string | undefined
  confirmedAt: number | undefined
  bannedUntil: number | undefined
  metadata: Metadata
  lastSignInAt: number | undefined
  createdAt: number
  updatedAt: number
}

/** What a new account starts with. */
export interface NewAccount {
  email: string
  passwordHash?: string
  confirmed: boolean
  metadata?: Metadata
}

/** The accounts of the embedded provider. */
export interface Accounts {
  /** Throws `user_already_exists` when the address is taken, in any letter case. */
  create(account: NewAccount): Account
  /** In any letter case. Space around the address is not taken off, as in the real API. */
  findByEmail(email: string): Account | undefined
  findById(id: string): Account | undefined
  /** Newest first. */
  list(): Account[]
  isBanned(account: Account): boolean
  confirm(id: string): void
  /** Bans until the given epoch second; `undefined` lifts the ban. */
  ban(id: string, until: number | undefined): void
  /** Changes the address, unchecked whether it is free; also in what its own identity says. */
  setEmail(id: string, email: string): void
  setPasswordHash(id: string, hash: string | undefined): void
  /** Merges members into the user metadata; a `null` member removes it. */
  mergeMetadata(id: string, changes: Metadata): void
  recordSignIn(id: string): void
  delete(id: string): void
}

interface AccountRow {
  id: string
  email: string
  password_hash: string | null
  confirmed_at: number | null
  banned_until: number | null
  user_metadata: string
  last_sign_in_at: number | null
  created_at: number
  updated_at: number
}

/** The lower-case form of an address under which accounts are kept, or `validation_failed`. */
export function normalizeEmail(email: string): string {
  const normal = email.trim().toLowerCase()
  if (normal.length > 255 || !/^[^\s@]+@[^\s@.]+(\.[^\s@.]+)*$/.test(normal)) {
    throw new AuthError(400, 'validation_failed', 'Unable to validate email address: invalid format')
  }
  return normal
}

/** Accounts kept in the database. */
export function createAccounts(database: Database, runtime: Runtime): Accounts {
  function update(id: string, assignment: string, value: string | number | null): void {
    database.run(
      `UPDATE account SET ${assignment} = ?, updated_at = ? WHERE id = ?`,
      value,
      runtime.now(),
      id,
    )
  }

  const accounts: Accounts = {
    create(account) {
      const email = normalizeEmail(account.email)
      const id = createUuid(runtime)
      const now = runtime.now()
      if (accounts.findByEmail(email) !== undefined) {
        throw new AuthError(422, 'user_already_exists', 'User already registered')
      }
      database.run(
        `INSERT INTO account (id, email, password_hash, confirmed_at, user_metadata, created_at, updated_at)
         VALUES (?, ?, ?, ?, ?, ?, ?)`,
        id,
        email,
        account.passwordHash ?? null,
        account.confirmed ? now : null,
        JSON.stringify(account.metadata ?? {}),
        now,
        now,
      )
      return accounts.findById(id)!
    },
    findByEmail: (email) =>
      toAccount(database.get('SELECT * FROM account WHERE email = ?', email.toLowerCase())),
    findById: (id) => toAccount(database.get('SELECT * FROM account WHERE id = ?', id)),
    list: () =>
      database
        .all<AccountRow>('SELECT * FROM account ORDER BY created_at DESC, rowid DESC')
        .flatMap((row) => toAccount(row) ?? []),
    isBanned: (account) => account.bannedUntil !== undefined && account.bannedUntil > runtime.now(),
    confirm: (id) => update(id, 'confirmed_at', runtime.now()),
    ban: (id, until) => update(id, 'banned_until', until ?? null),
    setEmail(id, email) {
      const normal = normalizeEmail(email)
      update(id, 'email', normal)
      database.run(
        `UPDATE identity SET data = json_set(data, '$.email', ?) WHERE account_id = ? AND provider = 'email'`,
        normal,
        id,
      )
    },
    setPasswordHash: (id, hash) => update(id, 'password_hash', hash ?? null),
    mergeMetadata(id, changes) {
      database.transaction(() => {
        const merged = Object.entries({ ...accounts.findById(id)?.metadata, ...changes })
        update(
          id,
          'user_metadata',
          JSON.stringify(Object.fromEntries(merged.filter(([, value]) => value !== null))),
        )
      })
    },
    recordSignIn: (id) => update(id, 'last_sign_in_at', runtime.now()),
    delete: (id) => void database.run('DELETE FROM account WHERE id = ?', id),
  }
  return accounts
}

function toAccount(row: AccountRow | undefined): Account | undefined {
  if (row === undefined) return undefined
  const metadata: Metadata = JSON.parse(row.user_metadata)
  return {
    id: row.id,
    email: row.email,
    passwordHash: row.password_hash ?? undefined,
    confirmedAt: row.confirmed_at ?? undefined,
    bannedUntil: row.banned_until ?? undefined,
    metadata,
    lastSignInAt: row.last_sign_in_at ?? undefined,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
