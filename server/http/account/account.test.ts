import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { deviceGrantType } from '../../core/clients/client.ts'
import type { Grant } from '../../core/session/grant.ts'
import type { SessionProvider } from '../../core/session/session-provider.ts'
import { type Browser, createBrowser, type Visit } from '../../../tests/support/server/browser.ts'
import { account, appUrl, startDrawbridge } from '../../../tests/support/server/drawbridge-fixture.ts'
import { addGrant, grantSample, start } from '../../../tests/support/server/core/grant-sample.ts'
import { createLoginFixture, type LoginFixture } from '../../../tests/support/server/login-fixture.ts'
import {
  adasPassword,
  publicClient,
  secondFactorStep,
  signInSample,
  signedIn,
  welcomingProvider,
} from '../../../tests/support/server/core/sign-in-sample.ts'

const page = 'http://localhost:8787/account/connections'
/** The user of {@link signInSample}. */
const ada = { id: 'https://provider#sub ada', sub: 'sub ada', email: 'ada@example.com', name: undefined }

let login: LoginFixture
let browser: Browser
/** Sessions ended at the provider. */
let ended: unknown[]
/** The person who signs in. */
let name: string

function provider(methods: Partial<SessionProvider> = {}): SessionProvider {
  return welcomingProvider({
    passwordSignIn: async () => signedIn(name),
    signOut: async (session) => void ended.push(session),
    ...methods,
  })
}

beforeEach(async () => {
  ended = []
  name = 'ada'
  login = await createLoginFixture(provider())
  browser = login.browser()
})
afterEach(() => void vi.useRealTimers())

async function signIn(by = browser): Promise<Visit> {
  return by.submit(await by.visit(page), 'password', adasPassword)
}

/** Creates a live connection of ada's. */
async function connect(name: string, grant: Partial<Grant> = {}): Promise<string> {
  await addGrant(login.shared.store, grantSample(name, { user: ada, clientId: 'mcpc_public', ...grant }))
  return `grant ${name}`
}

async function isLive(grantId: string): Promise<boolean> {
  const record = await login.shared.store.findGrant(grantId)
  return record !== undefined && record.end === undefined
}

function end(at: Visit, grantId: string, by = browser): Promise<Visit> {
  return by.submit(at, 'connection', { connection: grantId, action: 'end' })
}

function post(fields: Record<string, string>): Promise<Response> {
  const headers = { cookie: browser.cookieHeader(page) }
  return login.fetch(new Request(page, { method: 'POST', headers, body: new URLSearchParams(fields) }))
}

function hidden(at: Visit, name: string): string {
  return new RegExp(`name="${name}" value="([^"]*)"`).exec(at.html)?.[1] ?? ''
}

describe('signing in to the connections page', () => {
  it('the connections page asks for a sign-in, which allows no client', async () => {
    const asked = await browser.visit(page)
    expect(asked.status).toBe(200)
    expect(asked.html).toContain('Sign in to manage your connections')
    expect(asked.html).not.toContain('and allow')
    expect(asked.html).not.toContain('value="deny"')
  })

  it('a password sign-in redirects to the list and ends the provider session at once', async () => {
    const list = await signIn()
    expect(list.url.href).toBe(page)
    expect(list.response?.headers.get('cache-control')).toBe('no-store')
    expect(list.html).toContain('Your connections')
    expect(list.html).toContain('ada@example.com')
    expect(ended).toEqual([signInSample().session])
    expect(login.logged()).toContain('{"event":"account_signed_in","sub":"sub ada"}')
  })

  it('the second-factor code opens the list, and cancelling leads back', async () => {
    login = await createLoginFixture(
      provider({
        passwordSignIn: async () => secondFactorStep(),
        verifySecondFactor: async () => signInSample('ada'),
      }),
    )
    browser = login.browser()
    const asked = await signIn()
    expect(asked.html).toContain('Enter the code from your authenticator app')
    expect((await browser.visit(page)).html).toContain('Sign in to manage')
    const cancelled = await browser.submit(asked, 'action', { action: 'deny' })
    expect(cancelled.html).toContain('Sign in to manage')
    expect(await login.toSignOut()).toHaveLength(1)
    const list = await browser.submit(await signIn(), 'code', { code: '123456' })
    expect(list.html).toContain('Your connections')
  })

  it('the connections page works under every loopback name of the server', async () => {
    const other = page.replace('localhost', '127.0.0.1')
    const by = createBrowser((request) => login.fetch(request))
    const list = await by.submit(await by.visit(other), 'password', adasPassword)
    expect(list.url.href).toBe(other)
    expect(list.html).toContain('Your connections')
  })

  it('the connections page works if the base URL has a path', async () => {
    login = await createLoginFixture(provider(), { baseUrl: 'https://example.com/drawbridge' })
    browser = login.browser()
    const url = 'https://example.com/drawbridge/account/connections'
    const list = await browser.submit(await browser.visit(url), 'password', adasPassword)
    expect(list.url.href).toBe(url)
    expect(list.html).toContain('Your connections')
  })

  it('the session cookie of the page is HttpOnly, SameSite and bound to the browser', async () => {
    const entry = await browser.visit(page)
    const signedInBy = await post({ transaction: hidden(entry, 'transaction'), ...adasPassword })
    expect(signedInBy.status).toBe(303)
    const cookie = signedInBy.headers.getSetCookie().find((line) => line.startsWith('drawbridge-account='))
    expect(cookie).toMatch(/; Max-Age=3600; Path=\/; HttpOnly; SameSite=Lax$/)
    const alone = await login.fetch(new Request(page, { headers: { cookie: cookie?.split(';')[0] ?? '' } }))
    expect(await alone.text()).toContain('Sign in to manage')
  })
})

