import { randomUUID } from 'node:crypto'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { AuthError } from '../auth-error.ts'
import type { Database } from '../../database.ts'
import { encodeBase32, verifyTotp } from './totp.ts'

const challengeSeconds = 300
const maxFactors = 10

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

const select = `SELECT id, account_id AS accountId, friendly_name AS friendlyName, status, secret,
  created_at AS createdAt, updated_at AS updatedAt FROM factor`

/** The TOTP factors of all accounts. */
export class Factors {
  readonly #database: Database
  readonly #runtime: Pick<Runtime, 'now' | 'randomBytes'>

  constructor(database: Database, runtime: Pick<Runtime, 'now' | 'randomBytes'>) {
    this.#database = database
    this.#runtime = runtime
  }

  list(accountId: string): Factor[] {
    return this.#database.all(`${select} WHERE account_id = ? ORDER BY created_at, rowid`, accountId)
  }

  hasVerified(accountId: string): boolean {
    return this.list(accountId).some(({ status }) => status === 'verified')
  }

  /** Throws `mfa_factor_not_found` if the factor does not belong to the account. */
  find(accountId: string, factorId: string): Factor {
    const factor = this.list(accountId).find(({ id }) => id === factorId)
    if (factor === undefined) throw new AuthError(404, 'mfa_factor_not_found', 'Factor not found')
    return factor
  }

  enroll(accountId: string, friendlyName: string): Factor {
    const present = this.list(accountId)
    if (present.some((factor) => factor.friendlyName === friendlyName)) {
      const message = `A factor with the friendly name ${JSON.stringify(friendlyName)} for this user already exists`
      throw new AuthError(422, 'mfa_factor_name_conflict', message)
    }
    if (present.length >= maxFactors) {
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
      // Kept for twice its life, so that a late code gets `expired` rather than `not found`.
      this.#database.run('DELETE FROM challenge WHERE created_at < ?', now - 2 * challengeSeconds)
      const sql = 'INSERT INTO challenge (id, factor_id, created_at) VALUES (?, ?, ?)'
      this.#database.run(sql, id, factor.id, now)
    })
    return { id, expiresAt: now + challengeSeconds }
  }

  /** Marks factor and challenge verified, or throws. Deletes the account's other unverified factors. */
  verify(factor: Factor, challengeId: string, code: string): void {
    const challenge = this.#database.get<{ created_at: number; verified_at: number | null }>(
      'SELECT created_at, verified_at FROM challenge WHERE id = ? AND factor_id = ?',
      challengeId,
      factor.id,
    )
    const now = this.#runtime.now()
    const refuse = (errorCode: string, message: string): AuthError => new AuthError(422, errorCode, message)
    if (challenge === undefined) {
      throw refuse('mfa_factor_not_found', 'MFA factor with the provided challenge ID not found')
    }
    if (challenge.verified_at !== null) {
      // The real API returns this code for a used challenge too.
      throw refuse('mfa_ip_address_mismatch', 'Challenge and verify IP addresses mismatch')
    }
    if (now >= challenge.created_at + challengeSeconds) {
      throw refuse('mfa_challenge_expired', `MFA challenge ${challengeId} has expired`)
    }
    if (!verifyTotp(factor.secret, code, now)) {
      throw refuse('mfa_verification_failed', 'Invalid TOTP code entered')
    }
    this.#database.transaction(() => {
      this.#database.run('UPDATE challenge SET verified_at = ? WHERE id = ?', now, challengeId)
      this.trust(factor)
      const sql = `DELETE FROM factor WHERE account_id = ? AND status = 'unverified'`
      this.#database.run(sql, factor.accountId)
    })
  }

  trust(factor: Factor): void {
    const sql = `UPDATE factor SET status = 'verified', updated_at = ? WHERE id = ?`
    this.#database.run(sql, this.#runtime.now(), factor.id)
  }

  unenroll(factor: Factor): void {
    this.#database.run('DELETE FROM factor WHERE id = ?', factor.id)
  }
}
