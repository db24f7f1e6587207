import type { Account } from './account.ts'
import { AuthError } from './auth-error.ts'
import type { AuthServices } from './auth-services.ts'
import type { Session } from './session.ts'
import { isUuid } from './uuid.ts'

/** Who sent a request, by its access token. */
export interface Bearer {
  account: Account
  session: Session
}

/**
 * Account and session behind the `Authorization` header. Unlike a check of the token alone it notices sign-out, ban and
 * deletion at once.
 */
export async function authenticate(services: AuthServices, request: Request): Promise<Bearer> {
  const token = /^bearer\s+(\S+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]
  if (token === undefined) {
    throw new AuthError(401, 'no_authorization', 'This endpoint requires a valid Bearer token')
  }
  const claims = await services.keys.verify(token).catch(() => {
    throw new AuthError(403, 'bad_jwt', 'invalid JWT: unable to parse or verify signature')
  })
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
