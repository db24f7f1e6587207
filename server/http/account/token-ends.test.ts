import { afterEach, describe, expect, it } from 'vitest'
import { ada, appJwt, sessionUrl, startAppFixture } from '../../../tests/support/server/app-fixture.ts'
import type { Visit } from '../../../tests/support/server/browser.ts'
import { type DrawbridgeFixture, startDrawbridge } from '../../../tests/support/server/drawbridge-fixture.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { oidcAccount, oidcClient, startOidcServer } from '../../../tests/support/server/oidc-server.ts'
import type { Settings } from '../../config/setting-table.ts'

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const { close } of opened.splice(0).toReversed()) await close()
})

/** Makes a personal token. `signIn` returns where the browser goes from the address that asks for a sign-in. */
async function make(server: DrawbridgeFixture, signIn: (asked: URL) => Promise<URL>): Promise<string> {
  const browser = server.browser()
  const back = async (page: Visit): Promise<Visit> => {
    const asked = page.response ? await browser.submit(page, 'provider', { provider: 'oidc' }) : page
    return browser.visit(await signIn(asked.url))
  }
  const page = await back(await browser.visit('http://localhost:8787/account/connections'))
  const form = { name: 'CI', days: '90', action: 'make_token' }
  const made = await back(await browser.submit(page, 'days', form))
  const [token] = /mcpt_[\w-]{43}/.exec(made.html) ?? []
  expect(token, made.html.slice(0, 3000)).toBeDefined()
  return token ?? ''
}

const statusOf = async (server: DrawbridgeFixture, token: string): Promise<number> =>
  (await server.mcp({ jsonrpc: '2.0', id: 1, method: 'ping' }, { authorization: `Bearer ${token}` })).status

describe('a personal token of a user of the web app', () => {
  async function start(settings: Settings = {}) {
    const app = await startAppFixture({ personalTokens: 'on', ...settings })
    opened.push(app.server)
    const token = await make(app.server, async (asked) => {
      const request = asked.searchParams.get('request') ?? ''
      const allowed = await app.allow(request, appJwt('user', app.runtime.now(), ada))
      return new URL(((await allowed.json()) as { redirect_to: string }).redirect_to)
    })
    return { ...app, token }
  }

  it('a personal token ends when the app ends the user', async () => {
    const { server, token, runtime } = await start()
    expect(await statusOf(server, token)).toBe(200)
    const headers = { authorization: `Bearer ${appJwt('end', runtime.now())}` }
    await server.fetch('/oauth/app/end', { method: 'POST', headers })
    expect(await statusOf(server, token)).toBe(401)
  })

  it('a personal token ends when SESSION_URL no longer knows the user, and lasts while the app is down', async () => {
    const { server, token, runtime, answerWith, asked } = await start({ sessionUrl, sessionCheck: '5m' })
    runtime.advance(301)
    expect(await statusOf(server, token)).toBe(200)
    expect(asked.length).toBeGreaterThan(0)
    answerWith(() => Response.json({ ...ada, name: 'Countess' }))
    runtime.advance(301)
    expect(await statusOf(server, token)).toBe(200)
    answerWith(() => new Response(undefined, { status: 404 }))
    runtime.advance(301)
    await expect.poll(() => statusOf(server, token)).toBe(401)
  })
})

describe('a personal token of a user of an OpenID provider', () => {
  const settings = {
    provider: 'oidc',
    providerClientId: oidcClient.id,
    providerClientSecret: oidcClient.secret,
    secretKeys: `test:${Buffer.alloc(32, 7).toString('base64')}`,
    personalTokens: 'on',
    providerParameters: 'prompt=consent',
  } as const

  it.each<[sessions: 'many' | 'one']>([['many'], ['one']])(
    'a personal token asks for a fresh sign-in, is refreshed for its days, and ends with the user at the provider (PROVIDER_SESSIONS=%s)',
    async (providerSessions) => {
      const provider = await startOidcServer({ callbackUrl: 'http://localhost:8787/oauth/callback' })
      opened.push(provider)
      const runtime = { ...createFakeRuntime(), fetch }
      const server = await startDrawbridge(
        { ...settings, providerSessions, providerUrl: provider.issuer },
        runtime,
      )
      opened.push(server)
      const ages: (string | null)[] = []
      const signIn = async (asked: URL): Promise<URL> => {
        ages.push(asked.searchParams.get('max_age'))
        return provider.visit(asked.href, 'sign in')
      }
      const [first, second] = [await make(server, signIn), await make(server, signIn)]
      // The page of connections takes an earlier sign-in at the provider; a token needs a fresh one.
      expect(ages).toEqual([null, '0', null, '0'])
      for (let day = 0; day < 3; day += 1) {
        runtime.advance(7200)
        expect([await statusOf(server, first), await statusOf(server, second)]).toEqual([200, 200])
      }
      const now = runtime.now()
      const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
      const claims = { iss: provider.issuer, aud: oidcClient.id, sub: oidcAccount.sub, jti: '1', events }
      const notice = await provider.sign({ ...claims, iat: now, exp: now + 60 }, { typ: 'logout+jwt' })
      const answer = await server.postForm('/oauth/backchannel_logout', { logout_token: notice })
      expect(answer.status).toBe(200)
      expect([await statusOf(server, first), await statusOf(server, second)]).toEqual([401, 401])
    },
  )
})
