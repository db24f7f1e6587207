import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Browser } from '../support/server/browser.ts'
import { oidcAccount, oidcClient, type OidcServer, startOidcServer } from '../support/server/oidc-server.ts'
import { freePort } from '../support/server/free-port.ts'
import { createServerBrowser } from './person.ts'
import { type PlainClient, postForm, registerPlainClient, statusOfCall, type Tokens } from './plain-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'

let id: OidcServer
let server: ServerProcess
let client: PlainClient

beforeAll(async () => {
  const port = await freePort()
  const baseUrl = `http://localhost:${port}`
  id = await startOidcServer({
    callbackUrl: `${baseUrl}/oauth/callback`,
    backchannelLogoutUri: `${baseUrl}/oauth/backchannel_logout`,
  })
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
  })
  client = await registerPlainClient(server)
})
afterAll(async () => {
  await server?.close()
  await id?.close()
})

/** Opens a browser that keeps the sign-in at the provider. */
const openBrowser = (): Browser => createServerBrowser(server, id.issuer)

async function connect(browser: Browser): Promise<Tokens> {
  const page = await browser.submit(await browser.visit(client.authorizationUrl), 'provider', {
    provider: 'oidc',
  })
  const back = await browser.submit(page, 'login', { login: oidcAccount.sub })
  return (await (await client.redeem(back.url.searchParams.get('code') ?? '')).json()) as Tokens
}

const statusOf = ({ access_token: token }: Tokens): Promise<number> => statusOfCall(server, token)

it('a person who signs out at a real OpenID provider loses the connections of that sign-in at once, and no others', async () => {
  const [browser, other] = [openBrowser(), openBrowser()]
  const [tokens, kept] = [await connect(browser), await connect(other)]
  expect(await statusOf(tokens)).toBe(200)
  const page = await browser.visit(`${id.issuer}/session/end`)
  await browser.submit(page, 'xsrf', { logout: 'yes' })
  // The provider notifies the server before it responds to the browser.
  expect(await statusOf(tokens)).toBe(401)
  expect(await statusOf(kept)).toBe(200)
  const refreshed = await client.refresh(tokens.refresh_token)
  expect(await refreshed.json()).toMatchObject({ error: 'invalid_grant' })
})

const send = (token: string): Promise<Response> =>
  postForm(server, '/oauth/backchannel_logout', { logout_token: token })

const notice = (members: Record<string, unknown>): Promise<string> => {
  const now = Math.floor(Date.now() / 1000)
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
  const claims = {
    iss: id.issuer,
    aud: oidcClient.id,
    iat: now,
    exp: now + 120,
    sub: oidcAccount.sub,
    events,
  }
  return id.sign({ ...claims, ...members }, { typ: 'logout+jwt' })
}

it('the endpoint for logout notices ends all connections of a person once for each notice', async () => {
  const tokens = await connect(openBrowser())
  const token = await notice({ jti: 'one' })
  const answer = await send(token)
  expect([answer.status, answer.headers.get('cache-control'), await answer.text()]).toEqual([
    200,
    'no-store',
    '',
  ])
  expect(await statusOf(tokens)).toBe(401)
  const again = await connect(openBrowser())
  expect((await send(token)).status).toBe(200)
  expect(await statusOf(again)).toBe(200)
})
