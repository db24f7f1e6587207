import type { JWTPayload } from 'jose'
import type { Account } from '../accounts/account.ts'
import { AuthError } from '../auth-error.ts'
import type { AuthServices } from '../auth-services.ts'
import type { Session } from '../sessions/session.ts'

/**
 * Returns account and session of the `Authorization` header. Unlike a check of the token alone it detects sign-out, ban and
 * deletion at once.
 */
export async function authenticate(
  services: AuthServices,
  request: Request,
): Promise<{ account: Account; session: Session }> {
  const claims = await readClaims(services, request)
  const account = services.accounts.get(String(claims.sub))
  const session = services.sessions.find(String(claims['session_id']))
  if (session === undefined || session.accountId !== account.id) {
    throw new AuthError(403, 'session_not_found', 'Session from session_id claim in JWT does not exist')
  }
  services.accounts.refuseBanned(account)
  return { account, session }
}

/** Returns the claims of the token in the `Authorization` header, with signature and expiry checked. */
export async function readClaims(services: AuthServices, request: Request): Promise<JWTPayload> {
  const token = /^bearer\s+(\S+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]
  if (token === undefined) {
    throw new AuthError(401, 'no_authorization', 'This endpoint requires a valid Bearer token')
  }
  return services.keys.verify(token).catch(() => {
    throw new AuthError(403, 'bad_jwt', 'invalid JWT: unable to parse or verify signature')
  })
}
