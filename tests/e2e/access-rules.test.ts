import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Settings } from '../../server/config/setting-table.ts'
import type { ToolModule } from '../../server/mcp/tools/tool-module.ts'
import { type Browser, createBrowser, type Visit } from '../support/server/browser.ts'
import {
  account,
  baseUrl,
  type DrawbridgeFixture,
  startDrawbridge,
  type Tokens,
} from '../support/server/drawbridge-fixture.ts'
import { createFakeRuntime } from '../support/server/fake-runtime.ts'
import { oidcAccount, oidcClient, type OidcServer, startOidcServer } from '../support/server/oidc-server.ts'
import { sessionCookieHeader, signInToWebApp } from '../support/server/web-app-session.ts'
import { scopes, tools } from './scoped-tools.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

type Outcome = 'let in' | 'refused'

let drawbridge: DrawbridgeFixture
let id: OidcServer
let groups: readonly string[]

beforeAll(async () => {
  id = await startOidcServer({ callbackUrl: `${baseUrl}/oauth/callback`, groups: () => groups })
})
afterAll(() => id.close())
beforeEach(() => {
  groups = ['staff', 'makers']
})

const file = join(temporaryFolder(afterAll), 'access.json')

/** Puts `rules` in force: the server follows its file. */
function apply(rules: readonly object[]): void {
  writeFileSync(file, JSON.stringify({ rules }))
  drawbridge.runtime.advance(1)
}

/** Starts a server that lets everybody in. */
async function start(module?: ToolModule): Promise<void> {
  writeFileSync(file, JSON.stringify({ rules: [{ allow: {} }] }))
  drawbridge = await startDrawbridge({ access: file, accessTokenTtl: '2h' }, createFakeRuntime(), module)
}

/** Starts a server with a real OpenID provider, reached over sockets, that lets in whom `rules` do. */
async function startAtOidc(rules: readonly object[], settings: Settings = {}): Promise<void> {
  writeFileSync(file, JSON.stringify({ rules }))
  drawbridge = await startDrawbridge(
    {
      access: file,
      provider: 'oidc',
      providerUrl: id.issuer,
      providerClientId: oidcClient.id,
      providerClientSecret: oidcClient.secret,
      providerScope: 'openid email profile offline_access groups',
      providerParameters: 'prompt=consent',
      secretKeys: `test:${Buffer.alloc(32, 7).toString('base64')}`,
      ...settings,
    },
    { ...createFakeRuntime(), fetch: (request, options) => fetch(request, options) },
  )
}

/** Opens a browser that reaches the server and the OpenID provider. */
function oidcBrowser(): Browser {
  return createBrowser((request) => {
    const { origin } = new URL(request.url)
    if (origin === id.issuer) return fetch(request)
    return origin === baseUrl ? drawbridge.app.fetch(request) : undefined
  })
}

async function signInAtOidc(clientId: string): Promise<Visit> {
  const browser = oidcBrowser()
  const page = await browser.visit(drawbridge.authorizeUrl(clientId))
  const away = await browser.submit(page, 'provider', { provider: 'oidc' })
  return browser.submit(away, 'login', { login: oidcAccount.sub })
}

async function connectAtOidc(): Promise<string> {
  const { client_id: clientId } = await drawbridge.register()
  const { url } = await signInAtOidc(clientId)
  const redeemed = await drawbridge.redeem(clientId, url.searchParams.get('code') ?? '')
  return ((await redeemed.json()) as Tokens).access_token
}

const listTools = { jsonrpc: '2.0', id: 1, method: 'tools/list' }

async function call(credential: Record<string, string>): Promise<Outcome> {
  const { status } = await drawbridge.mcp(listTools, credential)
  expect([200, 401, 403]).toContain(status)
  return status === 200 ? 'let in' : 'refused'
}

/** Returns where a sign-in ended: at the client with a code, or on an error page. */
function outcomeOf({ url, response, html }: Visit): Outcome {
  if (response === undefined && url.searchParams.has('code')) return 'let in'
  expect(response?.status).toBe(403)
  expect(html).toContain('This account may not connect here.')
  // The page's text does not say why.
  expect(html.replaceAll(/<style>.*?<\/style>|<[^>]*>/gs, '')).not.toMatch(/access\.json|\brules?\b/)
  return 'refused'
}