describe('the list', () => {
  it('the list of connections says that no app is connected', async () => {
    expect((await signIn()).html).toContain('No app is connected')
  })

  it('the list of connections has each client with its return address, last use and expiry', async () => {
    await connect('one')
    const use = { grantId: 'grant one', usedAt: start + 3600, address: '203.0.113.9', tool: 'list_notes' }
    await login.shared.store.recordGrantUses([use])
    login.runtime.advance(2 * 3600)
    const { html } = await signIn()
    for (const text of [
      'One connection',
      '“<bdi>Sample</bdi>”',
      '127.0.0.1',
      '1 hour ago',
      '203.0.113.9',
      'list_notes',
      'Use the tools of the web app as you: read and change what you can there',
      '15 January 2027',
      '14 February 2027',
    ]) {
      expect(html).toContain(text)
    }
  })

  it.each<[where: string, redirectUris: string[], isCalm: boolean]>([
    ['on the web only', ['https://claude.ai/callback'], true],
    ['on the web and on this computer', ['https://vscode.dev/callback', 'http://127.0.0.1/'], false],
    ['with a scheme of its own', ['cursor://callback'], false],
    ['nowhere, a device', [], false],
  ])(
    'the list of connections warns of two addresses at once, calmly of a client that returns %s',
    async (_where, redirectUris, isCalm) => {
      const { store } = login.shared
      await store.putClient(publicClient({ redirectUris }))
      await connect('one')
      const twoAddresses = { addresses: ['203.0.113.7', '198.51.100.9'], at: start } as const
      await store.recordGrantUses([{ grantId: 'grant one', usedAt: start, address: undefined, twoAddresses }])
      const { html } = await signIn()
      expect(html).toContain('198.51.100.9')
      expect(html.includes('<p class="alert"')).toBe(!isCalm)
    },
  )

  it('the list of connections has the live ones of this person only, and those that ended for security', async () => {
    await connect('over', { expiresAt: start + 60 })
    await connect('ended')
    await login.shared.store.endGrant('grant ended', 'revoked_by_client', start)
    await addGrant(login.shared.store, grantSample('eve', { clientId: 'mcpc_public' }))
    await connect('stolen')
    await login.shared.store.endGrant('grant stolen', 'refresh_token_reuse', start)
    login.runtime.advance(60)
    const { html } = await signIn()
    expect(html).toContain('No app is connected')
    expect(html).toContain('was disconnected for your security')
  })

  it('the list of connections begins with the last used one, and counts those beyond a hundred', async () => {
    for (let index = 0; index < 103; index += 1) {
      await connect(`${index}`, { createdAt: start - index })
    }
    const { html } = await signIn()
    expect(html).toContain('103 connections')
    expect(html).toContain('3 older connections are not shown')
    expect(html.match(/<li class="connection">/g)).toHaveLength(100)
    expect(html.indexOf('value="grant 0"')).toBeLessThan(html.indexOf('value="grant 99"'))
    expect(html).not.toContain('value="grant 100"')
  })
})

