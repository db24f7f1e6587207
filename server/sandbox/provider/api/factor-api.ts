import { Hono } from 'hono'
import { AuthError } from '../auth-error.ts'
import { hasVerifiedFactor } from '../accounts/account.ts'
import { authenticate, type AuthServices, describeSession } from '../auth-services.ts'
import { readJsonBody, text } from './json-body.ts'
import { totpUri } from '../accounts/totp.ts'

/** Creates the routes of the auth API for second factors, relative to `/factors`. */
export function createFactorApi(services: AuthServices): Hono {
  const { config, factors, sessions } = services
  const api = new Hono()

  api.post('/', async (c) => {
    const { account, session } = await authenticate(services, c.req.raw)
    const shape = { factor_type: text, friendly_name: text, issuer: text }
    const body = await readJsonBody(c.req.raw, shape)
    if (body.factor_type !== 'totp') {
      throw new AuthError(400, 'validation_failed', 'factor_type needs to be totp')
    }
    if (hasVerifiedFactor(account) && session.aal !== 'aal2') {
      throw new AuthError(403, 'insufficient_aal', 'AAL2 required to enroll a new factor')
    }
    const factor = factors.enroll(account, body.friendly_name)
    const issuer = body.issuer || new URL(config.siteUrl).host
    const totp = {
      qr_code: secretDrawing(factor.secret),
      secret: factor.secret,
      uri: totpUri(factor.secret, issuer, account.email),
    }
    return c.json({ id: factor.id, type: 'totp', friendly_name: factor.friendlyName, totp })
  })

  api.post('/:id/challenge', async (c) => {
    const { account } = await authenticate(services, c.req.raw)
    const { id, expiresAt } = factors.challenge(factors.find(account, c.req.param('id')))
    return c.json({ id, type: 'totp', expires_at: expiresAt })
  })

  api.post('/:id/verify', async (c) => {
    const { account, session } = await authenticate(services, c.req.raw)
    const factor = factors.find(account, c.req.param('id'))
    const { code, challenge_id: challengeId } = await readJsonBody(c.req.raw, {
      code: text,
      challenge_id: text,
    })
    if (code === '') throw new AuthError(400, 'validation_failed', 'Code needs to be non-empty')
    factors.verify(account.id, factor, challengeId, code)
    return c.json(await describeSession(services, sessions.raise(session.id)))
  })

  return api
}

/** Returns an image with the secret, to type into the app; the real API draws a QR code here. */
function secretDrawing(secret: string): string {
  return (
    '<svg xmlns="http://www.w3.org/2000/svg" width="320" height="40">' +
    `<text x="8" y="24" font-family="monospace" font-size="14">${secret}</text></svg>`
  )
}
