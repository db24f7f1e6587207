import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { SignJWT, UnsecuredJWT } from 'jose'
import { expect, it, type TestContext } from 'vitest'
import { claimsOf, failureOf, signedIn, valueOf } from './driver.ts'
import { skipFor, type Stage } from './stage.ts'

/** Access tokens: whose they are, and which are refused. */
export function tokenCases(stage: () => Stage): void {
  async function accessToken(context: TestContext): Promise<string> {
    const { driver, server } = stage()
    skipFor(context, server.lacks.accounts)
    return signedIn(await driver.signIn(await server.accounts.create())).accessToken
  }

  function part(value: unknown): string {
    return Buffer.from(JSON.stringify(value)).toString('base64url')
  }

  it('of a session names its account', async (context) => {
    const { driver } = stage()
    const token = await accessToken(context)
    expect(valueOf(await driver.verify(token)).sub).toBe(claimsOf(token)['sub'])
  })

  it('with other claims under the same signature is refused', async (context) => {
    const { driver } = stage()
    const token = await accessToken(context)
    const [header, , signature] = token.split('.')
    const forged = `${header}.${part({ ...claimsOf(token), email: 'eve@example.com' })}.${signature}`
    expect(failureOf(await driver.verify(forged))).toBe('invalid_token')
  })

  it.each(['', 'x', 'a.b.c', 'sb_publishable_key'])('%j is none', async (text) => {
    expect(failureOf(await stage().driver.verify(text))).not.toBe('none')
  })

  it('without a signature is refused', async (context) => {
    const { driver } = stage()
    const claims = claimsOf(await accessToken(context))
    expect(failureOf(await driver.verify(new UnsecuredJWT(claims).encode()))).not.toBe('none')
  })

  it('signed with the public key as a shared secret is refused', async (context) => {
    const { driver, wire } = stage()
    const token = await accessToken(context)
    const { body } = await wire('GET', '/.well-known/jwks.json')
    const keys = Array.isArray(body?.['keys']) ? body['keys'].filter(isJsonObject) : []
    if (keys.length === 0) skipFor(context, 'this server publishes no key')
    for (const key of keys) {
      for (const secret of [JSON.stringify(key), String(key['x'] ?? key['n'])]) {
        const forged = await new SignJWT(claimsOf(token))
          .setProtectedHeader({ alg: 'HS256', kid: String(key['kid']) })
          .sign(Buffer.from(secret))
        expect(failureOf(await driver.verify(forged))).not.toBe('none')
      }
    }
  })

  it.for(['anon', 'service_role'])(
    'the %s key is nobody, good as its signature is',
    async (role, context) => {
      const { driver, server } = stage()
      const { jwtSecret = '' } = server
      skipFor(
        context,
        driver.judgesClaims ? undefined : 'this client looks at signature and expiry only',
        jwtSecret === '' ? 'GOTRUE_JWT_SECRET is not set' : undefined,
      )
      const claims = { role, iss: server.token?.issuer ?? 'supabase', aud: 'authenticated' }
      const key = await new SignJWT({ ...claims, sub: crypto.randomUUID() })
        .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
        .setExpirationTime('1h')
        .sign(Buffer.from(jwtSecret))
      expect(failureOf(await driver.verify(key))).toBe('invalid_token')
    },
  )
}
