import { randomUUID } from 'node:crypto'
import { Hono } from 'hono'
import { AuthError } from '../auth-error.ts'
import { type Account, type Factor, hasVerifiedFactor } from '../accounts/account.ts'
import { authenticate, type AuthServices, describeSession } from '../auth-services.ts'
import { readJsonBody, text } from './json-body.ts'
import { encodeBase32, totpUri, verifyTotp } from '../accounts/totp.ts'

const challengeSeconds = 300

interface Challenge {
  factorId: string
  createdAt: number
  isUsed: boolean
}

/** Creates the routes of the auth API for second factors (TOTP), relative to `/factors`. */
export function createFactorApi(services: AuthServices): Hono {
  const { config, runtime, sessions } = services
  // In memory: they take minutes.
  const challenges = new Map<string, Challenge>()
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
    const { id, friendlyName, secret } = enrollFactor(services, account, body.friendly_name)
    const uri = totpUri(secret, body.issuer || new URL(config.siteUrl).host, account.email)
    const totp = { qr_code: secretDrawing(secret), secret, uri }
    return c.json({ id, type: 'totp', friendly_name: friendlyName, totp })
  })

  // Opens a window for codes: wrong ones leave it open, the right one closes it.
  api.post('/:id/challenge', async (c) => {
    const { account } = await authenticate(services, c.req.raw)
    const { id: factorId } = factorOf(account, c.req.param('id'))
    const id = randomUUID()
    const now = runtime.now()
    // Kept for twice its life, so that a late code gets `expired` rather than `not found`.
    for (const [old, { createdAt }] of challenges) {
      if (createdAt < now - 2 * challengeSeconds) challenges.delete(old)
    }
    challenges.set(id, { factorId, createdAt: now, isUsed: false })
    return c.json({ id, type: 'totp', expires_at: now + challengeSeconds })
  })

  api.post('/:id/verify', async (c) => {
    const { account, session } = await authenticate(services, c.req.raw)
    const factor = factorOf(account, c.req.param('id'))
    const body = await readJsonBody(c.req.raw, { code: text, challenge_id: text })
    if (body.code === '') throw new AuthError(400, 'validation_failed', 'Code needs to be non-empty')
    verify(services, factor, challenges.get(body.challenge_id), body.code)
    services.accounts.update(account.id, (changed) => {
      changed.factors = changed.factors.filter(({ id, status }) => id === factor.id || status === 'verified')
      factorOf(changed, factor.id).status = 'verified'
    })
    // As the real API does, names the client of a session again from its next refresh on.
    return c.json(await describeSession(services, { ...sessions.raise(session.id), clientId: undefined }))
  })

  return api
}

/**
 * Adds an unverified factor.
 *
 * @internal
 */
export function enrollFactor(
  { accounts, runtime }: AuthServices,
  { id: accountId, factors }: Account,
  friendlyName: string,
): Factor {
  if (factors.some((factor) => factor.friendlyName === friendlyName)) {
    const message = `A factor with the friendly name ${JSON.stringify(friendlyName)} for this user already exists`
    throw new AuthError(422, 'mfa_factor_name_conflict', message)
  }
  const secret = encodeBase32(runtime.randomBytes(20))
  const factor: Factor = { id: randomUUID(), friendlyName, status: 'unverified', secret }
  accounts.update(accountId, (account) => void account.factors.push(factor))
  return factor
}

function factorOf({ factors }: Account, factorId: string): Factor {
  const factor = factors.find(({ id }) => id === factorId)
  if (factor === undefined) throw new AuthError(404, 'mfa_factor_not_found', 'Factor not found')
  return factor
}

/** Marks the challenge used, or throws. */
function verify(
  { runtime }: AuthServices,
  factor: Factor,
  challenge: Challenge | undefined,
  code: string,
): void {
  const now = runtime.now()
  const refuse = (errorCode: string, message: string): AuthError => new AuthError(422, errorCode, message)
  if (challenge?.factorId !== factor.id) {
    throw refuse('mfa_factor_not_found', 'MFA factor with the provided challenge ID not found')
  }
  if (challenge.isUsed) {
    // The real API returns this code for a used challenge too.
    throw refuse('mfa_ip_address_mismatch', 'Challenge and verify IP addresses mismatch')
  }
  if (now >= challenge.createdAt + challengeSeconds) {
    throw refuse('mfa_challenge_expired', 'MFA challenge has expired, verify against another challenge')
  }
  if (!verifyTotp(factor.secret, code, now)) {
    throw refuse('mfa_verification_failed', 'Invalid TOTP code entered')
  }
  challenge.isUsed = true
}

/** Returns an image with the secret, to type into the app; the real API draws a QR code here. */
function secretDrawing(secret: string): string {
  return (
    '<svg xmlns="http://www.w3.org/2000/svg" width="320" height="40">' +
    `<text x="8" y="24" font-family="monospace" font-size="14">${secret}</text></svg>`
  )
}