describe('ending a connection', () => {
  it('a person ends one connection at once, reads so once, and keeps the others', async () => {
    await connect('one')
    await connect('two')
    const list = await end(await signIn(), 'grant one')
    expect(list.url.href).toBe(page)
    expect(list.html).toMatch(
      /role="status">[\s\S]*“<bdi>Sample<\/bdi>” is no longer connected\. To use it again/,
    )
    expect(await isLive('grant one')).toBe(false)
    expect(await isLive('grant two')).toBe(true)
    expect(login.logged()).toContain(
      '{"event":"connection_revoked","grant_id":"grant one","client_id":"mcpc_public","sub":"sub ada"}',
    )
    expect((await browser.visit(page)).html).not.toContain('is no longer connected')
  })

  it('the session of the page ends an hour after the sign-in, also if a connection is ended meanwhile', async () => {
    await connect('one')
    const list = await signIn()
    login.runtime.advance(3000)
    await end(list, 'grant one')
    login.runtime.advance(599)
    expect((await browser.visit(page)).html).toContain('name="form"')
    login.runtime.advance(1)
    expect((await browser.visit(page)).html).toContain('name="password"')
  })

  it('the page names the ended connection, and its cookie stays small', async () => {
    await login.shared.store.putClient(publicClient({ id: 'mcpc_flag', name: '🌉'.repeat(2000) }))
    await connect('one', { clientId: 'mcpc_flag' })
    const list = await signIn()
    const answer = await end(list, 'grant one')
    expect(answer.html).toContain('“<bdi>🌉🌉')
    expect(browser.cookieHeader(page).length).toBeLessThan(3000)
  })

  it.each<[what: string, grantId: string]>([
    ['of another person', 'grant eve'],
    ['that does not exist', 'grant nobody'],
    ['that ended before', 'grant ended'],
    ['without a name', ''],
  ])('a form ends nothing for a connection %s, with the same answer for each', async (_what, grantId) => {
    await addGrant(login.shared.store, grantSample('eve', { clientId: 'mcpc_public' }))
    await connect('ended')
    await login.shared.store.endGrant('grant ended', 'revoked_by_client', start)
    await connect('one')
    const list = await end(await signIn(), grantId)
    expect(list.html).toContain('The connection had already ended')
    expect(await isLive('grant eve')).toBe(true)
    expect(await isLive('grant one')).toBe(true)
    expect(login.logged()).not.toContain('connection_revoked')
  })

  it('a person ends all their connections, and none of other people', async () => {
    for (let index = 0; index < 201; index += 1) await connect(`${index}`)
    await addGrant(login.shared.store, grantSample('eve'))
    const list = await browser.submit(await signIn(), 'action', { action: 'end_all', connection: '' })
    expect(list.html).toContain('All connections ended')
    expect(list.html).toContain('No app is connected')
    expect(await isLive('grant eve')).toBe(true)
    expect(login.logged().match(/connection_revoked/g)).toHaveLength(201)
  })

  it('signing out of the connections page ends no connection', async () => {
    await connect('one')
    const out = await browser.submit(await signIn(), 'action', { action: 'sign_out' })
    expect(out.html).toContain('signed out of this page')
    expect((await browser.visit(page)).html).toContain('Sign in to manage')
    expect(await isLive('grant one')).toBe(true)
  })
})

describe('a form that the connections page did not make', () => {
  const attempt = { connection: 'grant one', action: 'end' }

  it.each<[what: string, form: () => Promise<string>]>([
    ['no seal', async () => ''],
    ['a made-up seal', async () => 'k.AAAA'],
    [
      'the seal of an earlier sign-in of the same browser',
      async () => {
        const list = await signIn()
        await browser.submit(list, 'action', { action: 'sign_out' })
        return hidden(list, 'form')
      },
    ],
  ])('a form with %s ends no connection', async (_what, form) => {
    await connect('one')
    const given = await form()
    await signIn()
    const answer = await post({ ...attempt, form: given })
    expect(answer.status).toBe(303)
    expect(answer.headers.get('location')).toBe('/account/connections')
    expect(await isLive('grant one')).toBe(true)
  })

  it('a form with an unknown action does nothing', async () => {
    await connect('one')
    const form = hidden(await signIn(), 'form')
    await post({ form, action: 'promote', connection: 'grant one' })
    expect(await isLive('grant one')).toBe(true)
  })

  it('a link cannot make the connections page show a notice', async () => {
    await signIn()
    const { html } = await browser.visit(`${page}?notice=all_ended&message=all_ended`)
    expect(html).not.toContain('have ended')
  })
})

