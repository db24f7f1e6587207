import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { AuthError } from './auth-error.ts'
import type { Database } from './database.ts'
import { encodeBase32, verifyTotp } from './totp.ts'
import { createUuid } from './uuid.ts'

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

/** Whether a factor counts at sign-in. */
export function isVerified(factor: Factor): boolean {
  return factor.status === 'verified'
}

/** The TOTP factors of all accounts. */
export interface Factors {
  list(accountId: string): Factor[]
  /** Throws `mfa_factor_not_found` when the factor is not one of the account's. */
  find(accountId: string, factorId: string): Factor
  enroll(accountId: string, friendlyName: string): Factor
  /** A challenge is one attempt window of 300 seconds; wrong codes do not use it up, the right one does. */
  challenge(factor: Factor): { id: string; expiresAt: number }
  /** Marks factor and challenge verified, or throws. Drops the account's other unverified factors. */
  verify(factor: Factor, challengeId: string, code: string): void
  /** Marks a factor verified without a code. */
  trust(factor: Factor): void
  unenroll(factor: Factor): void
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

/** Factors kept in the database. */
export function createFactors(database: Database, runtime: Runtime): Factors {
  const factors: Factors = {
    list: (accountId) =>
      database
        .all<FactorRow>('SELECT * FROM factor WHERE account_id = ? ORDER BY created_at, rowid', accountId)
        .map(toFactor),
    find(accountId, factorId) {
      const row = database.get<FactorRow>(
        'SELECT * FROM factor WHERE id = ? AND account_id = ?',
        factorId,
        accountId,
      )
      if (row === undefined) throw new AuthError(404, 'mfa_factor_not_found', 'Factor not found')
      return toFactor(row)
    },
    enroll(accountId, friendlyName) {
      const present = factors.list(accountId)
      if (present.some((factor) => factor.friendlyName === friendlyName)) {
        const message = `A factor with the friendly name ${JSON.stringify(friendlyName)} for this user already exists`
        throw new AuthError(422, 'mfa_factor_name_conflict', message)
      }
      if (present.length >= MAX_FACTORS) {
        const message = 'Maximum number of verified factors reached, unenroll to continue'
        throw new AuthError(422, 'too_many_enrolled_mfa_factors', message)
      }
      const id = createUuid(runtime)
      const now = runtime.now()
      const secret = encodeBase32(runtime.randomBytes(20))
      database.run(
        `INSERT INTO factor (id, account_id, friendly_name, status, secret, created_at, updated_at)
         VALUES (?, ?, ?, 'unverified', ?, ?, ?)`,
        id,
        accountId,
        friendlyName,
        secret,
        now,
        now,
      )
      return factors.find(accountId, id)
    },
    challenge(factor) {
      const id = createUuid(runtime)
      const now = runtime.now()
      database.transaction(() => {
        // Twice the life, so that a late code is told `expired` rather than `not found`.
        database.run('DELETE FROM challenge WHERE created_at < ?', now - 2 * CHALLENGE_SECONDS)
        database.run('INSERT INTO challenge (id, factor_id, created_at) VALUES (?, ?, ?)', id, factor.id, now)
      })
      return { id, expiresAt: now + CHALLENGE_SECONDS }
    },
    verify(factor, challengeId, code) {
      const challenge = database.get<{ created_at: number; verified_at: number | null }>(
        'SELECT created_at, verified_at FROM challenge WHERE id = ? AND factor_id = ?',
        challengeId,
        factor.id,
      )
      if (challenge === undefined) {
        const message = 'MFA factor with the provided challenge ID not found'
        throw new AuthError(422, 'mfa_factor_not_found', message)
      }
      if (challenge.verified_at !== null) {
        // The real API answers a used challenge with this code too.
        throw new AuthError(422, 'mfa_ip_address_mismatch', 'Challenge and verify IP addresses mismatch')
      }
      if (runtime.now() >= challenge.created_at + CHALLENGE_SECONDS) {
        const message = `MFA challenge ${challengeId} has expired, verify against another challenge or create a new challenge.`
        throw new AuthError(422, 'mfa_challenge_expired', message)
      }
      if (!verifyTotp(factor.secret, code, runtime.now())) {
        throw new AuthError(422, 'mfa_verification_failed', 'Invalid TOTP code entered')
      }
      database.transaction(() => {
        database.run('UPDATE challenge SET verified_at = ? WHERE id = ?', runtime.now(), challengeId)
        factors.trust(factor)
        database.run(`DELETE FROM factor WHERE account_id = ? AND status = 'unverified'`, factor.accountId)
      })
    },
    trust: (factor) =>
      void database.run(
        `UPDATE factor SET status = 'verified', updated_at = ? WHERE id = ?`,
        runtime.now(),
        factor.id,
      ),
    unenroll: (factor) => void database.run('DELETE FROM factor WHERE id = ?', factor.id),
  }
  return factors
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
