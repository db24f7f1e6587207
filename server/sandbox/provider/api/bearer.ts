import type { JWTPayload } from 'jose'
import type { Account } from '../accounts/account.ts'
import { AuthError } from '../auth-error.ts'
import type { AuthServices } from '../auth-services.ts'
import type { Session } from '../sessions/session.ts'

/** Who sent a request, by its access token. */
export interface Bearer {
  account: Account
  session: Session
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/

/** Whether the text is a UUID in lower-case notation, of any version. */
export function isUuid(text: unknown): text is string {
  return typeof text === 'string' && UUID.test(text)
}

/**
 * Account and session behind the `Authorization` header. Unlike a check of the token alone it notices sign-out, ban and
 * deletion at once.
 */
export async function authenticate(services: AuthServices, request: Request): Promise<Bearer> {
  const claims = await readClaims(services, request)
  if (!isUuid(claims.sub)) throw new AuthError(403, 'bad_jwt', 'invalid claim: missing sub claim')
  const account = services.accounts.findById(claims.sub)
  if (account === undefined) {
    throw new AuthError(403, 'user_not_found', 'User from sub claim in JWT does not exist')
  }
  const sessionId = claims['session_id']
  const session = isUuid(sessionId) ? services.sessions.find(sessionId) : undefined
  if (session === undefined || session.accountId !== account.id) {
    throw new AuthError(403, 'session_not_found', 'Session from session_id claim in JWT does not exist')
  }
  if (services.accounts.isBanned(account)) throw new AuthError(403, 'user_banned', 'User is banned')
  return { account, session }
}

/** The claims of the token in the `Authorization` header, signature and expiry checked. */
export async function readClaims(services: AuthServices, request: Request): Promise<JWTPayload> {
  const token = /^bearer\s+(\S+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]
  if (token === undefined) {
    throw new AuthError(401, 'no_authorization', 'This endpoint requires a valid Bearer token')
  }
  return services.keys.verify(token).catch(() => {
    throw new AuthError(403, 'bad_jwt', 'invalid JWT: unable to parse or verify signature')
  })
}