describe('an allowed client that has not connected yet', () => {
  /** Allows a device of the client, which has not polled since. */
  async function allowDevice(): Promise<{ allowed: Visit; poll: () => Promise<string> }> {
    const { user_code: userCode, device_code: deviceCode } = await login.startDevice()
    const entry = await browser.visit('http://localhost:8787/oauth/device')
    const asked = await browser.submit(entry, 'user_code', { user_code: userCode })
    return {
      allowed: await browser.submit(asked, 'password', adasPassword),
      poll: () => login.pollDevice(deviceCode),
    }
  }
  const allowApp = async (): Promise<Visit> =>
    browser.submit(await login.open(browser), 'password', adasPassword)
  const codes = (): Promise<unknown[]> =>
    login.shared.store.listUnredeemedCodes(undefined, { now: start, limit: 10 })

  it('a waiting device is listed with a button that ends it', async () => {
    const { allowed, poll } = await allowDevice()
    expect(allowed.html).toContain('Your device can connect now')
    expect(allowed.html).toContain('2 minutes')
    login.runtime.advance(30)
    const list = await signIn()
    for (const text of [
      'Allowed, not connected yet',
      '“<bdi>Sample</bdi>”',
      'A device, with a code',
      'just now',
    ])
      expect(list.html).toContain(text)
    expect(list.html).not.toContain('No app is connected')
    const after = await end(list, hidden(list, 'connection'))
    expect(after.html).toContain('“<bdi>Sample</bdi>” is no longer connected')
    expect(after.html).toContain('No app is connected')
    expect(await poll()).toBe('expired_token')
    expect(login.logged()).toContain('connection_revoked')
  })

  it('ending all connections also ends waiting apps and devices, which get no tokens', async () => {
    const { poll } = await allowDevice()
    await allowApp()
    const list = await signIn()
    expect(list.html).toContain('An app')
    const ended = await browser.submit(list, 'action', { action: 'end_all', connection: '' })
    expect(ended.html).toContain('All connections ended')
    expect(ended.html).toContain('No app is connected')
    expect([await poll(), await codes()]).toEqual(['expired_token', []])
  })

  it('a waiting client is listed as connected once it has fetched its tokens', async () => {
    const { poll } = await allowDevice()
    expect(await poll()).toBe('approved')
    const list = await signIn()
    expect(list.html).toContain('One connection')
    expect(list.html).not.toContain('not connected yet')
  })

  it('the waiting client of another person is neither listed nor ended', async () => {
    await allowApp()
    const mine = await signIn()
    name = 'eve'
    const eve = login.browser()
    const list = await signIn(eve)
    expect(list.html).toContain('No app is connected')
    await eve.submit(list, 'form', { connection: hidden(mine, 'connection'), action: 'end' })
    expect(await codes()).toHaveLength(1)
  })
})

it('an allowed device gets no tokens after its person signed out everywhere at the provider', async () => {
  const drawbridge = await startDrawbridge({ sessionCheck: '2s' })
  const { client_id: clientId } = await drawbridge.register({ grant_types: [deviceGrantType] })
  const started = await drawbridge.postForm('/oauth/device_authorization', { client_id: clientId })
  const device = (await started.json()) as { device_code: string; user_code: string }
  const by = drawbridge.browser()
  const entry = await by.visit('http://localhost:8787/oauth/device')
  const asked = await by.submit(entry, 'user_code', { user_code: device.user_code })
  await by.submit(asked, 'password', account)
  const { admin } = drawbridge
  for (const { id } of admin.listSessions(admin.findUser(account.email)?.id ?? '')) admin.endSession(id)
  drawbridge.runtime.advance(3)
  const fields = { grant_type: deviceGrantType, client_id: clientId, device_code: device.device_code }
  const polled = await drawbridge.postForm('/oauth/token', fields)
  expect([polled.status, await polled.json()]).toMatchObject([400, { error: 'expired_token' }])
  await drawbridge.close()
})

it('a connected client is listed, can be ended, and its token is then refused at once', async () => {
  const drawbridge = await startDrawbridge()
  const { tokens } = await drawbridge.connect()
  expect((await drawbridge.callTool(tokens.access_token, 'whoami')).isError).toBe(false)
  const browser = drawbridge.browser()
  const list = await browser.submit(await browser.visit(page), 'password', account)
  expect(list.html).toContain('Test client')
  expect(list.html).toContain(`href="${appUrl}"`)
  const after = await browser.submit(list, 'connection', { action: 'end' })
  expect(after.html).toContain('No app is connected')
  await expect(drawbridge.callTool(tokens.access_token, 'whoami')).rejects.toThrow('401')
  expect(drawbridge.logged()).toContain('connection_revoked')
  const admin = drawbridge.admin
  const sessions = admin?.listSessions(admin.findUser(account.email)?.id ?? '')
  // The client's session waits for sign-out; the page's session has ended.
  expect(sessions).toHaveLength(1)
  await drawbridge.close()
})
