import { randomUUID } from 'node:crypto'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { AuthError } from '../auth-error.ts'
import type { Account, Accounts, Factor } from './account.ts'
import { encodeBase32, verifyTotp } from './totp.ts'

const challengeSeconds = 300

interface Challenge {
  factorId: string
  createdAt: number
  isUsed: boolean
}

/** The TOTP factors of all accounts. Challenges are in memory: they take minutes. */
export class Factors {
  readonly #accounts: Accounts
  readonly #runtime: Pick<Runtime, 'now' | 'randomBytes'>
  readonly #challenges = new Map<string, Challenge>()

  constructor(accounts: Accounts, runtime: Pick<Runtime, 'now' | 'randomBytes'>) {
    this.#accounts = accounts
    this.#runtime = runtime
  }

  /** Throws `mfa_factor_not_found` if the factor does not belong to the account. */
  find({ factors }: Account, factorId: string): Factor {
    const factor = factors.find(({ id }) => id === factorId)
    if (factor === undefined) throw new AuthError(404, 'mfa_factor_not_found', 'Factor not found')
    return factor
  }

  enroll({ id: accountId, factors }: Account, friendlyName: string): Factor {
    if (factors.some((factor) => factor.friendlyName === friendlyName)) {
      const message = `A factor with the friendly name ${JSON.stringify(friendlyName)} for this user already exists`
      throw new AuthError(422, 'mfa_factor_name_conflict', message)
    }
    const secret = encodeBase32(this.#runtime.randomBytes(20))
    const factor: Factor = { id: randomUUID(), friendlyName, status: 'unverified', secret }
    this.#accounts.update(accountId, (account) => void account.factors.push(factor))
    return factor
  }

  /** Opens a window of 300 seconds for codes: wrong ones leave it open, the right one closes it. */
  challenge({ id: factorId }: Factor): { id: string; expiresAt: number } {
    const id = randomUUID()
    const now = this.#runtime.now()
    // Kept for twice its life, so that a late code gets `expired` rather than `not found`.
    for (const [old, { createdAt }] of this.#challenges) {
      if (createdAt < now - 2 * challengeSeconds) this.#challenges.delete(old)
    }
    this.#challenges.set(id, { factorId, createdAt: now, isUsed: false })
    return { id, expiresAt: now + challengeSeconds }
  }

  /** Marks factor and challenge verified, or throws. Deletes the account's other unverified factors. */
  verify(accountId: string, factor: Factor, challengeId: string, code: string): void {
    const challenge = this.#challenges.get(challengeId)
    const now = this.#runtime.now()
    const refuse = (errorCode: string, message: string): AuthError => new AuthError(422, errorCode, message)
    if (challenge?.factorId !== factor.id) {
      throw refuse('mfa_factor_not_found', 'MFA factor with the provided challenge ID not found')
    }
    if (challenge.isUsed) {
      // The real API returns this code for a used challenge too.
      throw refuse('mfa_ip_address_mismatch', 'Challenge and verify IP addresses mismatch')
    }
    if (now >= challenge.createdAt + challengeSeconds) {
      throw refuse('mfa_challenge_expired', `MFA challenge ${challengeId} has expired`)
    }
    if (!verifyTotp(factor.secret, code, now)) {
      throw refuse('mfa_verification_failed', 'Invalid TOTP code entered')
    }
    challenge.isUsed = true
    this.#accounts.update(accountId, (account) => {
      account.factors = account.factors.filter(({ id, status }) => id === factor.id || status === 'verified')
      this.find(account, factor.id).status = 'verified'
    })
  }
}
