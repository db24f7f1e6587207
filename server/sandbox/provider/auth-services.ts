import type { DatabaseSync } from 'node:sqlite'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type Account, Accounts } from './accounts/account.ts'
import { AuthError } from './auth-error.ts'
import { openDatabase } from '../database.ts'
import { type AuthenticationMethod, refreshTokenOf, type Session, Sessions } from './sessions/session.ts'
import { SigningKeys } from './sessions/signing-keys.ts'
import { SocialFlows } from './social/social-flow.ts'

/** The one client of the OAuth server. */
interface OAuthClient {
  id: string
  secret: string
  redirectUri: string
}

/** Settings of the embedded provider. Every URL must be on this machine. */
export interface EmbeddedProviderConfig {
  /** Base URL of the auth API, for example `http://localhost:8788/auth/v1`; also the `iss` of its tokens. */
  url: string
  /** Origin of the web application: the fallback for a `redirect_to` that is not allowed. */
  siteUrl: string
  /** URLs accepted as `redirect_to` in addition to the site's own. */
  redirectAllowList: readonly string[]
  /** Lifetime of an access token in seconds. */
  tokenTtlSeconds: number
  /** SQLite path, or `:memory:`. */
  database: string
  /** Undefined: the OAuth server is off. */
  oauthClient?: OAuthClient | undefined
  /** Names of the enabled social sign-in methods, `google` by default. All lead to the same sandbox page. */
  socialProviders?: readonly string[]
}

/** A mail that would have been sent, with a code and perhaps a link. */
export interface Mail {
  accountId: string
  to: string
  subject: string
  code: string
  /** Identifies the mail in its link. */
  token: string
  link?: string
  /** The `state` of the PKCE flow that the link continues. */
  flow?: string
  /** Epoch seconds. */
  sentAt: number
  isUsed?: boolean
}

/** Everything that the endpoints of one provider share. */
export class AuthServices {
  readonly config: EmbeddedProviderConfig
  readonly runtime: Runtime
  readonly database: DatabaseSync
  readonly socialProviders: readonly string[]
  readonly accounts: Accounts
  readonly sessions: Sessions
  readonly flows: SocialFlows
  /** Mails that would have been sent, newest first: none leaves this machine, and none outlives the process. */
  mails: readonly Mail[] = []
  keys: Pick<SigningKeys, 'sign' | 'verify' | 'jwks'>
  /** Addresses are confirmed at once, as if every user had opened the mail: none leaves this machine. */
  confirmsEmail = true

  constructor(config: EmbeddedProviderConfig, runtime: Runtime) {
    this.config = config
    this.runtime = runtime
    this.socialProviders = config.socialProviders ?? ['google']
    this.database = openDatabase(config.database)
    this.accounts = new Accounts(this.database, runtime)
    this.sessions = new Sessions(this.database, runtime)
    this.flows = new SocialFlows(config, runtime)
    this.keys = new SigningKeys(this.database, runtime)
  }
}

/** Returns the user object of an account, without secrets (password hash, factor secrets). */
export function describeUser(account: Account): Record<string, unknown> {
  const factors = account.factors.map(({ id, status, friendlyName }) => {
    return { id, status, friendly_name: friendlyName, factor_type: 'totp' }
  })
  return {
    id: account.id,
    aud: 'authenticated',
    role: 'authenticated',
    email: account.email,
    email_confirmed_at: isoTime(account.confirmedAt),
    app_metadata: appMetadata(account),
    user_metadata: account.metadata,
    factors: factors.length === 0 ? undefined : factors,
    created_at: isoTime(account.createdAt),
    banned_until: isoTime(account.bannedUntil),
    is_anonymous: false,
  }
}

/** A session as the auth API returns it. */
export interface SessionBody extends Record<string, unknown> {
  access_token: string
  refresh_token: string
}

/** Starts a session of an account. Refuses a banned one. */
export function startSession(
  services: AuthServices,
  accountId: string,
  method: AuthenticationMethod,
  clientId?: string,
): Promise<SessionBody> {
  const { accounts, sessions } = services
  accounts.refuseBanned(accounts.get(accountId))
  return describeSession(services, sessions.create(accountId, method, clientId))
}

/** Returns a session with a new access token for it. */
export async function describeSession(
  { accounts, config, keys, runtime }: AuthServices,
  session: Session,
): Promise<SessionBody> {
  const account = accounts.get(session.accountId)
  const issuedAt = runtime.now()
  const expiresAt = issuedAt + config.tokenTtlSeconds
  const claims = {
    iss: config.url,
    sub: account.id,
    aud: 'authenticated',
    email: account.email,
    app_metadata: appMetadata(account),
    user_metadata: account.metadata,
    role: 'authenticated',
    aal: session.aal,
    amr: session.amr,
    session_id: session.id,
    client_id: session.clientId,
    is_anonymous: false,
    iat: issuedAt,
    exp: expiresAt,
  }
  return {
    access_token: await keys.sign(claims),
    token_type: 'bearer',
    expires_in: config.tokenTtlSeconds,
    expires_at: expiresAt,
    refresh_token: refreshTokenOf(session),
    user: describeUser(account),
  }
}

function appMetadata({ identities }: Account): { provider: string; providers: string[] } {
  const providers = [...new Set(identities.map((identity) => identity.provider))]
  return { provider: providers[0] ?? 'email', providers }
}

function isoTime(epochSeconds: number | null): string | undefined {
  return epochSeconds === null ? undefined : new Date(epochSeconds * 1000).toISOString()
}

/** Returns account and session of the `Authorization` header. */
export function authenticate(services: AuthServices, request: Request): ReturnType<typeof sessionOf> {
  return sessionOf(services, tokenOf(request))
}

/**
 * Returns account and session of an access token. Unlike a check of the token alone it detects sign-out, ban and deletion at
 * once.
 */
export async function sessionOf(
  services: AuthServices,
  token: string,
): Promise<{ account: Account; session: Session }> {
  const claims = await services.keys.verify(token).catch(() => {
    throw new AuthError(403, 'bad_jwt', 'invalid JWT: unable to parse or verify signature')
  })
  const account = services.accounts.get(String(claims.sub))
  const session = services.sessions.find(String(claims['session_id']))
  if (session === undefined || session.accountId !== account.id) {
    throw new AuthError(403, 'session_not_found', 'Session from session_id claim in JWT does not exist')
  }
  services.accounts.refuseBanned(account)
  return { account, session }
}

function tokenOf(request: Request): string {
  const token = /^bearer\s+(\S+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]
  if (token !== undefined) return token
  throw new AuthError(401, 'no_authorization', 'This endpoint requires a valid Bearer token')
}
