import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type Account, Accounts } from './accounts/account.ts'
import { type Database, openDatabase } from './database.ts'
import type { EmbeddedProviderConfig } from './embedded-config.ts'
import { type Factor, Factors } from './accounts/factor.ts'
import { Identities, type Identity } from './accounts/identity.ts'
import { type Session, Sessions } from './sessions/session.ts'
import { SigningKeys } from './sessions/signing-keys.ts'
import { SocialFlows } from './social/social-flow.ts'

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
  /** Whether a sign-up is confirmed at once; on at first, because no mail leaves this machine. */
  autoconfirm: boolean
}

/** Opens the database and builds the services on it. */
export function createAuthServices(config: EmbeddedProviderConfig, runtime: Runtime): AuthServices {
  const database = openDatabase(config.database)
  const accounts = new Accounts(database, runtime)
  return {
    config,
    runtime,
    database,
    accounts,
    identities: new Identities(database, accounts, runtime),
    sessions: new Sessions(database, runtime, config.refreshTokenVersion),
    factors: new Factors(database, runtime),
    flows: new SocialFlows(database, runtime),
    keys: new SigningKeys(database, runtime),
    autoconfirm: true,
  }
}

/** The names of the social sign-in methods that are on. */
export function socialProviders({ config }: Pick<AuthServices, 'config'>): readonly string[] {
  return config.socialProviders ?? ['google']
}

/** The user object of an account as it is now. */
export function describeUser(services: AuthServices, accountId: string): Record<string, unknown> {
  const account = accountOf(services, accountId)
  return userDocument(account, services.identities.list(accountId), services.factors.list(accountId))
}

/** The answer that carries a session, with a new access token for it. */
export async function sessionResponse(
  services: AuthServices,
  session: Session,
  extra: Record<string, unknown> = {},
): Promise<Response> {
  const { config, keys, runtime } = services
  const account = accountOf(services, session.accountId)
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

function accountOf({ accounts }: AuthServices, id: string): Account {
  const account = accounts.findById(id)
  if (account === undefined) throw new Error(`no account ${id}`)
  return account
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

/** The `app_metadata` of an account: how it can sign in. */
export function appMetadata(identities: readonly Identity[]): { provider: string; providers: string[] } {
  const providers = [...new Set(identities.map((identity) => identity.provider))]
  return { provider: providers[0] ?? 'email', providers }
}

/** The user object of the auth API. Secrets (password hash, factor secrets) are not in it. */
export function userDocument(
  account: Account,
  identities: readonly Identity[],
  factors: readonly Factor[],
): Record<string, unknown> {
  return {
    id: account.id,
    aud: 'authenticated',
    role: 'authenticated',
    email: account.email,
    email_confirmed_at: isoTime(account.confirmedAt),
    phone: '',
    confirmed_at: isoTime(account.confirmedAt),
    last_sign_in_at: isoTime(account.lastSignInAt),
    app_metadata: appMetadata(identities),
    user_metadata: account.metadata,
    identities: identities.map((identity) => identityDocument(account, identity)),
    factors: factors.length === 0 ? undefined : factors.map(factorDocument),
    created_at: isoTime(account.createdAt),
    updated_at: isoTime(account.updatedAt),
    banned_until: isoTime(account.bannedUntil),
    is_anonymous: false,
  }
}

function identityDocument(account: Account, identity: Identity): Record<string, unknown> {
  return {
    identity_id: identity.id,
    id: identity.providerId,
    user_id: account.id,
    identity_data: identity.data,
    provider: identity.provider,
    last_sign_in_at: isoTime(identity.lastSignInAt),
    created_at: isoTime(identity.createdAt),
    updated_at: isoTime(identity.lastSignInAt),
    email: identity.data['email'],
  }
}

function factorDocument(factor: Factor): Record<string, unknown> {
  return {
    id: factor.id,
    created_at: isoTime(factor.createdAt),
    updated_at: isoTime(factor.updatedAt),
    status: factor.status,
    friendly_name: factor.friendlyName,
    factor_type: 'totp',
  }
}

function isoTime(epochSeconds: number | undefined): string | undefined {
  return epochSeconds === undefined ? undefined : new Date(epochSeconds * 1000).toISOString()
}
