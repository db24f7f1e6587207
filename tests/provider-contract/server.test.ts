import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type ContractServer, openContractServer } from './contract-server.ts'
import { skipFor } from './stage.ts'
import { targets } from './target.ts'
import { codeOf, textOf, type Wire } from './wire.ts'

describe.each(targets)('the wire at $name', (target) => {
  let server: ContractServer
  let wire: Wire
  beforeAll(async () => {
    server = await openContractServer(target)
  })
  afterAll(async () => {
    await server?.close()
  })
  beforeEach(() => {
    wire = server.wire()
  })

  const signIn = (account: { email: string; password: string }, apiVersion?: string | null) =>
    wire('POST', '/token?grant_type=password', {
      body: { email: account.email, password: account.password },
      ...(apiVersion !== undefined && { apiVersion }),
    })

  describe('documents that anybody may read', () => {
    it('the settings document lists the methods of signing in', async () => {
      const { status, body } = await wire('GET', '/settings')
      expect(status).toBe(200)
      expect(body).toMatchObject({
        external: { email: expect.any(Boolean), google: expect.any(Boolean) },
        disable_signup: expect.any(Boolean),
        mailer_autoconfirm: expect.any(Boolean),
        saml_enabled: expect.any(Boolean),
      })
    })

    it('the health document names the software', async () => {
      const { status, body } = await wire('GET', '/health')
      expect(status).toBe(200)
      expect(body).toMatchObject({
        version: expect.any(String),
        name: expect.any(String),
        description: expect.any(String),
      })
    })

    it('the key document has public keys only, each with a kid', async () => {
      const { status, body } = await wire('GET', '/.well-known/jwks.json')
      expect(status).toBe(200)
      const keys = Array.isArray(body?.['keys']) ? body['keys'].filter(isJsonObject) : undefined
      expect(keys).toBeDefined()
      for (const key of keys ?? []) {
        expect(key).toMatchObject({ kid: expect.any(String), kty: expect.stringMatching(/^(?:EC|RSA|OKP)$/) })
        expect(key).not.toHaveProperty('d')
      }
      if (server.token && server.token.algorithm !== 'HS256') expect(keys).not.toEqual([])
    })
  })

  describe('an error', () => {
    it.for<[version: string | null, named: boolean]>([
      ['2024-01-01', true],
      [null, false],
    ])(
      'an error for API version %s has its code where that version has it',
      async ([version, isNamed], context) => {
        skipFor(context, server.lacks.accounts)
        const answer = await signIn({ email: 'nobody@example.com', password: 'wrong' }, version)
        expect(answer.status).toBe(400)
        expect(answer.body).toMatchObject(
          isNamed
            ? { code: 'invalid_credentials', message: expect.any(String) }
            : { code: 400, error_code: 'invalid_credentials', msg: expect.any(String) },
        )
        // Without this header, current clients do not read the code.
        expect(answer.headers.get('x-supabase-api-version')).toBe(isNamed ? '2024-01-01' : null)
      },
    )

    it('the error of a ban comes before the password is checked', async (context) => {
      skipFor(context, server.lacks.admin)
      const { email, password } = await server.accounts.create({ banned: true })
      for (const given of [password, 'something else']) {
        expect(codeOf(await signIn({ email, password: given }))).toBe('user_banned')
      }
    })

    it('the error of an unknown grant is a clear refusal', async () => {
      const { status } = await wire('POST', '/token?grant_type=magic', { body: {} })
      expect(status).toBe(400)
    })
  })

  describe('a session on the wire', () => {
    it('a session has both tokens, its user, and an end that its access token agrees with', async (context) => {
      skipFor(context, server.lacks.accounts)
      const account = await server.accounts.shared()
      const { status, body } = await signIn(account)
      expect(status).toBe(200)
      expect(body).toMatchObject({
        access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
        token_type: 'bearer',
        expires_in: expect.any(Number),
        expires_at: expect.any(Number),
        refresh_token: expect.any(String),
        user: { id: account.id, email: account.email },
      })
      const ends = Math.floor(Date.now() / 1000) + Number(body?.['expires_in'])
      expect(Math.abs(Number(body?.['expires_at']) - ends)).toBeLessThan(120)
    })

    const over = '403 session_not_found'
    it.for([
      ['local', over, '200 undefined'],
      ['global', over, over],
    ])(
      'a session signed out with scope %s: at /user this one is %s, the other %s',
      async ([scope, ...expected], context) => {
        skipFor(context, server.lacks.accounts)
        const account = await server.accounts.create()
        const tokens = [
          textOf(await signIn(account), 'access_token'),
          textOf(await signIn(account), 'access_token'),
        ]
        expect((await wire('POST', `/logout?scope=${scope}`, { bearer: tokens[0] ?? '' })).status).toBe(204)
        const states = []
        for (const bearer of tokens) {
          const user = await wire('GET', '/user', { bearer })
          states.push(`${user.status} ${String(codeOf(user))}`)
        }
        expect(states).toEqual(expected)
      },
    )

    it('a request without a token or with a bad one is refused by name', async () => {
      const none = await wire('GET', '/user')
      // A gateway may mistake the API key for the token.
      expect(['401 no_authorization', '403 bad_jwt']).toContain(`${none.status} ${String(codeOf(none))}`)
      const bad = await wire('GET', '/user', { bearer: 'a.b.c' })
      expect([bad.status, codeOf(bad)]).toEqual([403, 'bad_jwt'])
    })
  })

  it('the API of operators refuses a missing token and a user', async (context) => {
    skipFor(context, server.lacks.accounts)
    expect([401, 403]).toContain((await wire('GET', '/admin/users')).status)
    const answer = await wire('GET', '/admin/users', { bearer: server.token?.sample ?? '' })
    expect([answer.status, codeOf(answer)]).toEqual([403, 'not_admin'])
  })
})
