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
  redirectUri,
  startDrawbridge,
  type Tokens,
} from '../support/server/drawbridge-fixture.ts'
import { createFakeRuntime } from '../support/server/fake-runtime.ts'
import { oidcAccount, oidcClient, type OidcServer, startOidcServer } from '../support/server/oidc-server.ts'
import { sessionCookieHeader, signInToWebApp } from '../support/server/web-app-session.ts'
import { type DocumentServer, startDocumentServer } from './document-server.ts'
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

describe('a rule about a client', () => {
  let site: DocumentServer | undefined
  afterEach(async () => {
    await drawbridge.close()
    await site?.close()
    site = undefined
  })

  const authorize = ({ access_token: token }: Tokens) => ({ authorization: `Bearer ${token}` })
  const deny = (client: string): object[] => [{ deny: { client: [client] } }, { allow: {} }]

  it('a blocked client loses its connection at the next call, and the same person goes on with another one', async () => {
    await start()
    const [blocked, other] = [await drawbridge.connect(), await drawbridge.connect()]
    for (const { tokens } of [blocked, other]) expect(await call(authorize(tokens))).toBe('let in')
    apply(deny(blocked.clientId))
    expect(await call(authorize(other.tokens))).toBe('let in')
    expect(await call(authorize(blocked.tokens))).toBe('refused')
    const ended = { client_id: blocked.clientId, reason: 'access_rule' }
    expect(drawbridge.events('grant_ended')).toMatchObject([ended])
    const refused = await drawbridge.refresh(blocked.clientId, blocked.tokens.refresh_token)
    expect(await refused.json()).toMatchObject({ error: 'invalid_grant' })
    // The session of the other connection is not signed out, and is refreshed at the provider.
    const now = drawbridge.runtime.now()
    const due = await drawbridge.app.store.claimSignOuts({ limit: 10, until: now + 60 }, now)
    expect(due.map(({ session }) => session.grantId)).toEqual([
      drawbridge.events('grant_ended')[0]?.['grant_id'],
    ])
    drawbridge.runtime.advance(7201)
    const refreshed = await drawbridge.refresh(other.clientId, other.tokens.refresh_token)
    expect(await call(authorize((await refreshed.json()) as Tokens))).toBe('let in')
    expect(drawbridge.events('grant_ended')).toHaveLength(1)
  })

  it('a blocked client loses its connection, and the other keeps the session that a provider gives only once', async () => {
    await startAtOidc([{ allow: {} }], { providerSessions: 'one' })
    const clients: string[] = []
    const connect = async (): Promise<Tokens> => {
      const { client_id: clientId } = await drawbridge.register()
      clients.push(clientId)
      const { url } = await signInAtOidc(clientId)
      return (await (await drawbridge.redeem(clientId, url.searchParams.get('code') ?? '')).json()) as Tokens
    }
    const [blocked, other] = [await connect(), await connect()]
    apply(deny(clients[0] ?? ''))
    expect(await call(authorize(blocked))).toBe('refused')
    drawbridge.runtime.advance(3601)
    const refreshed = await drawbridge.refresh(clients[1] ?? '', other.refresh_token)
    expect(await call(authorize((await refreshed.json()) as Tokens))).toBe('let in')
  })

  it('a blocked client gets no code, while the same browser signs in for another one', async () => {
    await start()
    const [blocked, other] = [await drawbridge.register(), await drawbridge.register()]
    apply(deny(blocked.client_id))
    const browser = drawbridge.browser()
    expect(outcomeOf(await drawbridge.signIn(blocked.client_id, browser))).toBe('refused')
    expect(drawbridge.events('access_denied')).toMatchObject([
      { client_id: blocked.client_id, rule: 1, reason: 'deny_rule' },
    ])
    expect(outcomeOf(await drawbridge.signIn(other.client_id, browser))).toBe('let in')
  })

  it('a client with a metadata document is blocked by the host of its id, and by no other host', async () => {
    await start()
    site = await startDocumentServer()
    const { host } = new URL(site.origin.replace('127.0.0.1', 'localhost'))
    const clientId = `http://${host}/client.json`
    site.publish('/client.json', { client_id: clientId, client_name: 'Quill', redirect_uris: [redirectUri] })
    apply(deny('other.example'))
    const redeemed = await drawbridge.redeem(clientId, await drawbridge.code(clientId))
    const tokens = (await redeemed.json()) as Tokens
    expect(await call(authorize(tokens))).toBe('let in')
    apply(deny('Quill'))
    expect(await call(authorize(tokens))).toBe('let in')
    apply(deny(host))
    expect(outcomeOf(await drawbridge.signIn(clientId))).toBe('refused')
    expect(await call(authorize(tokens))).toBe('refused')
  })

  it('a confined client gets the scopes and tools of its rule at the next call, and others keep theirs', async () => {
    await start({ scopes, tools })
    const scope = 'mcp orders:read orders:write'
    const [confined, other] = [await drawbridge.connect({ scope }), await drawbridge.connect({ scope })]
    const toolsOf = async ({ tokens }: typeof other): Promise<string[]> => {
      const answer = await drawbridge.mcp(listTools, authorize(tokens))
      const { result } = (await answer.json()) as { result: { tools: { name: string }[] } }
      return result.tools.map(({ name }) => name).toSorted()
    }
    const all = tools.map(({ name }) => name).toSorted()
    expect([await toolsOf(confined), await toolsOf(other)]).toEqual([all, all])
    apply([
      {
        allow: { client: [confined.clientId] },
        scopes: ['mcp', 'orders:read'],
        tools: { deny: ['say_*'] },
      },
      { allow: {} },
    ])
    expect([await toolsOf(confined), await toolsOf(other)]).toEqual([['list_orders'], all])
    const again = await drawbridge.redeem(
      confined.clientId,
      await drawbridge.code(confined.clientId, { scope }),
    )
    expect(await again.json()).toMatchObject({ scope: 'mcp orders:read' })
    expect(drawbridge.events('grant_ended')).toEqual([])
  })

  it('a rule about a client ends the connection of its device, and lets it connect no other', async () => {
    await start()
    const grantType = 'urn:ietf:params:oauth:grant-type:device_code'
    const { client_id: clientId } = await drawbridge.register({ grant_types: [grantType, 'refresh_token'] })
    const connect = async (): Promise<{ page: Visit; answer: Partial<Tokens> & { error?: string } }> => {
      const begun = await drawbridge.postForm('/oauth/device_authorization', { client_id: clientId })
      const { device_code: deviceCode, user_code: userCode } = (await begun.json()) as Record<string, string>
      const browser = drawbridge.browser()
      const form = await browser.visit(`${baseUrl}/oauth/device`)
      const login = await browser.submit(form, 'user_code', { user_code: userCode ?? '' })
      const page = await browser.submit(login, 'password', account)
      const polled = await drawbridge.postForm('/oauth/token', {
        grant_type: grantType,
        client_id: clientId,
        device_code: deviceCode ?? '',
      })
      return { page, answer: (await polled.json()) as Tokens }
    }
    const { answer } = await connect()
    expect(await call(authorize(answer as Tokens))).toBe('let in')
    apply(deny(clientId))
    expect(await call(authorize(answer as Tokens))).toBe('refused')
    const refused = await connect()
    expect([refused.page.status, refused.answer.error]).toEqual([403, 'authorization_pending'])
  })

  it('introspection reports the tokens of a blocked client as inactive, and those of another one as active', async () => {
    await start()
    const connect = async () => {
      const client = await drawbridge.register({ token_endpoint_auth_method: 'client_secret_post' })
      const proof = { client_secret: client.client_secret ?? '' }
      const code = await drawbridge.code(client.client_id)
      const tokens = (await (await drawbridge.redeem(client.client_id, code, proof)).json()) as Tokens
      const isActive = async (token: string): Promise<unknown> => {
        const fields = { client_id: client.client_id, ...proof, token }
        const answer = await drawbridge.postForm('/oauth/introspect', fields)
        return ((await answer.json()) as { active: boolean }).active
      }
      const bothActive = async () => [
        await isActive(tokens.access_token),
        await isActive(tokens.refresh_token),
      ]
      return { clientId: client.client_id, bothActive }
    }
    const [blocked, other] = [await connect(), await connect()]
    expect([await blocked.bothActive(), await other.bothActive()]).toEqual([
      [true, true],
      [true, true],
    ])
    apply(deny(blocked.clientId))
    expect([await blocked.bothActive(), await other.bothActive()]).toEqual([
      [false, false],
      [true, true],
    ])
    expect(drawbridge.events('grant_ended')).toEqual([])
  })

  it('provider tokens and session cookies have no client: a deny rule passes them over, an allow rule as well', async () => {
    await start()
    const { clientId, tokens } = await drawbridge.connect()
    const session = await signInToWebApp(drawbridge)
    const outcomes = async (): Promise<Outcome[]> => [
      await call({ authorization: `Bearer ${session.access_token}` }),
      await call({ cookie: sessionCookieHeader(session), origin: baseUrl }),
    ]
    apply([{ allow: { client: [clientId] } }])
    expect([...(await outcomes()), await call(authorize(tokens))]).toEqual(['refused', 'refused', 'let in'])
    apply(deny(clientId))
    expect([...(await outcomes()), await call(authorize(tokens))]).toEqual(['let in', 'let in', 'refused'])
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
