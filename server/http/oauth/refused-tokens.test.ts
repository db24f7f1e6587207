import { join } from 'node:path'
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { publicClient } from '../../../tests/support/server/core/sign-in-sample.ts'
import {
  account,
  baseUrl,
  type DrawbridgeFixture,
  startDrawbridge,
} from '../../../tests/support/server/drawbridge-fixture.ts'
import { type PostgresServer, startPostgres } from '../../../tests/support/server/postgres-server.ts'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import { signInToWebApp } from '../../../tests/support/server/web-app-session.ts'
import type { Settings } from '../../config/setting-table.ts'
import { removeClientWithGrants } from '../../core/clients/client-removal.ts'
import type { Client } from '../../core/clients/client.ts'
import { hashSecret } from '../../core/seal.ts'
import type { ToolModule } from '../../mcp/tools/tool-module.ts'

// What is refused of the tokens beside OAuth: of services, of their assertions, and of users' own tokens. A row does one thing that
// must not work, in a world where the same without it does.

const secret = 's3cret of the service'
const colleague = { ...account, email: 'grace@example.com' }
const { publicKey, privateKey } = await generateKeyPair('ES256')
const stranger = await generateKeyPair('ES256')
const jwk = { ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256' }

const tools: ToolModule = {
  scopes: { 'notes:read': 'Read', 'notes:write': 'Write' },
  tools: [
    { name: 'list_notes', scope: 'notes:read', call: () => 'listed' },
    { name: 'write', scope: 'notes:write', call: () => 'written' },
    { name: 'hidden', call: () => 'not for services' },
  ],
}

const service = (given: Partial<Client>): Client =>
  publicClient({
    kind: 'service',
    redirectUris: [],
    grantTypes: ['client_credentials'],
    scope: 'mcp notes:read',
    tools: ['list_*', 'write'],
    ...given,
  })

const clients: readonly Client[] = [
  service({ id: 'basic', authMethod: 'client_secret_basic', secretHash: hashSecret(secret) }),
  service({ id: 'signer', authMethod: 'private_key_jwt', keys: { kind: 'jwks', keys: [jwk] } }),
  service({ id: 'twin', authMethod: 'private_key_jwt', keys: { kind: 'jwks', keys: [jwk] } }),
  publicClient({
    id: 'web',
    kind: 'configured',
    authMethod: 'client_secret_basic',
    secretHash: hashSecret(secret),
  }),
]

async function start(settings: Settings = {}): Promise<DrawbridgeFixture> {
  const started = await startDrawbridge({ personalTokens: 'on', ...settings }, undefined, tools)
  for (const client of clients) await started.app.store.addClient(client)
  await started.admin.createUser(colleague)
  return started
}

let server: DrawbridgeFixture
beforeEach(async () => {
  server = await start()
})
afterEach(() => server.close())

const basic = (id = 'basic', password = secret): Record<string, string> => ({
  authorization: `Basic ${btoa(`${encodeURIComponent(id)}:${encodeURIComponent(password)}`)}`,
})

/** Asks the token endpoint, by default as the service does whose secret is right. */
const ask = (fields: Record<string, string> = {}, headers = basic(), at = server): Promise<Response> =>
  at.postForm('/oauth/token', { grant_type: 'client_credentials', ...fields }, headers)

interface Signed {
  claims?: Record<string, unknown>
  header?: { alg: string; kid?: string; typ?: string }
  key?: CryptoKey | Uint8Array
}

const sign = ({ claims, header, key = privateKey }: Signed = {}): Promise<string> =>
  new SignJWT({
    iss: 'signer',
    sub: 'signer',
    aud: baseUrl,
    jti: crypto.randomUUID(),
    iat: server.runtime.now(),
    exp: server.runtime.now() + 60,
    ...claims,
  })
    .setProtectedHeader({ alg: 'ES256', kid: 'k', ...header })
    .sign(key)

const present = (
  assertion: string,
  fields: Record<string, string> = {},
  headers: Record<string, string> = {},
  at = server,
): Promise<Response> =>
  ask(
    {
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: assertion,
      ...fields,
    },
    headers,
    at,
  )

const signed = async (given?: Signed): Promise<Response> => present(await sign(given))

const tokenOf = async (response: Response): Promise<string> => {
  expect(response.status).toBe(200)
  return ((await response.json()) as { access_token: string }).access_token
}

/** Makes a personal token at the connections page. */
async function make(scope: string[] = []): Promise<string> {
  const browser = server.browser()
  const login = await browser.visit(`${baseUrl}/account/connections`)
  const page = await browser.submit(login, 'password', account)
  const again = await browser.submit(page, 'days', { name: 'CI', days: '7', action: 'make_token', scope })
  const made = await browser.submit(again, 'password', account)
  return /mcpt_[\w-]{43}/.exec(made.html)?.[0] ?? ''
}

const call = (bearer: string, name = 'list_notes', path = '/mcp', at = server): Promise<Response> =>
  at.fetch(path, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(bearer !== '' && { authorization: `Bearer ${bearer}` }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } }),
  })