/** Expects that whom every condition of a rule fits comes in that way, and whom one of them does not fit does not. */
async function expectJudged(
  fitting: { sub: string; provider: string; claim: object },
  comeIn: (inForce: () => void) => Promise<Outcome>,
): Promise<void> {
  const { sub, provider, claim } = fitting
  const allow = { email: ['ada@*'], sub: [sub], provider: ['x', provider], claim }
  const other = { ...allow, claim: { ...claim, 'app_metadata.role': ['admin'] } }
  expect(await comeIn(() => apply([{ allow }]))).toBe('let in')
  apply([{ allow: {} }])
  expect(await comeIn(() => apply([{ allow: other }]))).toBe('refused')
}

/** Rules that come into force while a caller with a credential arrives. */
const ways: Record<string, (inForce: () => void) => Promise<Outcome>> = {
  async 'provider bearer'(inForce) {
    inForce()
    return call({ authorization: `Bearer ${(await signInToWebApp(drawbridge)).access_token}` })
  },
  async cookie(inForce) {
    inForce()
    return call({ cookie: sessionCookieHeader(await signInToWebApp(drawbridge)), origin: baseUrl })
  },
  async 'open connection'(inForce) {
    const { tokens } = await drawbridge.connect()
    inForce()
    return call({ authorization: `Bearer ${tokens.access_token}` })
  },
  async refresh(inForce) {
    const { tokens } = await drawbridge.connect()
    inForce()
    drawbridge.runtime.advance(3601)
    const before = drawbridge.admin.counters.rotations
    const outcome = await call({ authorization: `Bearer ${tokens.access_token}` })
    expect(drawbridge.admin.counters.rotations).toBe(before + 1)
    return outcome
  },
}

// Those by a form are in server/http/login.
describe('a way in that begins at the provider or with a credential', () => {
  afterEach(() => drawbridge.close())

  it('a sign-in by OpenID Connect is judged by the rules in force', async () => {
    await startAtOidc([])
    const ada = { sub: oidcAccount.sub, provider: id.issuer, claim: { groups: ['makers'] } }
    await expectJudged(ada, async (inForce) => {
      inForce()
      return outcomeOf(await signInAtOidc((await drawbridge.register()).client_id))
    })
  })

  it.each(Object.entries(ways))('%s is judged by the rules in force', async (_way, comeIn) => {
    await start()
    const sub = drawbridge.admin.findUser(account.email)?.id ?? ''
    await expectJudged({ sub, provider: 'email', claim: { 'app_metadata.provider': ['email'] } }, comeIn)
  })
})

