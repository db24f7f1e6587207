import type { Account } from '../accounts/account.ts'
import { AuthError } from '../auth-error.ts'
import type { AuthServices } from '../auth-services.ts'
import type { Session } from '../sessions/session.ts'

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