/** What a refusal says: its status, and the OAuth error of its body, else of its challenge. */
async function refusalOf(response: Response): Promise<string> {
  const text = await response.text()
  const challenge = response.headers.get('www-authenticate') ?? ''
  const error = /"error":"(\w+)"/.exec(text)?.[1] ?? /error="(\w+)"/.exec(challenge)?.[1] ?? ''
  return `${response.status} ${error}`.trim()
}

type Row = [what: string, act: () => Promise<Response>, refusal: string]

const serviceRows: Row[] = [
  ['a wrong secret', () => ask({}, basic('basic', 'wrong')), '401 invalid_client'],
  ['no secret', () => ask({ client_id: 'basic' }, {}), '401 invalid_client'],
  ['an unknown id', () => ask({}, basic('mcpc_other')), '401 invalid_client'],
  [
    'its secret in the header and in the form',
    () => ask({ client_id: 'basic', client_secret: secret }),
    '400 invalid_request',
  ],
  [
    'its secret in the URL',
    () =>
      server.postForm(`/oauth/token?client_id=basic&client_secret=${encodeURIComponent(secret)}`, {
        grant_type: 'client_credentials',
      }),
    '401 invalid_client',
  ],
  ['a scope that it has not', () => ask({ scope: 'notes:write' }), '400 invalid_scope'],
  [
    'the resource of another server',
    () => ask({ resource: 'https://other.example/mcp' }),
    '400 invalid_target',
  ],
  ['a code', () => ask({ grant_type: 'authorization_code', code: 'x' }), '400 unauthorized_client'],
  [
    'a refresh token',
    () => ask({ grant_type: 'refresh_token', refresh_token: 'x' }),
    '400 unauthorized_client',
  ],
  ['the secret of a client that is no service', () => ask({}, basic('web')), '400 unsupported_grant_type'],
  [
    'the secret of a removed client',
    async () => {
      await removeClientWithGrants('basic', { store: server.app.store, runtime: server.runtime })
      return ask()
    },
    '401 invalid_client',
  ],
  [
    'a request for a device code',
    () => server.postForm('/oauth/device_authorization', {}, basic()),
    '400 unauthorized_client',
  ],
]

const assertionRows: Row[] = [
  ['for another server', () => signed({ claims: { aud: 'https://other.example' } }), '401 invalid_client'],
  [
    'that another server could present here',
    () => signed({ claims: { aud: [baseUrl, 'https://other.example'] } }),
    '401 invalid_client',
  ],
  ['that has expired', () => signed({ claims: { exp: server.runtime.now() - 31 } }), '401 invalid_client'],
  ['without an end', () => signed({ claims: { exp: undefined } }), '401 invalid_client'],
  [
    'that lasts for hours',
    () => signed({ claims: { exp: server.runtime.now() + 7200 } }),
    '401 invalid_client',
  ],
  [
    'that is not valid yet',
    () => signed({ claims: { nbf: server.runtime.now() + 60 } }),
    '401 invalid_client',
  ],
  ['from the future', () => signed({ claims: { iat: server.runtime.now() + 60 } }), '401 invalid_client'],
  ['without a jti', () => signed({ claims: { jti: undefined } }), '401 invalid_client'],
  ['of another issuer', () => signed({ claims: { iss: 'twin' } }), '401 invalid_client'],
  ['about another client', () => signed({ claims: { sub: 'twin' } }), '401 invalid_client'],
  [
    'for a client that signs with nothing',
    async () => present(await sign({ claims: { iss: 'basic', sub: 'basic' } })),
    '401 invalid_client',
  ],
  ['with a key of a stranger', () => signed({ key: stranger.privateKey }), '401 invalid_client'],
  [
    'signed with the public key as a secret',
    () => signed({ header: { alg: 'HS256' }, key: new TextEncoder().encode(JSON.stringify(jwk)) }),
    '401 invalid_client',
  ],
  [
    'without a signature',
    async () => {
      const [, claims] = (await sign()).split('.')
      return present(`${btoa('{"alg":"none"}').replaceAll('=', '')}.${claims}.`)
    },
    '401 invalid_client',
  ],
  [
    'made for another purpose',
    () => signed({ header: { alg: 'ES256', kid: 'k', typ: 'at+jwt' } }),
    '401 invalid_client',
  ],
  ['beside a secret', async () => present(await sign(), {}, basic()), '400 invalid_request'],
  [
    'of another type',
    async () =>
      present(await sign(), {
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:saml2-bearer',
      }),
    '401 invalid_client',
  ],
  [
    'that was used before',
    async () => {
      const assertion = await sign()
      await tokenOf(await present(assertion))
      return present(assertion)
    },
    '401 invalid_client',
  ],
]

