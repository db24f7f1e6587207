import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Visit } from '../support/server/browser.ts'
import { buildDex, dexClient, dexPassword, type DexServer, startDex } from '../peers/dex/dex-server.ts'
import { freePort } from '../support/server/free-port.ts'
import { createServerBrowser } from './person.ts'
import {
  callTool,
  type PlainClient,
  redirectUri,
  registerPlainClient,
  statusOfCall,
  type Tokens,
} from './plain-client.ts'
import { type ServerProcess, type ServerSettings, startServer } from './server-process.ts'
import { until } from '../support/until.ts'

// Longer than a sign-in takes on a busy machine, so that no token expires during it.
const tokenSeconds = 6
const isDexBuilt = await buildDex()

/** A server in front of its own dex. */
interface DexRig {
  server: ServerProcess
  connect(name: string): Promise<Tokens>
  /** Signs in to see the connections; returns their page. */
  openAccount(name: string): Promise<Visit>
  ping(tokens: Tokens): Promise<number>
  client: PlainClient
  close(): Promise<void>
}

async function startRig(settings: ServerSettings): Promise<DexRig> {
  const port = await freePort()
  const baseUrl = `http://localhost:${port}`
  const dex: DexServer = await startDex({ callbackUrl: `${baseUrl}/oauth/callback`, tokenSeconds })
  const server = await startServer({
    BASE_URL: baseUrl,
    LISTEN: `127.0.0.1:${port}`,
    APP_URL: 'https://app.example.com',
    PROVIDER: 'oidc',
    PROVIDER_URL: dex.issuer,
    PROVIDER_CLIENT_ID: dexClient.id,
    PROVIDER_CLIENT_SECRET: dexClient.secret,
    SECRET_KEYS: `test:${randomBytes(32).toString('base64')}`,
    SIGN_IN_LIMIT: '1000',
    ...settings,
  })
  server.secrets.note('PROVIDER_CLIENT_SECRET', dexClient.secret)
  const client = await registerPlainClient(server)

  /** Goes from the login page at `url` through the form of dex; returns the final page. */
  async function signIn(name: string, url: string | URL): Promise<Visit> {
    const browser = createServerBrowser(server, dex.issuer)
    const page = await browser.submit(await browser.visit(String(url)), 'provider', { provider: 'oidc' })
    expect(page.url.href.startsWith(dex.issuer)).toBe(true)
    return browser.submit(page, 'login', { login: `${name}@example.com`, password: dexPassword })
  }

  return {
    server,
    client,
    async connect(name) {
      const back = await signIn(name, client.authorizationUrl)
      expect(back.url.href.startsWith(redirectUri)).toBe(true)
      const redeemed = await client.redeem(back.url.searchParams.get('code') ?? '')
      expect(redeemed.status).toBe(200)
      return (await redeemed.json()) as Tokens
    },
    openAccount: (name) => signIn(name, `${server.baseUrl}/account/connections`),
    ping: ({ access_token: token }) => statusOfCall(server, token),
    async close() {
      await server.close()
      await dex.close()
    },
  }
}

const untilDue = (): Promise<void> => delay(tokenSeconds * 1000 + 100)

describe.runIf(isDexBuilt)('a server in front of dex', { timeout: 120_000 }, () => {
  let rig: DexRig
  beforeAll(async () => void (rig = await startRig({})))
  afterAll(() => rig?.close())

  it.concurrent('a server in front of dex is ready, signs people in and renews their sessions underneath', async () => {
    const { server } = rig
    await until(async () => (await server.fetch(`${server.baseUrl}/readyz`)).ok, 'readiness')
    const tokens = await rig.connect('ada')
    expect(await callTool(server, tokens.access_token, 'whoami')).toContain('ada@example.com')
    for (const renewals of [1, 2]) {
      await untilDue()
      expect(await rig.ping(tokens)).toBe(200)
      await until(() => server.events('provider_refreshed').length >= renewals, 'the renewal')
    }
  })

  it.concurrent('a refresh token that dex has replaced ends the connection: 401 and invalid_grant', async () => {
    const first = await rig.connect('bea')
    const second = await rig.connect('bea')
    await untilDue()
    expect(await rig.ping(first)).toBe(401)
    const refreshed = await rig.client.refresh(first.refresh_token)
    expect(refreshed.status).toBe(400)
    expect(await refreshed.json()).toMatchObject({ error: 'invalid_grant' })
    expect(await rig.ping(second)).toBe(200)
  })
})

describe.runIf(isDexBuilt)('with PROVIDER_SESSIONS=one', { timeout: 180_000 }, () => {
  let rig: DexRig
  beforeAll(async () => void (rig = await startRig({ PROVIDER_SESSIONS: 'one' })))
  afterAll(() => rig?.close())

  it('with PROVIDER_SESSIONS=one the connections of one person live side by side, through renewals, a listing and the end of one', async () => {
    const { server, client } = rig
    const first = await rig.connect('ada')
    const second = await rig.connect('ada')
    const other = await rig.connect('bea')
    for (let renewals = 0; renewals < 2; renewals += 1) {
      await untilDue()
      const answers = [first, second, other].flatMap((tokens) => [rig.ping(tokens), rig.ping(tokens)])
      expect(await Promise.all(answers)).toEqual(Array.from(answers, () => 200))
    }
    const page = await rig.openAccount('ada')
    expect(page.html).toContain('2 connections')
    await untilDue()
    expect(await Promise.all([rig.ping(first), rig.ping(second)])).toEqual([200, 200])

    // The token of the second one has expired when it ends: it is not renewed just to be signed out.
    await untilDue()
    expect((await client.revoke(second.refresh_token)).status).toBe(200)
    expect(await rig.ping(second)).toBe(401)
    await server.waitForEvent('provider_sign_out_skipped')
    expect(await rig.ping(first)).toBe(200)
    expect(server.events('provider_session_ended')).toEqual([])
  })
})