describe('ends a connection of a person whom the rules no longer admit', () => {
  afterEach(() => drawbridge.close())

  it('the connection of a person whom the rules no longer admit ends, with its session, and the client has to sign in again', async () => {
    await start()
    const { clientId, tokens } = await drawbridge.connect()
    expect(await call({ authorization: `Bearer ${tokens.access_token}` })).toBe('let in')
    apply([])
    const refused = await drawbridge.mcp(listTools, { authorization: `Bearer ${tokens.access_token}` })
    expect(refused.status).toBe(401)
    expect(refused.headers.get('www-authenticate')).toContain('This account may not connect any more.')
    expect(drawbridge.logged()).toContain('"reason":"access_rule"')
    const refreshed = await drawbridge.refresh(clientId, tokens.refresh_token)
    expect(await refreshed.json()).toMatchObject({ error: 'invalid_grant' })
    const now = drawbridge.runtime.now()
    expect(await drawbridge.app.store.claimSignOuts({ limit: 10, until: now + 60 }, now)).toHaveLength(1)
    // The rules may admit that user again; an ended connection stays ended.
    apply([{ allow: {} }])
    expect(await call({ authorization: `Bearer ${tokens.access_token}` })).toBe('refused')
  })

  const makers = [{ allow: { claim: { groups: ['makers'] } } }]

  it('a connection ends within SESSION_CHECK when the person loses a group at a real OpenID provider, and not while that is down', async () => {
    await startAtOidc(makers, { sessionCheck: '60' })
    const authorization = `Bearer ${await connectAtOidc()}`
    expect(await call({ authorization })).toBe('let in')
    const { fetch: earlierFetch } = drawbridge.runtime
    drawbridge.runtime.fetch = () => Promise.reject(new Error('down'))
    drawbridge.runtime.advance(61)
    expect(await call({ authorization })).toBe('let in')
    drawbridge.runtime.fetch = earlierFetch
    groups = ['staff']
    drawbridge.runtime.advance(61)
    expect(await call({ authorization })).toBe('refused')
    expect(drawbridge.logged()).toContain('"reason":"access_rule"')
  })

  it('a token of the provider is refused when userinfo no longer names the group', async () => {
    const audience = 'https://api.example.com'
    await startAtOidc(makers, { sessionCheck: '60', providerAudience: audience })
    let opaque = ''
    drawbridge.runtime.fetch = async (request, options) => {
      const response = await fetch(request, options)
      if (new URL(request.url).pathname === '/token') {
        ;({ access_token: opaque } = (await response.clone().json()) as Tokens)
      }
      return response
    }
    await connectAtOidc()
    const now = drawbridge.runtime.now()
    const claims = {
      iss: id.issuer,
      aud: audience,
      sub: oidcAccount.sub,
      scope: 'openid groups',
      iat: now,
      exp: now + 3600,
      groups,
    }
    const authorization = `Bearer ${await id.signAccessToken(opaque, claims)}`
    expect(await call({ authorization })).toBe('let in')
    groups = []
    expect(await call({ authorization })).toBe('let in')
    drawbridge.runtime.advance(61)
    expect(await call({ authorization })).toBe('refused')
    expect(drawbridge.logged()).toContain('"reason":"no_rule"')
    groups = ['makers']
    drawbridge.runtime.advance(61)
    expect(await call({ authorization })).toBe('let in')
  })
})

describe('a rule that gives some scopes only', () => {
  afterEach(() => drawbridge.close())

  it('a rule with scopes limits connections and provider tokens to its scopes and tools', async () => {
    await start({ scopes, tools })
    const { client_id: clientId } = await drawbridge.register()
    const scope = 'mcp orders:write'
    const { url } = await drawbridge.signIn(clientId, drawbridge.browser(), { scope })
    const redeemed = await drawbridge.redeem(clientId, url.searchParams.get('code') ?? '')
    const connection = (await redeemed.json()) as Tokens
    const { access_token: webToken } = await signInToWebApp(drawbridge)
    const credentials = [connection.access_token, webToken]
    const held = (): Promise<string[]> =>
      Promise.all(credentials.map(async (token) => (await drawbridge.callTool(token, 'say_scope')).text))
    expect(await held()).toEqual([scope, 'mcp orders:read orders:write'])
    apply([{ allow: {}, scopes: ['mcp', 'orders:read'] }])
    expect(await held()).toEqual(['mcp', 'mcp orders:read'])
    for (const token of credentials) {
      const authorization = `Bearer ${token}`
      const params = { name: 'cancel_order', arguments: {} }
      const refused = await drawbridge.mcp({ ...listTools, method: 'tools/call', params }, { authorization })
      expect(await refused.json()).toHaveProperty('error')
    }
  })
})

describe('the file of rules', () => {
  afterEach(() => drawbridge.close())

  it('the server keeps the rules in force when their file becomes faulty, and logs that', async () => {
    await start()
    const { tokens } = await drawbridge.connect()
    const authorization = `Bearer ${tokens.access_token}`
    for (const text of ['{"rules":[{"alow":{}}]}', '{', '']) {
      writeFileSync(file, text)
      drawbridge.runtime.advance(1)
      expect(await call({ authorization })).toBe('let in')
    }
    expect(drawbridge.logged()).toContain('Did you mean allow?')
    rmSync(file)
    drawbridge.runtime.advance(1)
    expect(await call({ authorization })).toBe('let in')
    expect(drawbridge.logged().match(/"event":"access_file_unusable"/g)).toHaveLength(4)
    apply([])
    expect(await call({ authorization })).toBe('refused')
  })
})