const callRows: Row[] = [
  [
    'a service beyond its scope',
    async () => call(await tokenOf(await ask()), 'write'),
    '403 insufficient_scope',
  ],
  [
    'a service an hour later',
    async () => {
      const bearer = await tokenOf(await ask())
      server.runtime.advance(3601)
      return call(bearer)
    },
    '401 invalid_token',
  ],
  [
    'a service whose client was removed',
    async () => {
      const bearer = await tokenOf(await ask())
      await removeClientWithGrants('basic', { store: server.app.store, runtime: server.runtime })
      return call(bearer)
    },
    '401 invalid_token',
  ],
  [
    'a personal token beyond its scope',
    async () => call(await make(['notes:read']), 'write'),
    '403 insufficient_scope',
  ],
  [
    'a personal token after its last day',
    async () => {
      const bearer = await make(['notes:read'])
      server.runtime.advance(7 * 86_400 + 1)
      return call(bearer)
    },
    '401 invalid_token',
  ],
  [
    'a personal token of an ended person',
    async () => {
      const bearer = await make(['notes:read'])
      const [record] = await server.app.store.listGrants(
        { clientId: 'personal_token:CI' },
        { after: '', limit: 1 },
      )
      const choice = { userId: record?.grant.user.id ?? '' }
      await server.app.store.endGrants(choice, 'revoked_by_user', { now: server.runtime.now(), limit: 9 })
      return call(bearer)
    },
    '401 invalid_token',
  ],
  [
    'a personal token with another checksum',
    async () => call((await make(['notes:read'])).replace(/.$/, (last) => (last === '0' ? '1' : '0'))),
    '401 invalid_token',
  ],
  [
    'a personal token in the URL',
    async () => call('', 'list_notes', `/mcp?access_token=${await make(['notes:read'])}`),
    '401 unauthorized',
  ],
  [
    'a personal token of another server',
    async () => {
      const bearer = await make(['notes:read'])
      const elsewhere = await start()
      try {
        return await call(bearer, 'list_notes', '/mcp', elsewhere)
      } finally {
        await elsewhere.close()
      }
    },
    '401 invalid_token',
  ],
]

const sameStoreElsewhere: Row[] = ['service', 'personal token'].map((kind) => [
  kind,
  async () => {
    await server.close()
    const shared = { personalTokens: 'on', store: `sqlite:${join(temporaryFolder(), 'server.db')}` }
    server = await start(shared)
    const bearer = kind === 'service' ? await tokenOf(await ask()) : await make(['notes:read'])
    for (const [address, status] of [
      [baseUrl, 200],
      ['http://localhost:9999', 401],
    ] as const) {
      await server.close()
      server = await startDrawbridge({ ...shared, baseUrl: address }, undefined, tools)
      expect((await call(bearer)).status).toBe(status)
    }
    return call(bearer)
  },
  '401 invalid_token',
])

