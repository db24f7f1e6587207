import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Browser, createBrowser } from '../../server/testing/browser.ts'
import { buildDex, dexClient, dexPassword, type DexServer, hasGo, startDex } from '../peers/dex/dex-server.ts'
import { freePort } from './free-port.ts'
import {
  callTool,
  type PlainClient,
  postMcp,
  redirectUri,
  registerPlainClient,
  type Tokens,
} from './plain-client.ts'
import { type ServerProcess, startServer, until } from './server-process.ts'

// Longer than a sign-in takes beside a busy machine, so that no token ends on the way.
const tokenSeconds = 6
const isGoHere = await hasGo()
if (!isGoHere) console.warn('Skipped: there is no Go here to build dex with.')

let dex: DexServer
let server: ServerProcess
let client: PlainClient

beforeAll(async () => {
  if (!isGoHere) return
  await buildDex()
  const port = await freePort()
  const baseUrl = `http://localhost:${port}`
  dex = await startDex({ callbackUrl: `${baseUrl}/oauth/callback`, tokenSeconds })
  server = await startServer({
    BASE_URL: baseUrl,
    LISTEN: `127.0.0.1:${port}`,
    APP_URL: 'https://app.example.com',
    PROVIDER: 'oidc',
    PROVIDER_URL: dex.issuer,
    PROVIDER_CLIENT_ID: dexClient.id,
    PROVIDER_CLIENT_SECRET: dexClient.secret,
    SECRET_KEYS: `test:${randomBytes(32).toString('base64')}`,
    SIGN_IN_LIMIT: '1000',
  })
  server.secrets.note('PROVIDER_CLIENT_SECRET', dexClient.secret)
  client = await registerPlainClient(server)
}, 600_000)
afterAll(async () => {
  await server?.close()
  await dex?.close()
})

/** A browser that reaches the server and dex, and stops at addresses of clients. */
function openBrowser(): Browser {
  const served = new Set([server.baseUrl, new URL(dex.issuer).origin])
  return createBrowser((request) =>
    served.has(new URL(request.url).origin) ? server.fetch(request) : undefined,
  )
}

async function connect(name: string): Promise<Tokens> {
  const browser = openBrowser()
  const page = await browser.submit(await browser.visit(client.authorizationUrl), 'provider', {
    provider: 'oidc',
  })
  expect(page.url.href.startsWith(dex.issuer)).toBe(true)
  const back = await browser.submit(page, 'login', { login: `${name}@example.com`, password: dexPassword })
  expect(back.url.href.startsWith(redirectUri)).toBe(true)
  const redeemed = await client.redeem(back.url.searchParams.get('code') ?? '')
  expect(redeemed.status).toBe(200)
  return (await redeemed.json()) as Tokens
}

const ping = async (tokens: Tokens): Promise<number> =>
  (await postMcp(server, { method: 'ping' }, { authorization: `Bearer ${tokens.access_token}` })).status

const untilDue = (): Promise<void> => delay(tokenSeconds * 1000 + 100)

describe.runIf(isGoHere)('a server in front of dex', { timeout: 120_000 }, () => {
  it('is ready, signs people in and renews their sessions underneath', async () => {
    const ready = await server.fetch(`${server.baseUrl}/readyz`)
    expect(await ready.json()).toMatchObject({ checks: { provider: 'ok' } })
    const tokens = await connect('ada')
    expect(await callTool(server, tokens.access_token, 'whoami')).toContain('ada@example.com')
    for (const renewals of [1, 2]) {
      await untilDue()
      expect(await ping(tokens)).toBe(200)
      await until(() => server.events('provider_refreshed').length >= renewals, 'the renewal')
    }
  })

  it('a refresh token that dex knows no more ends the connection: 401 and invalid_grant', async () => {
    const first = await connect('bea')
    // dex keeps one refresh token for each person and client.
    const second = await connect('bea')
    await untilDue()
    expect(await ping(first)).toBe(401)
    const refreshed = await client.refresh(first.refresh_token)
    expect(refreshed.status).toBe(400)
    expect(await refreshed.json()).toMatchObject({ error: 'invalid_grant' })
    expect(await ping(second)).toBe(200)
  })
})
