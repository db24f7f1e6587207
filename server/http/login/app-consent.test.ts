import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Browser, Visit } from '../../../tests/support/server/browser.ts'
import {
  baseUrl,
  type DrawbridgeFixture,
  redirectUri,
  startDrawbridge,
  type Tokens,
} from '../../../tests/support/server/drawbridge-fixture.ts'
import { createFakeRuntime, type FakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import {
  AUTH,
  type ProviderFixture,
  SITE,
  startProvider,
} from '../../../tests/support/sandbox/provider-fixture.ts'
import { computeTotp } from '../../sandbox/provider/accounts/totp.ts'
import { createConfig } from '../../../tests/support/server/config-sample.ts'
import type { Settings } from '../../config/setting-table.ts'
import { openProvider } from '../../startup/open-provider.ts'

const oauthClient = {
  id: '0c1d2e3f-0000-4000-8000-00000000c11e',
  secret: 'client-secret',
  redirectUri: `${baseUrl}/oauth/callback`,
}
const settings: Settings = {
  provider: 'supabase',
  providerUrl: AUTH,
  providerClientId: oauthClient.id,
  providerClientSecret: oauthClient.secret,
  appName: 'Fieldnotes',
  secretKeys: `test:${Buffer.alloc(32, 7).toString('base64')}`,
}
const ada = { email: 'ada@example.com', password: 'correct horse battery' }

let server: DrawbridgeFixture
let provider: ProviderFixture
let clock: FakeRuntime
let clientId: string
let userId: string

beforeEach(async () => {
  clock = createFakeRuntime()
  provider = startProvider({ oauthClient }, clock)
  userId = (await provider.admin.createUser(ada)).id
  server = await startDrawbridge(settings, { ...clock, fetch: provider.fetch })
  clientId = (await server.register()).client_id
})
afterEach(async () => {
  await server.close()
  provider.close()
})

/** Presses the button of the login page; returns the address of the app's page of consent. */
async function leave(browser: Browser): Promise<URL> {
  const page = await browser.visit(server.authorizeUrl(clientId))
  const started = await browser.submit(page, 'provider', { provider: 'oauth_server' })
  const response = await provider.fetch(new Request(started.url, { redirect: 'manual' }))
  return new URL(response.headers.get('location') ?? '')
}

/** Agrees there, as the app's page does with the session of its user. Returns the address of the return. */
async function agree(page: URL): Promise<string> {
  const { data } = await provider.client().auth.signInWithPassword(ada)
  const path = `/oauth/authorizations/${page.searchParams.get('authorization_id')}`
  const bearer = { authorization: `Bearer ${data.session?.access_token}` }
  const known = await provider.call('GET', path, undefined, bearer)
  const asked = (await known.json()) as { redirect_url?: string }
  if (asked.redirect_url !== undefined) return asked.redirect_url
  const answer = await provider.call('POST', `${path}/consent`, { action: 'approve' }, bearer)
  return ((await answer.json()) as { redirect_url: string }).redirect_url
}

const ping = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
async function statusOf({ url }: Visit): Promise<number> {
  const redeemed = await server.redeem(clientId, url.searchParams.get('code') ?? '')
  const { access_token: token } = (await redeemed.json()) as Tokens
  return (await server.mcp(ping, { authorization: `Bearer ${token}` })).status
}

describe("the app's page of consent as a way to sign in", () => {
  it.each([
    [undefined, 'Continue with Fieldnotes and allow'],
    ['de', 'Mit Fieldnotes anmelden und erlauben'],
  ])(
    "the app's page of consent is a button before the social ones, in the language %s",
    async (language, label) => {
      const { html } = await server.browser(language).visit(server.authorizeUrl(clientId))
      expect(html).toContain(label)
      expect(html.indexOf('value="oauth_server"')).toBeLessThan(html.indexOf('value="google"'))
    },
  )

  it("the app's page of consent is no button where the app has a page for this server", async () => {
    const given = { ...settings, signInUrl: `${SITE}/connect`, appUrl: SITE }
    const config = createConfig(given, { production: false })
    const { social } = await openProvider(config, { ...clock, fetch: provider.fetch }).capabilities()
    expect(social.map(({ id }) => id)).toEqual(['google'])
  })

  it("the app's page of consent connects after a click here and one there, and the next client after one here", async () => {
    const browser = server.browser()
    const page = await leave(browser)
    expect(page.pathname).toBe('/oauth/consent')
    const done = await browser.visit(await agree(page))
    expect(done.url.origin + done.url.pathname).toBe(redirectUri)
    expect(await statusOf(done)).toBe(200)
    clientId = (await server.register()).client_id
    expect(await statusOf(await browser.visit(await agree(await leave(browser))))).toBe(200)
  })

  it("the app's page of consent says that access was denied there, and offers the ways to sign in again", async () => {
    const browser = server.browser()
    const back = new URL(await agree(await leave(browser)))
    back.searchParams.delete('code')
    back.searchParams.set('error', 'access_denied')
    const { html } = await browser.visit(back)
    expect(html).toContain('cancelled')
    expect(html).toContain('value="oauth_server"')
  })

  it("the app's page of consent is over when its return arrives in another browser: neither is in, and no session is made", async () => {
    const [attacker, victim] = [server.browser(), server.browser()]
    const back = await agree(await leave(attacker))
    await victim.visit(server.authorizeUrl(clientId))
    expect((await victim.visit(back)).status).toBe(400)
    expect((await attacker.visit(back)).status).toBe(400)
    // That of the app alone.
    expect(provider.admin.listSessions(userId)).toHaveLength(1)
  })

  it("the app's page of consent keeps the returns of two tabs apart", async () => {
    const browser = server.browser()
    const [one, two] = [await leave(browser), await leave(browser)]
    expect(await statusOf(await browser.visit(await agree(two)))).toBe(200)
    expect(await statusOf(await browser.visit(await agree(one)))).toBe(200)
  })

  it("the app's page of consent asks accounts with an authenticator app for its code", async () => {
    const browser = server.browser()
    const back = await agree(await leave(browser))
    const { secret } = provider.admin.enrollTotp(userId)
    const page = await browser.visit(back)
    const code = computeTotp(secret, clock.now())
    expect(await statusOf(await browser.submit(page, 'code', { code }))).toBe(200)
  })
})