const otherUses: Row[] = [
  [
    'as a refresh token',
    async () => server.refresh('web', await make(), { client_secret: secret }),
    '400 invalid_grant',
  ],
  [
    'as a code',
    async () => server.redeem('web', await make(), { client_secret: secret }),
    '400 invalid_grant',
  ],
  ['as the secret of a client', async () => ask({}, basic('basic', await make())), '401 invalid_client'],
  [
    'at the API of the connections page',
    async () =>
      server.fetch('/account/api/connections', { headers: { authorization: `Bearer ${await make()}` } }),
    '401 invalid_token',
  ],
]

describe('refused tokens beside OAuth', () => {
  it('what the rows change works without the change', async () => {
    expect(await call(await tokenOf(await ask())).then(({ status }) => status)).toBe(200)
    expect(await call(await tokenOf(await signed())).then(({ status }) => status)).toBe(200)
    expect(await call(await make(['notes:read'])).then(({ status }) => status)).toBe(200)
  })

  it.each(serviceRows)('the token endpoint refuses a service with %s', async (_what, act, refusal) => {
    expect(await refusalOf(await act())).toBe(refusal)
  })

  it.each(assertionRows)('the token endpoint refuses an assertion %s', async (_what, act, refusal) => {
    expect(await refusalOf(await act())).toBe(refusal)
  })

  it.each(callRows)('/mcp refuses a call of %s', async (_what, act, refusal) => {
    expect(await refusalOf(await act())).toBe(refusal)
  })

  it.each(sameStoreElsewhere)(
    'a server at another address refuses the token of a %s in the same store',
    async (_what, act, refusal) => {
      expect(await refusalOf(await act())).toBe(refusal)
    },
  )

  it.each(otherUses)('a personal token is refused %s', async (_what, act, refusal) => {
    expect(await refusalOf(await act())).toBe(refusal)
  })

  it('/mcp offers a service no tool beyond its own', async () => {
    const response = await call(await tokenOf(await ask()), 'hidden')
    expect(await response.text()).toContain('There is no tool')
  })

  it('a colleague neither sees nor ends a personal token', async () => {
    const bearer = await make(['notes:read'])
    const { access_token } = await signInToWebApp(server, colleague.email)
    const headers = { authorization: `Bearer ${access_token}` }
    const list = await server.fetch('/account/api/connections', { headers })
    expect(await list.json()).toMatchObject({ connections: [] })
    const [record] = await server.app.store.listGrants(undefined, { after: '', limit: 1 })
    const end = { method: 'DELETE', headers }
    expect((await server.fetch(`/account/api/connections/${record?.grant.id}`, end)).status).toBe(404)
    expect((await call(bearer)).status).toBe(200)
  })

  it('another client neither reads nor ends a personal token', async () => {
    const bearer = await make(['notes:read'])
    const introspection = await server.postForm('/oauth/introspect', { token: bearer }, basic('web'))
    expect(await introspection.text()).not.toContain(account.email)
    expect((await server.postForm('/oauth/revoke', { token: bearer }, basic('web'))).status).toBe(200)
    expect((await call(bearer)).status).toBe(200)
  })

  it('a hundred guesses at once find no secret of a service, and do not lock it out', async () => {
    const guesses = await Promise.all(
      Array.from({ length: 100 }, (_, index) => ask({}, basic('basic', `guess ${index}`))),
    )
    expect(new Set(guesses.map(({ status }) => status)).has(200)).toBe(false)
    expect((await ask()).status).toBe(200)
  })
})

describe('refused tokens beside OAuth at two instances', () => {
  let postgres: PostgresServer
  beforeAll(async () => {
    postgres = await startPostgres()
  })
  afterAll(() => postgres.close())

  it('an assertion that is presented to both at the same moment counts once', async () => {
    const settings = {
      store: await postgres.createDatabase(),
      secretKeys: `a:${Buffer.alloc(32, 1).toString('base64')}`,
    }
    const first = await start(settings)
    const second = await startDrawbridge(settings, undefined, tools)
    try {
      for (let round = 0; round < 5; round += 1) {
        const assertion = await sign({ claims: { jti: `round ${round}` } })
        const answers = await Promise.all([first, second].map((at) => present(assertion, {}, {}, at)))
        expect(answers.map(({ status }) => status).toSorted((one, two) => one - two)).toEqual([200, 401])
      }
    } finally {
      await Promise.all([first.close(), second.close()])
    }
  })
})
