import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Browser, Visit } from '../../../tests/support/server/browser.ts'
import {
  account,
  appUrl,
  baseUrl,
  type DrawbridgeFixture,
  redirectUri,
  startDrawbridge,
  type Tokens,
} from '../../../tests/support/server/drawbridge-fixture.ts'
import { createFakeRuntime, type FakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import type { ToolModule } from '../../mcp/tools/tool-module.ts'
import { computeTotp } from '../provider/accounts/totp.ts'

const tools: ToolModule = {
  scopes: { 'notes:read': 'Read', 'notes:write': 'Write' },
  tools: [
    { name: 'read', scope: 'notes:read', call: () => 'read' },
    { name: 'write', scope: 'notes:write', call: () => 'written' },
  ],
}
const workspaces = async () => [
  { id: 'sales', name: 'Sales & <b>more</b>' },
  { id: 'legal', name: 'Legal' },
]
const ping = { jsonrpc: '2.0', id: 1, method: 'tools/list' }

let server: DrawbridgeFixture
let clock: FakeRuntime
let browser: Browser
let clientId: string

afterEach(() => server.close())
beforeEach(() => open())

async function open(module: ToolModule = tools, languages?: string): Promise<void> {
  clock = createFakeRuntime()
  const runtime = { ...clock, fetch: async (request: Request) => server.app.fetch(request) }
  server = await startDrawbridge({ signInUrl: `${appUrl}/connect` }, runtime, module)
  browser = server.browser(languages)
  clientId = (await server.register()).client_id
}

async function signInToApp(visitor = browser): Promise<Visit> {
  return visitor.submit(await visitor.visit(appUrl), 'password', account)
}

/** Presses the button of the form with that action. */
function submitTo(action: string, at: Visit): Promise<Visit> {
  const html = at.html.slice(at.html.lastIndexOf('<form', at.html.indexOf(`action="${action}"`)))
  return browser.submit({ ...at, html }, '', {})
}

const ask = (scope = 'mcp', visitor = browser): Promise<Visit> =>
  visitor.visit(server.authorizeUrl(clientId, { scope }))
const allow = (page: Visit, fields = {}, visitor = browser): Promise<Visit> =>
  visitor.submit(page, 'answer', { answer: 'allow', ...fields })

async function tokensOf({ url }: Visit): Promise<Tokens> {
  const redeemed = await server.redeem(clientId, url.searchParams.get('code') ?? '')
  return (await redeemed.json()) as Tokens
}

async function connect(): Promise<Tokens> {
  await signInToApp()
  return tokensOf(await allow(await ask()))
}

const statusOf = async ({ access_token: token }: Tokens): Promise<number> =>
  (await server.mcp(ping, { authorization: `Bearer ${token}` })).status
const userId = (): string => server.admin.findUser(account.email)?.id ?? ''
const sessions = () => server.admin.listSessions(userId())

describe('a user who is signed in to the demo app', () => {
  it('a user of the demo app connects an assistant with one click there, by a session apart from that of the app', async () => {
    await signInToApp()
    const page = await ask('mcp notes:read')
    expect(page.url.href).toMatch(`${appUrl}/connect?request=`)
    expect(page.html).toContain('An app that calls itself “Test client” wants to use your account')
    expect(page.html).toContain('Signed in as <bdi>ada@example.com</bdi>.')
    const tokens = await tokensOf(await allow(page))
    expect(tokens.scope).toBe('mcp notes:read')
    expect(await server.callTool(tokens.access_token, 'read')).toEqual({ text: 'read', isError: false })
    expect(sessions()).toHaveLength(2)
  })

  it('a user of the demo app is asked for the second client too, although the provider remembers the consent', async () => {
    await connect()
    clientId = (await server.register({ client_name: 'Other' })).client_id
    const page = await ask()
    expect(page.html).toContain('“Other”')
    expect(sessions()).toHaveLength(2)
    expect(await statusOf(await tokensOf(await allow(page)))).toBe(200)
  })

  it('a user of the demo app cancels, which the client learns', async () => {
    await signInToApp()
    const { url } = await browser.submit(await ask(), 'answer', { answer: 'deny' })
    expect(url.origin + url.pathname).toBe(redirectUri)
    expect(Object.fromEntries(url.searchParams)).toMatchObject({ error: 'access_denied', state: 'state-1' })
    expect(sessions()).toHaveLength(1)
  })

  it('a user of the demo app leaves a permission out by its box', async () => {
    await signInToApp()
    const page = await ask('mcp notes:read notes:write')
    expect(page.html.match(/type="checkbox"/g)).toHaveLength(2)
    const { scope } = await tokensOf(await allow(page, { scope: ['notes:read'] }))
    expect(scope).toBe('mcp notes:read')
  })

  it('a user of the demo app chooses a workspace where there are several, with the boxes as they were left', async () => {
    await server.close()
    await open({ ...tools, workspaces })
    await signInToApp()
    const again = await allow(await ask('mcp notes:read notes:write'), { scope: ['notes:write'] })
    expect(again.status).toBe(400)
    expect(again.html).toContain('Sales &amp; &lt;b&gt;more&lt;/b&gt;')
    expect(
      [...again.html.matchAll(/name="scope"\s+value="([^"]*)"\s+checked/g)].map(([, name]) => name),
    ).toEqual(['notes:write'])
    const { access_token: token, scope } = await tokensOf(await allow(again, { workspace: 'legal' }))
    expect(scope).toBe('mcp notes:write')
    expect(await server.callTool(token, 'write')).toMatchObject({ isError: false })
  })

  it('a user of the demo app reads the page in the language of their browser', async () => {
    await server.close()
    await open(tools, 'de')
    await signInToApp()
    const { html } = await ask('mcp notes:read')
    expect(html).toContain('<html lang="de">')
    expect(html).toContain('möchte Ihr Konto bei Fieldnotes')
    expect(html).toContain('Erlauben')
  })

  it('a user of the demo app sees their connections after one click', async () => {
    await connect()
    const page = await browser.visit(`${baseUrl}/account/connections`)
    expect(page.url.pathname).toBe('/connect')
    expect(page.html).toContain('<h1>Show your connections?</h1>')
    const { url, html } = await allow(page)
    expect(url.pathname).toBe('/account/connections')
    expect(html).toContain('Test client')
  })

  it('a user of the demo app reads that a request is too old', async () => {
    await signInToApp()
    const page = await ask()
    clock.advance(601)
    const late = await allow(page)
    expect(late.status).toBe(400)
    expect(late.html).toContain('over ten minutes old')
    expect(late.html).not.toContain('name="answer"')
  })

  it('a user of the demo app gives nothing to a form of another site', async () => {
    await signInToApp()
    const page = await ask()
    const forged = new Request(`${appUrl}/connect`, {
      method: 'POST',
      headers: { origin: 'https://evil.example', cookie: browser.cookieHeader(appUrl) },
      body: new URLSearchParams({ request: page.url.searchParams.get('request') ?? '', answer: 'allow' }),
    })
    expect((await server.app.sandbox?.fetch(forged))?.status).toBe(403)
    expect(sessions()).toHaveLength(1)
  })

  it('a user of the demo app cannot be shown the page in a frame', async () => {
    await signInToApp()
    const { response } = await ask()
    expect(response?.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
  })
})

describe('a user who is signed out of the demo app', () => {
  it.each<[way: string, sign: () => Promise<Visit>]>([
    ['a password', () => signInToApp()],
    [
      'a new account',
      async () =>
        browser.submit(await browser.visit(`${appUrl}/sign-up`), 'password', {
          email: 'new@example.com',
          password: 'correct horse battery',
        }),
    ],
  ])(
    'a user who is signed out of the demo app comes back to the request after signing in with %s',
    async (_way, sign) => {
      const first = await ask()
      expect(first.url.href).toBe(`${appUrl}/`)
      const page = await sign()
      expect(page.url.pathname).toBe('/connect')
      expect(await statusOf(await tokensOf(await allow(page)))).toBe(200)
      await submitTo('/sign-out', await browser.visit(`${appUrl}/notes`))
      expect((await signInToApp()).url.pathname).toBe('/notes')
    },
  )

  it('a user who is signed out of the demo app comes back after signing in with Google', async () => {
    await ask()
    const accounts = await submitTo('/sign-in/google', await browser.visit(appUrl))
    const page = await browser.submit(accounts, 'account', { account: '100000000000000000001' })
    expect(page.url.pathname).toBe('/connect')
    expect(await statusOf(await tokensOf(await allow(page)))).toBe(200)
  })

  it('a user who is signed out of the demo app loses the session while the page is open, and signs in again for the same request', async () => {
    await signInToApp()
    const page = await ask()
    for (const { id } of sessions()) server.admin.endSession(id)
    expect((await allow(page)).url.href).toBe(`${appUrl}/`)
    expect(await statusOf(await tokensOf(await allow(await signInToApp())))).toBe(200)
  })
})

describe('an attacker who sends somebody the address of the page', () => {
  it('an attacker whose link a user of the demo app allows is not in, and neither is the browser of the user; no session is made', async () => {
    const attacker = server.browser()
    await attacker.visit(server.authorizeUrl(clientId))
    // Signed out there, the demo app keeps the request in a cookie.
    const [, request = ''] = /fieldnotes-request=([^;]*)/.exec(attacker.cookieHeader(appUrl)) ?? []
    await signInToApp()
    const before = sessions().length
    const returned = await allow(await browser.visit(`${appUrl}/connect?request=${request}`))
    expect(returned.url.origin).toBe(baseUrl)
    expect(returned.status).toBe(400)
    const replayed = await attacker.visit(returned.url)
    expect(replayed.status).toBe(400)
    expect(replayed.url.origin).toBe(baseUrl)
    expect(sessions()).toHaveLength(before)
  })
})

describe('a connection made in the demo app', () => {
  it('a connection made in the demo app lasts over the tokens of the provider, and over a sign-out in the app', async () => {
    const { access_token: first, refresh_token: token } = await connect()
    expect(first).toBeDefined()
    await submitTo('/sign-out', await browser.visit(`${appUrl}/notes`))
    expect(sessions()).toHaveLength(1)
    let newest = token
    for (const _ of [1, 2, 3]) {
      clock.advance(3600)
      const tokens = (await (await server.refresh(clientId, newest)).json()) as Tokens
      newest = tokens.refresh_token
      expect(await statusOf(tokens)).toBe(200)
    }
    expect(sessions()[0]?.refreshCounter).toBe(3)
  })

  it('a connection made in the demo app ends with its session at the provider, at the next check', async () => {
    const tokens = await connect()
    for (const { id } of sessions()) server.admin.endSession(id)
    clock.advance(301)
    expect(await statusOf(tokens)).toBe(401)
  })

  it('a connection made in the demo app ends its own session at the provider and no other when it is revoked', async () => {
    const tokens = await connect()
    await server.postForm('/oauth/revoke', { token: tokens.refresh_token, client_id: clientId })
    await server.app.upkeep()
    expect(sessions()).toHaveLength(1)
    expect((await browser.visit(`${appUrl}/notes`)).url.pathname).toBe('/notes')
  })

  it('a connection made in the demo app takes one code more of an account with an authenticator app, and is refreshed', async () => {
    await signInToApp()
    const { secret } = server.admin.enrollTotp(userId())
    const page = await allow(await ask())
    expect(page.url.origin).toBe(baseUrl)
    const code = computeTotp(secret, clock.now())
    const tokens = await tokensOf(await browser.submit(page, 'code', { code }))
    expect(sessions().map(({ aal }) => aal)).toEqual(['aal2'])
    clock.advance(3600)
    expect(
      await statusOf((await (await server.refresh(clientId, tokens.refresh_token)).json()) as Tokens),
    ).toBe(200)
  })
})
