import { createHash, randomInt } from 'node:crypto'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { AuthError } from '../auth-error.ts'

const lifeSeconds = 3600
const pauseSeconds = 60

/** A mailed code, and the token of the link in the same mail. */
export interface EmailCode {
  accountId: string
  code: string
  token: string
  /** The `state` of the PKCE flow that the link continues; undefined if there is none. */
  flow: string | undefined
  sentAt: number
}

/** A mail that would have been sent. */
export interface Mail {
  to: string
  subject: string
  code: string
  /** Left out when there is none. */
  link?: string
  /** Epoch seconds. */
  sentAt: number
}

/** The codes that were mailed, in memory. As in the real API an account has one, and a newer one replaces it. */
export class EmailCodes {
  readonly #codes = new Map<string, EmailCode>()
  readonly #runtime: Pick<Runtime, 'now'>

  constructor(runtime: Pick<Runtime, 'now'>) {
    this.#runtime = runtime
  }

  /** Throws `over_email_send_rate_limit` within a minute of the last code. */
  requirePause(accountId: string): void {
    const sentAt = this.#codes.get(accountId)?.sentAt ?? -Infinity
    const left = sentAt + pauseSeconds - this.#runtime.now()
    if (left <= 0) return
    const message = `For security purposes, you can only request this after ${left} seconds.`
    throw new AuthError(429, 'over_email_send_rate_limit', message)
  }

  issue(accountId: string, flow: string | undefined): EmailCode {
    const code = String(randomInt(1_000_000)).padStart(6, '0')
    const digest = createHash('sha224').update(`${accountId} ${code}`).digest('hex')
    const token = flow === undefined ? digest : `pkce_${digest}`
    const issued = { accountId, code, token, flow, sentAt: this.#runtime.now() }
    this.#codes.set(accountId, issued)
    return issued
  }

  /** Takes the code that `isMeant` accepts, once. Throws `otp_expired` for every other. */
  redeem(isMeant: (issued: EmailCode) => boolean): EmailCode {
    const found = [...this.#codes.values()].find(isMeant)
    if (found === undefined || this.#runtime.now() >= found.sentAt + lifeSeconds) {
      throw new AuthError(403, 'otp_expired', 'Token has expired or is invalid')
    }
    // Kept without its secrets, for the pause before the next one.
    this.#codes.set(found.accountId, { ...found, code: '', token: '' })
    return found
  }
}
