import { createHmac } from 'node:crypto'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { expect, it, type TestContext } from 'vitest'
import { claimsOf, failureOf, valueOf } from './driver.ts'
import { skipFor, type Stage } from './stage.ts'

/** Creates a JWT signed with a shared secret; an empty one leaves it unsigned. */
function signToken(
  claims: Record<string, unknown>,
  secret: string,
  header: Record<string, unknown> = {},
): string {
  const alg = secret === '' ? 'none' : 'HS256'
  const signed = `${part({ alg, typ: 'JWT', ...header })}.${part(claims)}`
  const signature = secret === '' ? '' : createHmac('sha256', secret).update(signed).digest('base64url')
  return `${signed}.${signature}`
}

function part(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

/** Cases of access tokens: their users, and which are rejected. */
export function tokenCases(stage: () => Stage): void {
  function sampleToken(context: TestContext): string {
    const { server } = stage()
    skipFor(context, server.lacks.accounts)
    return server.token?.sample ?? ''
  }

  it('an access token of a session names its account', async (context) => {
    const { driver } = stage()
    const token = sampleToken(context)
    expect(valueOf(await driver.verify(token)).sub).toBe(claimsOf(token)['sub'])
  })

  it('an access token with other claims under the same signature is refused', async (context) => {
    const { driver } = stage()
    const token = sampleToken(context)
    const [header, , signature] = token.split('.')
    const forged = `${header}.${part({ ...claimsOf(token), email: 'eve@example.com' })}.${signature}`
    expect(failureOf(await driver.verify(forged))).toBe('invalid_token')
  })

  it.each(['', 'x', 'a.b.c', 'sb_publishable_key'])('the access token %j is refused', async (text) => {
    expect(failureOf(await stage().driver.verify(text))).not.toBe('none')
  })

  it('an access token without a signature is refused', async (context) => {
    const { driver } = stage()
    const claims = claimsOf(sampleToken(context))
    expect(failureOf(await driver.verify(signToken(claims, '')))).not.toBe('none')
  })

  it('an access token signed with the public key as a shared secret is refused', async (context) => {
    const { driver, wire } = stage()
    const token = sampleToken(context)
    const { body } = await wire('GET', '/.well-known/jwks.json')
    const keys = Array.isArray(body?.['keys']) ? body['keys'].filter(isJsonObject) : []
    if (keys.length === 0) skipFor(context, 'this server publishes no key')
    for (const key of keys) {
      for (const secret of [JSON.stringify(key), String(key['x'] ?? key['n'])]) {
        const forged = signToken(claimsOf(token), secret, { kid: key['kid'] })
        expect(failureOf(await driver.verify(forged))).not.toBe('none')
      }
    }
  })

  it.for(['anon', 'service_role'])(
    'the %s key is not a user, despite its valid signature',
    async (role, context) => {
      const { driver, server } = stage()
      const { jwtSecret = '' } = server
      skipFor(
        context,
        driver.judgesClaims ? undefined : 'this client looks at signature and expiry only',
        jwtSecret === '' ? 'GOTRUE_JWT_SECRET is not set' : undefined,
      )
      const claims = { role, iss: server.token?.issuer ?? 'supabase', aud: 'authenticated' }
      const exp = Math.floor(Date.now() / 1000) + 3600
      const key = signToken({ ...claims, sub: crypto.randomUUID(), exp }, jwtSecret)
      expect(failureOf(await driver.verify(key))).toBe('invalid_token')
    },
  )
}
