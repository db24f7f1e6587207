import { AuthError } from './auth-error.ts'
import type { AuthServices } from './auth-services.ts'
import { requireAdmin } from './bearer.ts'
import type { JsonBody } from './json-body.ts'

/**
 * Refuses a request without the good captcha token, while one is asked for. Nobody outside is asked: the token is
 * compared. An operator's request needs none.
 */
export async function checkCaptcha(services: AuthServices, request: Request, body: JsonBody): Promise<void> {
  const { captchaToken } = services
  if (captchaToken === undefined) return
  const given = body.object('gotrue_meta_security')?.['captcha_token']
  if (given === captchaToken) return
  const isAdmin = await requireAdmin(services, request).then(
    () => true,
    () => false,
  )
  if (isAdmin) return
  const reason =
    typeof given === 'string' && given !== '' ? 'invalid-input-response' : 'no captcha_token found'
  throw new AuthError(400, 'captcha_failed', `captcha protection: request disallowed (${reason})`)
}
