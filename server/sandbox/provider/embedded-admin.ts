import { normalizeEmail, type Account } from './account.ts'
import { createCounters, type AuthServices, type EmbeddedCounters } from './auth-services.ts'
import type { EmbeddedFaults } from './fault.ts'
import { hashPassword } from './password.ts'
import type { SessionLimits } from './session-limit.ts'
import type { Session } from './session.ts'
import type { SigningAlgorithm } from './signing-keys.ts'

/** A user to create without going through the sign-up page. */
export interface NewUser {
  email: string
  /** Without one the user can only sign in socially. Its strength is not checked. */
  password?: string
  /** Default true. */
  confirmed?: boolean
  /** Default false. */
  banned?: boolean
}

/** The part of a user that tests ask for. */
export interface EmbeddedUser {
  id: string
  email: string
}

/** What tests and the demo use to provoke what production does; nothing of it is reachable over HTTP. */
export interface EmbeddedAdmin {
  /** Rejects with `user_already_exists` when the address is taken. */
  createUser(user: NewUser): Promise<EmbeddedUser>
  findUser(email: string): EmbeddedUser | undefined
  confirmUser(userId: string): void
  /** A banned user keeps sessions and tokens, but every call of the API refuses them. */
  banUser(userId: string): void
  unbanUser(userId: string): void
  /** Deletes the user with sessions, identities and factors. */
  deleteUser(userId: string): void
  /** Adds a TOTP factor that counts as verified; `secret` is base32, for `computeTotp`. */
  enrollTotp(userId: string): { factorId: string; secret: string }
  /** Oldest first. */
  listSessions(userId: string): Pick<Session, 'id' | 'aal' | 'refreshCounter'>[]
  endSession(sessionId: string): void
  /** Takes back the last refresh of the session, as a database does that was restored from an older copy. */
  rewindSession(sessionId: string): void
  /** Seconds in which concurrent refreshes are forgiven; 10 at start. */
  setReuseInterval(seconds: number): void
  /** Replaces the limits of sessions, which hold at the next refresh; none at start. */
  setSessionLimits(limits: SessionLimits): void
  /** From now on a password and a sign-up need `secret` as their captcha token; without one, none. */
  setCaptcha(captcha: { secret?: string }): void
  /** Whether sign-ups are confirmed at once; true at start. */
  setAutoconfirm(on: boolean): void
  /** `dropOld` takes the old keys out of the JWKS at once, as a revocation does. */
  rotateSigningKey(options?: { dropOld?: boolean }): void
  setAlgorithm(algorithm: SigningAlgorithm): void
  /** The HS256 secret, as text. */
  readonly jwtSecret: string
  /** The API key of an operator, for `/admin/users`: a `service_role` token that lives for ten years. */
  serviceKey(): Promise<string>
  /** Signs any claims with the current key: wrong audiences, service roles, tokens of the past. */
  signClaims(claims: Record<string, unknown>): Promise<string>
  /** Replaces the faults in force; `{}` ends them. */
  setFaults(faults: EmbeddedFaults): void
  /** A live view. */
  readonly counters: Readonly<EmbeddedCounters>
  resetCounters(): void
}

/** The admin of one provider. */
export function createEmbeddedAdmin(services: AuthServices): EmbeddedAdmin {
  const { accounts, counters, factors, faults, identities, keys, runtime, sessions } = services

  return {
    async createUser({ email, password, confirmed = true, banned = false }) {
      const passwordHash =
        password === undefined ? {} : { passwordHash: await hashPassword(password, runtime.randomBytes(16)) }
      const account = services.database.transaction(() => {
        const created = accounts.create({ email: normalizeEmail(email), confirmed, ...passwordHash })
        identities.addEmail(created)
        if (banned) accounts.ban(created.id, FOREVER)
        return created
      })
      return toUser(account)
    },
    findUser(email) {
      const account = accounts.findByEmail(email)
      return account === undefined ? undefined : toUser(account)
    },
    confirmUser: (id) => accounts.confirm(id),
    banUser: (id) => accounts.ban(id, FOREVER),
    unbanUser: (id) => accounts.ban(id, undefined),
    deleteUser: (id) => accounts.delete(id),
    enrollTotp(userId) {
      const factor = factors.enroll(userId, `totp ${factors.list(userId).length + 1}`)
      factors.trust(factor)
      return { factorId: factor.id, secret: factor.secret }
    },
    listSessions: (userId) =>
      sessions.list(userId).map(({ id, aal, refreshCounter }) => ({ id, aal, refreshCounter })),
    endSession: (id) => sessions.end(id),
    rewindSession: (id) => sessions.rewind(id),
    setReuseInterval: (seconds) => sessions.setReuseInterval(seconds),
    setSessionLimits: (limits) => sessions.setLimits(limits),
    setCaptcha({ secret }) {
      services.captchaToken = secret
    },
    setAutoconfirm(on) {
      services.autoconfirm = on
    },
    rotateSigningKey: (options) => keys.rotate(options),
    setAlgorithm: (algorithm) => keys.setAlgorithm(algorithm),
    jwtSecret: keys.secret,
    serviceKey() {
      const now = runtime.now()
      return keys.signWithSecret({
        iss: services.config.url,
        role: 'service_role',
        iat: now,
        exp: now + TEN_YEARS,
      })
    },
    signClaims: (claims) => keys.sign(claims),
    setFaults: (next) => faults.set(next),
    counters,
    resetCounters: () => void Object.assign(counters, createCounters()),
  }
}

const TEN_YEARS = 315_360_000

/** Year 3000: the real API's bans have an end too. */
const FOREVER = 32_503_680_000

function toUser({ id, email }: Account): EmbeddedUser {
  return { id, email }
}
