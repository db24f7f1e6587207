import type { Account } from '../../../server/sandbox/provider/accounts/account.ts'
import type { AuthServices } from '../../../server/sandbox/provider/auth-services.ts'
import { enrollFactor } from '../../../server/sandbox/provider/api/factor-api.ts'
import { hashPassword } from '../../../server/sandbox/provider/accounts/password.ts'
import type { Session } from '../../../server/sandbox/provider/sessions/session.ts'
import { Collection } from '../../../server/sandbox/database.ts'
import { controlKeys, type KeyControl } from './key-control.ts'
import type { Faults, ProviderFaults } from './faults.ts'

/** Requests received since the last reset, and some of their outcomes. */
export interface ProviderCounters {
  /** `POST /token` by `grant_type`, successful or not. */
  token: Record<'password' | 'refresh_token' | 'pkce', number>
  /** Refreshes that spent a token, not counting forgiven replays. */
  rotations: number
  /** Refreshes that ended a session because of a reuse. */
  reuseRevocations: number
  /** Completed sign-outs by scope. */
  signOuts: Record<'global' | 'local', number>
}

export function createProviderCounters(): ProviderCounters {
  return {
    token: { password: 0, refresh_token: 0, pkce: 0 },
    rotations: 0,
    reuseRevocations: 0,
    signOuts: { global: 0, local: 0 },
  }
}

/** Settings that the admin of a `ControlledProvider` changes. */
export interface ProviderControls {
  faults: Faults
  counters: ProviderCounters
  /** The only valid captcha token; undefined: none is required. */
  captchaToken: string | undefined
}

/** A user to create without the sign-up page. */
interface NewUser {
  email: string
  /** Without one the user can only sign in socially. Its strength is not checked. */
  password?: string
  /** Default true. */
  confirmed?: boolean
  /** Default false. */
  banned?: boolean
}

/** The parts of a user that tests read. */
interface ProviderUser {
  id: string
  email: string
}

/** Lets tests provoke production situations; not reachable over HTTP. */
export interface ProviderAdmin extends KeyControl {
  /** Rejects with `user_already_exists` when the address is taken. */
  createUser(user: NewUser): Promise<ProviderUser>
  findUser(email: string): ProviderUser | undefined
  /** A banned user keeps sessions and tokens, but every call of the API rejects them. */
  banUser(userId: string): void
  /** Adds a verified TOTP factor; `secret` is base32, for `computeTotp`. */
  enrollTotp(userId: string): { factorId: string; secret: string }
  /** Oldest first. */
  listSessions(userId: string): Pick<Session, 'id' | 'aal' | 'refreshCounter'>[]
  endSession(sessionId: string): void
  /** Reverts the last refresh of the session, like a database restored from an older copy. */
  rewindSession(sessionId: string): void
  /** Sets the seconds in which concurrent refreshes are forgiven; initially 10. */
  setReuseInterval(seconds: number): void
  /** Requires `secret` as captcha token for passwords, mails, sign-ups and single sign-on; without one, none. */
  setCaptcha(captcha: { secret?: string }): void
  /** Without it every address counts as confirmed, so none is verified. */
  setConfirmation(confirmation: 'done' | 'off'): void
  /** Returns an operator's API key for `/admin/users`: a `service_role` token valid for ten years. */
  serviceKey(): Promise<string>
  /** Signs any claims with the current key: wrong audiences, service roles, tokens of the past. */
  signClaims(claims: Record<string, unknown>): Promise<string>
  /** Replaces the active faults; `{}` ends them. */
  setFaults(faults: ProviderFaults): void
  /** A live view. */
  readonly counters: Readonly<ProviderCounters>
  resetCounters(): void
}

/** Creates the admin of one provider. */
export function createProviderAdmin(services: AuthServices, controls: ProviderControls): ProviderAdmin {
  const { accounts, database, runtime, sessions } = services
  const keys = controlKeys(services)
  const ban = (id: string): void =>
    void accounts.update(id, (account) => {
      account.bannedUntil = FOREVER
    })

  return {
    ...keys,
    async createUser({ email, password, confirmed = true, banned = false }) {
      const hash = password === undefined ? {} : await hashOf(password)
      const account = accounts.create({ kind: 'email', email, confirmed, ...hash })
      if (banned) ban(account.id)
      return toUser(account)
    },
    findUser(email) {
      const account = accounts.findByEmail(email)
      return account === undefined ? undefined : toUser(account)
    },
    banUser: ban,
    enrollTotp(userId) {
      const account = accounts.get(userId)
      const { id, secret } = enrollFactor(services, account, `totp ${account.factors.length + 1}`)
      accounts.update(userId, (changed) => {
        for (const factor of changed.factors) if (factor.id === id) factor.status = 'verified'
      })
      return { factorId: id, secret }
    },
    listSessions: (userId) => sessionsOf(services, userId),
    endSession: (id) => sessions.end(id),
    rewindSession: (id) =>
      void database
        .prepare(
          `UPDATE session SET body =
             json_set(body, '$.refreshCounter', max((body ->> 'refreshCounter') - 1, 0)) WHERE id = ?`,
        )
        .run(id),
    setReuseInterval(seconds) {
      sessions.reuseIntervalSeconds = seconds
    },
    setCaptcha({ secret }) {
      controls.captchaToken = secret
    },
    setConfirmation(confirmation) {
      services.confirmsEmail = confirmation === 'done'
    },
    serviceKey() {
      const now = runtime.now()
      return keys.signWithSecret({
        iss: services.config.url,
        role: 'service_role',
        iat: now,
        exp: now + TEN_YEARS,
      })
    },
    signClaims: (claims) => services.keys.sign(claims),
    setFaults: (next) => controls.faults.set(next),
    counters: controls.counters,
    resetCounters: () => void Object.assign(controls.counters, createProviderCounters()),
  }

  async function hashOf(password: string): Promise<{ passwordHash: string }> {
    return { passwordHash: await hashPassword(password, runtime.randomBytes(16), quick) }
  }
}

function sessionsOf({ database }: AuthServices, userId: string): Session[] {
  return new Collection<Session>(database, 'session').list(`body ->> 'accountId' = ?`, userId).toReversed()
}

/** The minimum cost of scrypt: tests need no protection against guessing. */
const quick = 2

const TEN_YEARS = 315_360_000

/** Year 3000: the real API's bans end too. */
const FOREVER = 32_503_680_000

function toUser({ id, email }: Account): ProviderUser {
  return { id, email }
}
