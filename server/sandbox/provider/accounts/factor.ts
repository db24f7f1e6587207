import { randomUUID } from 'node:crypto'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { AuthError } from '../auth-error.ts'
import type { Database } from '../database.ts'
import { encodeBase32, verifyTotp } from './totp.ts'

const CHALLENGE_SECONDS = 300
const MAX_FACTORS = 10

/** A second factor; only `verified` ones count at sign-in. */
export interface Factor {
  id: string
  accountId: string
  friendlyName: string
  status: 'unverified' | 'verified'
  /** base32. */
  secret: string
  createdAt: number
  updatedAt: number
}

interface FactorRow {
  id: string
  account_id: string
  friendly_name: string
  status: 'unverified' | 'verified'
  secret: string
  created_at: number
  updated_at: number
}

/** Whether a factor counts at sign-in. */
export function isVerified(factor: Factor): boolean {
  return factor.status === 'verified'
}

/** The TOTP factors of all accounts. */
export class Factors {
  readonly #database: Database
  readonly #runtime: Pick<Runtime, 'now' | 'randomBytes'>

  constructor(database: Database, runtime: Pick<Runtime, 'now' | 'randomBytes'>) {
    this.#database = database
    this.#runtime = runtime
  }

  list(accountId: string): Factor[] {
    const sql = 'SELECT * FROM factor WHERE account_id = ? ORDER BY created_at, rowid'
    return this.#database.all<FactorRow>(sql, accountId).map(toFactor)
  }

  /** Throws `mfa_factor_not_found` when the factor is not one of the account's. */
  find(accountId: string, factorId: string): Factor {
    const sql = 'SELECT * FROM factor WHERE id = ? AND account_id = ?'
    const row = this.#database.get<FactorRow>(sql, factorId, accountId)
    if (row === undefined) throw new AuthError(404, 'mfa_factor_not_found', 'Factor not found')
    return toFactor(row)
  }

  enroll(accountId: string, friendlyName: string): Factor {
    const present = this.list(accountId)
    if (present.some((factor) => factor.friendlyName === friendlyName)) {
      const message = `A factor with the friendly name ${JSON.stringify(friendlyName)} for this user already exists`
      throw new AuthError(422, 'mfa_factor_name_conflict', message)
    }
    if (present.length >= MAX_FACTORS) {
      const message = 'Maximum number of verified factors reached, unenroll to continue'
      throw new AuthError(422, 'too_many_enrolled_mfa_factors', message)
    }
    const id = randomUUID()
    const now = this.#runtime.now()
    this.#database.run(
      `INSERT INTO factor (id, account_id, friendly_name, status, secret, created_at, updated_at)
       VALUES (?, ?, ?, 'unverified', ?, ?, ?)`,
      id,
      accountId,
      friendlyName,
      encodeBase32(this.#runtime.randomBytes(20)),
      now,
      now,
    )
    return this.find(accountId, id)
  }

  /** Opens a window of 300 seconds for codes: wrong ones leave it open, the right one closes it. */
  challenge(factor: Factor): { id: string; expiresAt: number } {
    const id = randomUUID()
    const now = this.#runtime.now()
    this.#database.transaction(() => {
      // Kept for twice its life, so that a late code is told `expired` rather than `not found`.
      this.#database.run('DELETE FROM challenge WHERE created_at < ?', now - 2 * CHALLENGE_SECONDS)
      const sql = 'INSERT INTO challenge (id, factor_id, created_at) VALUES (?, ?, ?)'
      this.#database.run(sql, id, factor.id, now)
    })
    return { id, expiresAt: now + CHALLENGE_SECONDS }
  }

  /** Marks factor and challenge verified, or throws. Drops the account's other unverified factors. */
  verify(factor: Factor, challengeId: string, code: string): void {
    const challenge = this.#database.get<{ created_at: number; verified_at: number | null }>(
      'SELECT created_at, verified_at FROM challenge WHERE id = ? AND factor_id = ?',
      challengeId,
      factor.id,
    )
    const now = this.#runtime.now()
    if (challenge === undefined) {
      const message = 'MFA factor with the provided challenge ID not found'
      throw new AuthError(422, 'mfa_factor_not_found', message)
    }
    if (challenge.verified_at !== null) {
      // The real API answers a used challenge with this code too.
      throw new AuthError(422, 'mfa_ip_address_mismatch', 'Challenge and verify IP addresses mismatch')
    }
    if (now >= challenge.created_at + CHALLENGE_SECONDS) {
      const message = `MFA challenge ${challengeId} has expired, verify against another challenge or create a new challenge.`
      throw new AuthError(422, 'mfa_challenge_expired', message)
    }
    if (!verifyTotp(factor.secret, code, now)) {
      throw new AuthError(422, 'mfa_verification_failed', 'Invalid TOTP code entered')
    }
    this.#database.transaction(() => {
      this.#database.run('UPDATE challenge SET verified_at = ? WHERE id = ?', now, challengeId)
      this.trust(factor)
      const sql = `DELETE FROM factor WHERE account_id = ? AND status = 'unverified'`
      this.#database.run(sql, factor.accountId)
    })
  }

  /** Marks a factor verified without a code. */
  trust(factor: Factor): void {
    const sql = `UPDATE factor SET status = 'verified', updated_at = ? WHERE id = ?`
    this.#database.run(sql, this.#runtime.now(), factor.id)
  }

  unenroll(factor: Factor): void {
    this.#database.run('DELETE FROM factor WHERE id = ?', factor.id)
  }
}

function toFactor(row: FactorRow): Factor {
  return {
    id: row.id,
    accountId: row.account_id,
    friendlyName: row.friendly_name,
    status: row.status,
    secret: row.secret,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
