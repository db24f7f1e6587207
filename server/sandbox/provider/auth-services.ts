import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { createAccounts, type Account, type Accounts } from './account.ts'
import { openDatabase, type Database } from './database.ts'
import type { EmbeddedProviderConfig } from './embedded-config.ts'
import { createFactors, type Factors } from './factor.ts'
import { createFaults, type Faults } from './fault.ts'
import { createIdentities, type Identities } from './identity.ts'
import { createSessions, type Session, type Sessions } from './session.ts'
import { createSigningKeys, type SigningKeys } from './signing-keys.ts'
import { createSocialFlows, type SocialFlows } from './social-flow.ts'
import { appMetadata, userDocument } from './user-document.ts'

/** Which sessions a sign-out ends: all of the user, this one, or all but this one. */
export type SignOutScope = 'global' | 'local' | 'others'

/** Requests received since start, and what came of some of them. */
export interface EmbeddedCounters {
  /** `POST /token` by `grant_type`, successful or not. */
  token: Record<'password' | 'refresh_token' | 'pkce', number>
  /** Refreshes that spent a token; a forgiven replay is not one. */
  rotations: number
  /** Families of refresh tokens that ended because a used one came again. */
  reuseRevocations: number
  signup: number
  user: number
  /** `POST /logout`, successful or not. */
  logout: number
  /** Sign-outs that were done. */
  signOuts: Record<SignOutScope, number>
  authorize: number
  jwks: number
}

/** Everything the routes of the auth API work with. */
export interface AuthServices {
  config: EmbeddedProviderConfig
  runtime: Runtime
  database: Database
  accounts: Accounts
  identities: Identities
  sessions: Sessions
  factors: Factors
  flows: SocialFlows
  keys: SigningKeys
  faults: Faults
  counters: EmbeddedCounters
  /** Whether a sign-up is confirmed at once; on at first, because no mail leaves this machine. */
  autoconfirm: boolean
  /** The one captcha token that is good; undefined: none is asked for. */
  captchaToken: string | undefined
}

/** Opens the database and builds the services on it. */
export function createAuthServices(config: EmbeddedProviderConfig, runtime: Runtime): AuthServices {
  const database = openDatabase(config.database)
  const accounts = createAccounts(database, runtime)
  const counters = createCounters()
  return {
    config,
    runtime,
    database,
    accounts,
    identities: createIdentities(database, accounts, runtime),
    sessions: createSessions(database, runtime, {
      refreshTokenVersion: config.refreshTokenVersion,
      reportReuse: () => counters.reuseRevocations++,
    }),
    factors: createFactors(database, runtime),
    flows: createSocialFlows(database, runtime),
    keys: createSigningKeys(database, runtime),
    faults: createFaults(runtime),
    counters,
    autoconfirm: true,
    captchaToken: undefined,
  }
}

/** Counters at zero. */
export function createCounters(): EmbeddedCounters {
  return {
    token: { password: 0, refresh_token: 0, pkce: 0 },
    rotations: 0,
    reuseRevocations: 0,
    signup: 0,
    user: 0,
    logout: 0,
    signOuts: { global: 0, local: 0, others: 0 },
    authorize: 0,
    jwks: 0,
  }
}

/** The user object of an account as it is now. */
export function describeUser(services: AuthServices, accountId: string): Record<string, unknown> {
  const account = services.accounts.findById(accountId)
  if (account === undefined) throw new Error(`no account ${accountId}`)
  return userDocument(account, services.identities.list(accountId), services.factors.list(accountId))
}

/** The answer that carries a session, with a new access token for it. */
export async function sessionResponse(
  services: AuthServices,
  session: Session,
  extra: Record<string, unknown> = {},
): Promise<Response> {
  const { accounts, config, keys, runtime } = services
  const account = accounts.findById(session.accountId)
  if (account === undefined) throw new Error(`no account ${session.accountId}`)
  const issuedAt = runtime.now()
  const expiresAt = issuedAt + config.tokenTtlSeconds
  const claims = accessTokenClaims(services, account, session)
  const body = {
    access_token: await keys.sign({ ...claims, iat: issuedAt, exp: expiresAt }),
    token_type: 'bearer',
    expires_in: config.tokenTtlSeconds,
    expires_at: expiresAt,
    refresh_token: session.refreshToken,
    user: describeUser(services, account.id),
    ...extra,
  }
  return Response.json(body, {
    headers: { 'sb-auth-user-id': account.id, 'sb-auth-session-id': session.id },
  })
}

function accessTokenClaims(
  services: AuthServices,
  account: Account,
  session: Session,
): Record<string, unknown> {
  return {
    iss: services.config.url,
    sub: account.id,
    aud: 'authenticated',
    email: account.email,
    phone: '',
    app_metadata: appMetadata(services.identities.list(account.id)),
    user_metadata: account.metadata,
    role: 'authenticated',
    aal: session.aal,
    amr: session.amr,
    session_id: session.id,
    is_anonymous: false,
  }
}
