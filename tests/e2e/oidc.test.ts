import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Browser, createBrowser, type Visit } from '../support/server/browser.ts'
import { oidcAccount, oidcClient, type OidcServer, startOidcServer } from '../support/server/oidc-server.ts'
import { freePort } from '../support/server/free-port.ts'
import {
  callTool,
  type PlainClient,
  postMcp,
  redirectUri,
  registerPlainClient,
  type Tokens,
} from './plain-client.ts'
import { type ServerProcess, startServer, until } from './server-process.ts'

const tokenSeconds = 4
let id: OidcServer
let server: ServerProcess
let client: PlainClient

beforeAll(async () => {
  const port = await freePort()
  const baseUrl = `http://localhost:${port}`
  id = await startOidcServer({ callbackUrl: `${baseUrl}/oauth/callback`, accessTokenSeconds: tokenSeconds })
  server = await startServer({
    BASE_URL: baseUrl,
    LISTEN: `127.0.0.1:${port}`,
    APP_URL: 'https://app.example.com',
    PROVIDER: 'oidc',
    PROVIDER_URL: id.issuer,
    PROVIDER_CLIENT_ID: oidcClient.id,
    PROVIDER_CLIENT_SECRET: oidcClient.secret,
    PROVIDER_PARAMETERS: 'prompt=consent',
    SECRET_KEYS: `test:${randomBytes(32).toString('base64')}`,
    SIGN_IN_LIMIT: '1000',
  })
  server.secrets.note('PROVIDER_CLIENT_SECRET', oidcClient.secret)
  client = await registerPlainClient(server)
})
afterAll(async () => {
  await server?.close()
  await id?.close()
})

/** Opens a browser that reaches the server and the provider, and stops at addresses of clients. */
function openBrowser(): Browser {
  const served = new Set([server.baseUrl, id.issuer])
  return createBrowser((request) =>
    served.has(new URL(request.url).origin) ? server.fetch(request) : undefined,
  )
}

/** Opens the login page and presses its button; returns the provider's page that follows. */
async function goToProvider(browser: Browser): Promise<Visit> {
  const page = await browser.submit(await browser.visit(client.authorizationUrl), 'provider', {
    provider: 'oidc',
  })
  expect(page.url.origin).toBe(id.issuer)
  return page
}

async function connect(): Promise<Tokens> {
  const browser = openBrowser()
  const back = await browser.submit(await goToProvider(browser), 'login', { login: oidcAccount.sub })
  expect(back.url.href.startsWith(redirectUri)).toBe(true)
  const redeemed = await client.redeem(back.url.searchParams.get('code') ?? '')
  expect(redeemed.status).toBe(200)
  return (await redeemed.json()) as Tokens
}

const ping = (token: string): Promise<Response> =>
  postMcp(server, { method: 'ping' }, { authorization: `Bearer ${token}` })

describe('a server in front of an OpenID provider', () => {
  it('offers one button and no password', async () => {
    const { html } = await openBrowser().visit(client.authorizationUrl)
    const buttons = [...html.matchAll(/<button\b[^>]*\bname="provider"[^>]*>([^<]*)<\/button>/g)]
    expect(buttons.map(([, text]) => text?.trim())).toEqual([
      `Continue with ${new URL(id.issuer).host} and allow`,
    ])
    expect(html).not.toMatch(/type="password"|name="email"/)
  })

  it('signs in there, without a click after that, and serves the tools to the person', async () => {
    const { access_token: token } = await connect()
    const listed = await postMcp(server, { method: 'tools/list' }, { authorization: `Bearer ${token}` })
    expect(listed.status).toBe(200)
    const { result } = (await listed.json()) as { result: { tools: { name: string }[] } }
    expect(result.tools.map(({ name }) => name)).toContain('whoami')
    expect(await callTool(server, token, 'whoami')).toContain(oidcAccount.email)
  })

  it('refreshes underneath, again and again, and the client notices nothing', async () => {
    const { access_token: token } = await connect()
    const before = server.events('provider_refreshed').length
    for (const refreshes of [1, 2]) {
      await delay(tokenSeconds * 1000 + 100)
      expect(await callTool(server, token, 'whoami')).toContain(oidcAccount.email)
      // The log arrives through a pipe, a moment after the response.
      await until(() => server.events('provider_refreshed').length >= before + refreshes, 'the log line')
      expect(server.events('provider_refreshed')).toHaveLength(before + refreshes)
    }
  })

  it('a session revoked at the provider ends the connection: 401 and invalid_grant', async () => {
    const tokens = await connect()
    expect((await ping(tokens.access_token)).status).toBe(200)
    await id.endSessions()
    await delay(tokenSeconds * 1000 + 100)
    expect((await ping(tokens.access_token)).status).toBe(401)
    const refreshed = await client.refresh(tokens.refresh_token)
    expect(refreshed.status).toBe(400)
    expect(await refreshed.json()).toMatchObject({ error: 'invalid_grant' })
  })

  it('a connection that ends here is revoked there', async () => {
    const browser = openBrowser()
    const { url } = await browser.submit(await goToProvider(browser), 'login', { login: oidcAccount.sub })
    const code = url.searchParams.get('code') ?? ''
    expect((await client.redeem(code)).status).toBe(200)
    const revocations = (): number =>
      id.requests.filter((request) => request === 'POST /token/revocation').length
    const before = revocations()
    await server.kill('SIGTERM')
    await server.start({ aheadSeconds: 30 })
    // A code that returns this late ends its grant.
    expect((await client.redeem(code)).status).toBe(400)
    await until(() => revocations() > before, 'the revocation at the provider')
  })
})
