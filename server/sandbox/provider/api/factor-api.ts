import { Hono } from 'hono'
import { AuthError } from '../auth-error.ts'
import { sessionResponse, type AuthServices } from '../auth-services.ts'
import { authenticate, isUuid } from './bearer.ts'
import { type Factor, isVerified } from '../accounts/factor.ts'
import { readJsonBody } from './json-body.ts'
import { totpUri } from '../accounts/totp.ts'

/** The routes of the auth API about second factors, relative to `/factors`. */
export function createFactorApi(services: AuthServices): Hono {
  const { config, factors, sessions } = services
  const api = new Hono()

  function findFactor(accountId: string, id: string): Factor {
    if (!isUuid(id)) throw new AuthError(404, 'validation_failed', 'factor_id must be an UUID')
    return factors.find(accountId, id)
  }

  api.post('/', async (c) => {
    const { account, session } = await authenticate(services, c.req.raw)
    const body = await readJsonBody(c.req.raw)
    if (body.text('factor_type') !== 'totp') {
      throw new AuthError(400, 'validation_failed', 'factor_type needs to be totp')
    }
    const hasVerified = factors.list(account.id).some(isVerified)
    if (hasVerified && session.aal !== 'aal2') {
      throw new AuthError(403, 'insufficient_aal', 'AAL2 required to enroll a new factor')
    }
    const factor = factors.enroll(account.id, body.text('friendly_name'))
    const issuer = body.text('issuer') || new URL(config.siteUrl).host
    const totp = {
      qr_code: secretDrawing(factor.secret),
      secret: factor.secret,
      uri: totpUri(factor.secret, issuer, account.email),
    }
    return c.json({ id: factor.id, type: 'totp', friendly_name: factor.friendlyName, totp })
  })

  api.delete('/:id', async (c) => {
    const { account, session } = await authenticate(services, c.req.raw)
    const factor = findFactor(account.id, c.req.param('id'))
    if (factor.status === 'verified' && session.aal !== 'aal2') {
      throw new AuthError(422, 'insufficient_aal', 'AAL2 required to unenroll verified factor')
    }
    factors.unenroll(factor)
    if (!factors.list(account.id).some(isVerified)) sessions.lower(account.id)
    return c.json({ id: factor.id })
  })

  api.post('/:id/challenge', async (c) => {
    const { account } = await authenticate(services, c.req.raw)
    const { id, expiresAt } = factors.challenge(findFactor(account.id, c.req.param('id')))
    return c.json({ id, type: 'totp', expires_at: expiresAt })
  })

  api.post('/:id/verify', async (c) => {
    const { account, session } = await authenticate(services, c.req.raw)
    const factor = findFactor(account.id, c.req.param('id'))
    const body = await readJsonBody(c.req.raw)
    const code = body.text('code')
    if (code === '') throw new AuthError(400, 'validation_failed', 'Code needs to be non-empty')
    const raised = services.database.transaction(() => {
      factors.verify(factor, body.text('challenge_id'), code)
      const session2 = sessions.raise(session.id)
      sessions.endBelowAal2(account.id)
      return session2
    })
    return sessionResponse(services, raised)
  })

  return api
}

/** The real API draws a QR code here; this one writes the secret, to be typed into the app. */
function secretDrawing(secret: string): string {
  return (
    '<svg xmlns="http://www.w3.org/2000/svg" width="320" height="40">' +
    `<text x="8" y="24" font-family="monospace" font-size="14">${secret}</text></svg>`
  )
}
