import { createSignal } from '@drawbridge/shared/async.ts'
import { type LinkedClient, linkedClients } from '@drawbridge/shared/clients/install-link.ts'
import type { CopyFormat } from './formats.ts'
import { describe, expect, it, test } from 'vitest'
import {
  createMemoryBrowser,
  type MemoryBrowser,
  newCookie,
  newTab,
} from '../../../tests/support/extension/platform/memory-browser.ts'
import { Popup } from './popup.ts'
import type { PopupView, ReadyView } from './popup-view.ts'
import type { Profile } from '../profile.ts'
import {
  appAllowed,
  cookieName,
  jwt,
  now,
  sessionCookies,
} from '../../../tests/support/extension/core/session-fixture.ts'

const app: Profile = {
  id: 'app',
  label: 'The app',
  appUrl: 'https://app.example.com',
  baseUrl: 'https://mcp.example.com',
  cookieName: undefined,
}
const settings = { version: 1, profiles: [app] } as const
const token = jwt()

interface Trial {
  browser: MemoryBrowser
  popup: Popup
  views: PopupView[]
  view(): PopupView
  ready(): ReadyView
}

async function open(start: Parameters<typeof createMemoryBrowser>[0] = {}): Promise<Trial> {
  return openIn(createMemoryBrowser(start))
}

async function openIn(browser: MemoryBrowser): Promise<Trial> {
  const views: PopupView[] = []
  const popup = new Popup(browser, (view) => views.push(view))
  await popup.start()
  const view = (): PopupView => views.at(-1) ?? { kind: 'loading' }
  const ready = (): ReadyView => {
    const last = view()
    if (last.kind !== 'ready') throw new Error(`The popup shows ${last.kind}.`)
    return last
  }
  return { browser, popup, views, view, ready }
}

describe('the first view', () => {
  it.each([
    ['a page of the browser', { url: 'chrome://extensions/' }],
    ['a file', { url: 'file:///tmp/a.html' }],
    ['a page that the extension may not even name', { clicked: false }],
  ])('the popup shows no web page for %s', async (_case, tab) => {
    const { view } = await open({ tabs: [newTab(tab)], settings })
    expect(view()).toEqual({ kind: 'no-web-page', appUrl: app.appUrl })
  })

  it('the popup shows no web page without a tab', async () => {
    const { view } = await open({ tabs: [] })
    expect(view()).toEqual({ kind: 'no-web-page', appUrl: undefined })
  })

  it.each([
    ['the page shows nothing', {}],
    ['the page refuses scripts', { refusesScripts: true }],
  ])('the popup offers the permission for %s if cookies are not allowed', async (_case, tab) => {
    const { view } = await open({ tabs: [newTab({ ...tab, incognito: true })] })
    expect(view()).toEqual({ kind: 'no-permission', host: 'app.example.com', incognito: true })
  })

  it('the popup shows signed out, with the way to the app, if it finds no session despite permission', async () => {
    const allowed = new Set([...appAllowed, 'https://example.com/*', 'http://example.com/*'])
    expect((await open({ allowed })).view()).toEqual({
      kind: 'signed-out',
      host: 'app.example.com',
      appUrl: undefined,
    })
    const elsewhere = { tabs: [newTab({ url: 'http://localhost:3000/' })], settings }
    const local = new Set(['http://localhost/*', 'https://localhost/*'])
    const { view, popup, browser } = await open({ ...elsewhere, allowed: local })
    expect(view()).toEqual({ kind: 'signed-out', host: 'localhost:3000', appUrl: app.appUrl })
    await popup.act({ kind: 'open-app' })
    expect(browser.world.openedTabs).toEqual([app.appUrl])
  })

  it('the popup tells missing chunks from values that are not a session', async () => {
    const [, second] = sessionCookies(token, { size: 450 })
    const incomplete = await open({ cookies: second ? [second] : [] })
    expect(incomplete.view()).toEqual({ kind: 'incomplete', host: 'app.example.com', project: 'abc' })
    const corrupt = await open({ cookies: [newCookie({ name: cookieName, value: 'base64-!' })] })
    expect(corrupt.view()).toEqual({
      kind: 'corrupt',
      host: 'app.example.com',
      project: 'abc',
      reason: 'malformed',
    })
  })

  it('the ready view has everything except the token', async () => {
    const { view } = await open({ cookies: sessionCookies(token), settings })
    expect(view()).toMatchObject({
      kind: 'ready',
      host: 'app.example.com',
      session: {
        account: 'ada@example.com',
        project: 'abc',
        issuer: 'abc.supabase.co',
        place: 'cookie',
        expiresAt: now + 3600,
      },
      hasOthers: false,
      masked: 'eyJhbG…ZXJl'.replace('ZXJl', token.slice(-4)),
      revealed: undefined,
      profile: { label: 'The app', server: 'https://mcp.example.com/mcp' },
      copied: undefined,
      copyFailed: false,
      test: { kind: 'none' },
    })
    expect(JSON.stringify(view())).not.toContain(token)
  })

  it.each([
    ['none: the host, and no server', undefined, 'app.example.com', undefined],
    ['the one of the settings', app, 'The app', 'https://mcp.example.com/mcp'],
  ])('the ready view shows the profile: %s', async (_case, profile, label, server) => {
    const settings = { version: 1, profiles: profile ? [profile] : [] } as const
    const { ready } = await open({ cookies: sessionCookies(token), settings })
    expect(ready().profile).toEqual({ label, server })
  })

  it('the popup shows one view, without the token, whatever part of the browser fails', async () => {
    const fail = (): Promise<never> => Promise.reject(new Error(`A message with ${token}`))
    for (const part of ['tab', 'cookies', 'page', 'mayRead', 'takeIntent', 'loadSettings'] as const) {
      const browser = createMemoryBrowser({ cookies: sessionCookies(token) })
      const { views } = await openIn({ ...browser, [part]: fail })
      expect(views, part).toHaveLength(1)
      expect(JSON.stringify(views)).not.toContain(token)
    }
  })
})

describe('asking for permission', () => {
  const cookies = sessionCookies(token, { httpOnly: true, size: 300 })

  it('the popup asks for permission in the click, and continues if the popup stays open', async () => {
    const { browser, popup, view } = await open({ cookies })
    const answered = popup.act({ kind: 'allow' })
    expect(browser.world.questions).toEqual([{ patterns: appAllowed, purpose: 'read' }])
    expect(browser.world.intent).toEqual({ kind: 'read', tabId: 1 })
    await answered
    expect(view().kind).toBe('ready')
    expect(browser.world.intent).toBeUndefined()
  })

  it('the popup continues in a new popup if the prompt closed the first', async () => {
    const { browser, popup, views } = await open({ cookies, questionClosesPopup: true })
    void popup.act({ kind: 'allow' })
    popup.close()
    await browser.advance(1)
    expect(views.map(({ kind }) => kind)).toEqual(['no-permission'])
    // The earlier click no longer counts for a popup opened by the background.
    browser.world.tabs = [newTab({ clicked: false })]
    const second = await openIn(browser)
    expect(second.view().kind).toBe('ready')
    expect(browser.world.intent).toBeUndefined()
  })

  it('the popup continues the connection test in a new popup', async () => {
    const trial = await open({ cookies: sessionCookies(token), settings, questionClosesPopup: true })
    void trial.popup.act({ kind: 'allow-test' })
    trial.popup.close()
    const patterns = ['https://mcp.example.com/*', 'http://mcp.example.com/*']
    expect(trial.browser.world.questions).toEqual([{ patterns, purpose: 'test' }])
    const second = await openIn(trial.browser)
    expect(second.ready().test).toEqual({ kind: 'unreachable', host: 'mcp.example.com' })
    expect(second.views.map((view) => view.kind === 'ready' && view.test.kind)).toEqual([
      'none',
      'running',
      'unreachable',
    ])
    // Only once: a third popup starts from scratch.
    expect((await openIn(trial.browser)).ready().test).toEqual({ kind: 'none' })
  })

  it('the popup does not continue the test in another tab', async () => {
    const { browser, popup } = await open({
      cookies: sessionCookies(token),
      settings,
      questionClosesPopup: true,
    })
    void popup.act({ kind: 'allow-test' })
    popup.close()
    browser.world.tabs.push(newTab({ id: 2 }))
    browser.world.activeTab = 2
    expect((await openIn(browser)).ready().test).toEqual({ kind: 'none' })
    expect(browser.world.requests).toEqual([])
  })

  it.each([
    ['be refused', async () => false],
    ['fail', () => Promise.reject(new Error('The manifest does not list it.'))],
  ])(
    'the request for permission may %s: nothing changes, and nothing waits to go on',
    async (_what, requestRead) => {
      const browser = createMemoryBrowser({ cookies })
      const { popup, view } = await openIn({ ...browser, requestRead })
      await popup.act({ kind: 'allow' })
      expect(view().kind).toBe('no-permission')
      expect(browser.world.intent).toBeUndefined()
    },
  )

  it('the settings page asks for permission in Firefox', async () => {
    const { browser, popup } = await open({ cookies, asksInTab: true })
    await popup.act({ kind: 'allow' })
    expect(browser.world.openedSettings).toEqual(['read=https%3A%2F%2Fapp.example.com&tab=1'])
    expect(browser.world.questions).toEqual([])
    const test = await open({ cookies: sessionCookies(token), settings, asksInTab: true })
    await test.popup.act({ kind: 'allow-test' })
    expect(test.browser.world.openedSettings).toEqual(['test=https%3A%2F%2Fmcp.example.com&tab=1'])
  })

  it('the popup asks for the parent domain when the host was not enough', async () => {
    const domain = { domain: 'example.com', hostOnly: false, httpOnly: true }
    const { browser, popup, view } = await open({ cookies: sessionCookies(token, domain) })
    await popup.act({ kind: 'allow' })
    expect(view()).toMatchObject({ kind: 'signed-out', host: 'app.example.com', further: 'example.com' })
    await popup.act({ kind: 'allow' })
    expect(browser.world.questions[1]?.patterns).toEqual(['https://example.com/*', 'http://example.com/*'])
    expect(view().kind).toBe('ready')
  })
})

describe('a session that ends', () => {
  it('a session becomes expired by itself', async () => {
    const { browser, views } = await open({ cookies: sessionCookies(jwt({ exp: now + 400 })) })
    const seen = (): unknown[] => views.map(({ kind }) => kind)
    await browser.advance(399)
    expect(seen()).toEqual(['ready'])
    await browser.advance(2)
    expect(seen()).toEqual(['ready', 'expired'])
    await browser.advance(1e6)
    expect(seen()).toHaveLength(2)
  })

  it('a session may expire in years', async () => {
    const { browser, views, ready } = await open({ cookies: sessionCookies(jwt({ exp: 1e300 })) })
    await browser.advance(10 * 86_400)
    expect(ready().session.expiresAt).toBe(8.64e12)
    expect(views.length).toBeLessThan(20)
  })

  it('reloading the app renews an expired session', async () => {
    const { browser, popup, view, views } = await open({ cookies: sessionCookies(jwt({ exp: now - 5 })) })
    expect(view()).toMatchObject({ kind: 'expired', session: { account: 'ada@example.com' }, waiting: false })
    browser.world.onReload = () => {
      browser.world.cookies = []
    }
    await popup.act({ kind: 'reload' })
    expect(view()).toMatchObject({ kind: 'expired', waiting: true })
    // The page is empty for a moment, which is not a result yet.
    await browser.advance(3)
    await browser.announceChange()
    expect(view()).toMatchObject({ kind: 'expired', waiting: true })
    browser.world.cookies = sessionCookies(token)
    await browser.announceChange()
    expect(view().kind).toBe('ready')
    const count = views.length
    await browser.advance(60)
    expect(views).toHaveLength(count)
  })

  it('the popup notices a renewed session without an event', async () => {
    const { browser, popup, view } = await open({ cookies: sessionCookies(jwt({ exp: now - 5 })) })
    await popup.act({ kind: 'reload' })
    browser.world.cookies = sessionCookies(token)
    await browser.advance(2)
    expect(view().kind).toBe('ready')
  })

  it('the popup stops waiting for a renewed session', async () => {
    const over = sessionCookies(jwt({ exp: now - 5 }))
    const { browser, popup, view } = await open({ cookies: over })
    await popup.act({ kind: 'reload' })
    await browser.advance(9.5)
    expect(view()).toMatchObject({ kind: 'expired', waiting: true })
    await browser.advance(1)
    expect(view()).toMatchObject({ kind: 'expired', waiting: false })
    browser.world.onReload = () => {
      browser.world.cookies = []
    }
    await popup.act({ kind: 'reload' })
    await browser.advance(11)
    expect(view().kind).toBe('no-permission')
  })

  it('the popup asks again for a permission that a reload revoked, as in Firefox', async () => {
    const cookies = sessionCookies(jwt({ exp: now - 5 }))
    const { browser, popup, view } = await open({ cookies, clickEndsWithReload: true })
    await popup.act({ kind: 'reload' })
    browser.world.cookies = sessionCookies(token)
    await browser.advance(11)
    expect(view()).toEqual({ kind: 'no-permission', host: 'app.example.com', incognito: false })
    await popup.act({ kind: 'allow' })
    expect(view().kind).toBe('ready')
  })

  it('the popup shows the expired session when the reload fails', async () => {
    const browser = createMemoryBrowser({ cookies: sessionCookies(jwt({ exp: now - 5 })) })
    const reload = (): Promise<never> => Promise.reject(new Error('The tab is gone.'))
    const { popup, view } = await openIn({ ...browser, reload })
    await popup.act({ kind: 'reload' })
    expect(view().kind).toBe('expired')
  })
})

describe('several sessions', () => {
  const cookies = [
    ...sessionCookies(jwt({ sub: 'a' })),
    ...sessionCookies(jwt({ sub: 'b', email: 'grace@example.com' }), { name: 'sb-two-auth-token' }),
  ]

  it('several sessions need a choice, which lasts while the popup is open', async () => {
    const { browser, popup, view, ready } = await open({ cookies })
    expect(view()).toMatchObject({ kind: 'several', sessions: [{ project: 'abc' }, { project: 'two' }] })
    await popup.act({ kind: 'choose', sessionId: 'sb-two-auth-token' })
    expect(ready()).toMatchObject({ session: { account: 'grace@example.com' }, hasOthers: true })
    browser.world.cookies = [
      ...sessionCookies(jwt({ sub: 'a' })),
      ...sessionCookies(jwt({ sub: 'b', email: 'renewed@example.com' }), { name: 'sb-two-auth-token' }),
    ]
    await browser.announceChange()
    expect(ready().session.account).toBe('renewed@example.com')
    await popup.act({ kind: 'show-all' })
    expect(view().kind).toBe('several')
    expect((await openIn(browser)).view().kind).toBe('several')
  })

  it('the popup forgets the choice of a session that is gone', async () => {
    const { browser, popup, ready } = await open({ cookies })
    await popup.act({ kind: 'choose', sessionId: 'sb-two-auth-token' })
    browser.world.cookies = sessionCookies(jwt({ sub: 'a' }))
    await browser.announceChange()
    expect(ready()).toMatchObject({ session: { project: 'abc' }, hasOthers: false })
    await popup.act({ kind: 'show-all' })
    expect(ready().session.project).toBe('abc')
    await popup.act({ kind: 'choose', sessionId: 'no such session' })
    expect(ready().session.project).toBe('abc')
  })

  it('the popup needs no choice if the profile names the cookie, or only one session is active', async () => {
    const profile = { ...app, cookieName: 'sb-two-auth-token' }
    const named = await open({ cookies, settings: { version: 1, profiles: [profile] } })
    expect(named.ready()).toMatchObject({ session: { project: 'two' }, hasOthers: true })
    const over = sessionCookies(jwt({ exp: now - 1 }), { name: 'sb-old-auth-token' })
    const one = await open({ cookies: [...over, ...sessionCookies(token)] })
    expect(one.ready()).toMatchObject({ session: { project: 'abc' }, hasOthers: true })
    expect((await open({ cookies: over })).view()).toMatchObject({
      kind: 'expired',
      session: { project: 'old' },
    })
  })
})

describe('the ready screen', () => {
  it('copying writes in the click, says so, and stops saying so after two seconds', async () => {
    const { browser, popup, ready } = await open({ cookies: sessionCookies(token), settings })
    void popup.act({ kind: 'copy', format: 'header' })
    expect(browser.world.clipboard).toBe(`Authorization: Bearer ${token}`)
    void popup.act({ kind: 'copy', format: 'token' })
    expect(browser.world.clipboard).toBe(token)
    await browser.advance(0.1)
    expect(ready().copied).toBe('token')
    await browser.advance(1.8)
    expect(ready().copied).toBe('token')
    await browser.advance(0.2)
    expect(ready().copied).toBeUndefined()
  })

  it('a command that is copied on Windows is one for PowerShell', async () => {
    const { browser, popup } = await open({ cookies: sessionCookies(token), settings, onWindows: true })
    await popup.act({ kind: 'copy', format: 'environment' })
    expect(browser.world.clipboard).toBe(`$env:DRAWBRIDGE_TOKEN = '${token}'`)
  })

  it('the ready screen says that copying failed, until it works', async () => {
    const { browser, popup, ready } = await open({ cookies: sessionCookies(token), clipboardFails: true })
    await popup.act({ kind: 'copy', format: 'token' })
    expect(ready()).toMatchObject({ copied: undefined, copyFailed: true })
    await browser.advance(10)
    expect(ready().copyFailed).toBe(true)
    browser.world.clipboardFails = false
    await popup.act({ kind: 'copy', format: 'token' })
    expect(ready()).toMatchObject({ copied: 'token', copyFailed: false })
  })

  const hasToken: Record<CopyFormat, boolean> = {
    token: true,
    header: true,
    environment: true,
    curl: true,
    bridge: true,
    'config-claude-code': false,
    'config-claude-desktop': false,
    'config-cursor': false,
    'config-vscode': false,
    'config-codex': false,
    'test-claude-code': true,
    'test-cursor': true,
    'test-vscode': false,
  }
  it('the popup copies every format, configurations without the token', async () => {
    const { browser, popup } = await open({ cookies: sessionCookies(token), settings })
    for (const format of Object.keys(hasToken) as CopyFormat[]) {
      browser.world.clipboard = undefined
      await popup.act({ kind: 'copy', format })
      const clipboard = String(browser.world.clipboard)
      expect(clipboard, format).not.toBe('undefined')
      expect(clipboard.includes(token), format).toBe(hasToken[format])
    }
  })

  it('the popup copies nothing without a session', async () => {
    const { browser, popup } = await open({ cookies: sessionCookies(jwt({ exp: now - 1 })) })
    await popup.act({ kind: 'copy', format: 'token' })
    expect(browser.world.clipboard).toBeUndefined()
  })

  it('the ready screen reveals the token for ten seconds', async () => {
    const { browser, popup, ready } = await open({ cookies: sessionCookies(token) })
    await popup.act({ kind: 'reveal' })
    expect(ready().revealed).toBe(token)
    await browser.advance(9.9)
    expect(ready().revealed).toBe(token)
    await browser.advance(0.2)
    expect(ready().revealed).toBeUndefined()
    await popup.act({ kind: 'reveal' })
    await popup.act({ kind: 'hide' })
    expect(ready().revealed).toBeUndefined()
  })

  it('the ready screen forgets test and copy status of another token', async () => {
    const { browser, popup, ready } = await open({ cookies: sessionCookies(token), settings })
    await popup.act({ kind: 'reveal' })
    await popup.act({ kind: 'copy', format: 'token' })
    await popup.act({ kind: 'test' })
    expect(ready().test.kind).toBe('no-permission')
    await browser.announceChange()
    expect(ready()).toMatchObject({ revealed: token, copied: 'token', test: { kind: 'no-permission' } })
    browser.world.cookies = sessionCookies(jwt({ sub: 'other' }))
    await browser.announceChange()
    expect(ready()).toMatchObject({ revealed: undefined, copied: undefined, test: { kind: 'none' } })
  })

  it('the connection test sends the token only to the server of the profile, and only on request', async () => {
    const { browser, popup, ready } = await open({ cookies: sessionCookies(token), settings })
    expect(browser.world.requests).toEqual([])
    browser.world.respond = () => {
      return {
        status: 401,
        headers: { 'www-authenticate': `Bearer error="invalid_token", error_description="Bad ${token}."` },
      }
    }
    await popup.act({ kind: 'test' })
    expect(ready().test).toEqual({
      kind: 'refused',
      status: 401,
      error: 'invalid_token',
      description: 'Bad ….',
    })
    expect(browser.world.requests.map(({ url }) => url)).toEqual(['https://mcp.example.com/mcp'])
  })

  it('the ready screen drops the result of a test for a token that was replaced', async () => {
    const { browser, popup, ready } = await open({ cookies: sessionCookies(token), settings })
    const testing = popup.act({ kind: 'test' })
    browser.world.cookies = sessionCookies(jwt({ sub: 'other' }))
    await browser.announceChange()
    await testing
    expect(ready().test).toEqual({ kind: 'none' })
  })

  it('the ready screen shows no result of a test that ends after its token was replaced', async () => {
    const memory = createMemoryBrowser({ cookies: sessionCookies(token), settings })
    const network = createSignal()
    const fetch: MemoryBrowser['fetch'] = async (request) => {
      await network.given
      return memory.fetch(request)
    }
    const { browser, popup, ready } = await openIn({ ...memory, fetch })
    const testing = popup.act({ kind: 'test' })
    expect(ready().test).toEqual({ kind: 'running' })
    browser.world.cookies = sessionCookies(jwt({ sub: 'other' }))
    await browser.announceChange()
    network.give()
    await testing
    expect(ready().test).toEqual({ kind: 'none' })
  })
})

describe('a server that the page announces', () => {
  const announced = 'https://mcp.example.com/mcp'
  const cookies = sessionCookies(token)
  const tab = newTab({ announced, url: 'https://app.example.com/notes?private' })

  it('an announced server is shown, and not used, stored or asked before the click', async () => {
    const { browser, popup, ready } = await open({ cookies, tabs: [tab] })
    expect(ready()).toMatchObject({
      announced: { server: announced, isOtherHost: true },
      profile: { server: undefined },
    })
    await popup.act({ kind: 'test' })
    await popup.act({ kind: 'allow-test' })
    await popup.act({ kind: 'open-client', client: 'cursor' })
    await popup.act({ kind: 'copy', format: 'token' })
    expect(browser.world).toMatchObject({
      requests: [],
      questions: [],
      openedTabs: [],
      settings: { profiles: [] },
    })
  })

  it('a confirmed announced server becomes a profile', async () => {
    const { browser, popup, ready } = await open({ cookies, tabs: [tab] })
    await popup.act({ kind: 'use-server' })
    const { profiles } = browser.world.settings
    expect(profiles).toEqual([
      {
        id: expect.any(String),
        label: 'app.example.com',
        appUrl: 'https://app.example.com',
        baseUrl: 'https://mcp.example.com',
        cookieName: undefined,
      },
    ])
    expect(ready()).toMatchObject({ announced: undefined, profile: { server: announced } })
    await popup.act({ kind: 'copy', format: 'curl' })
    expect(browser.world.clipboard).toContain(`curl '${announced}'`)
    await popup.act({ kind: 'test' })
    expect(browser.world.requests.map(({ url }) => url)).toEqual([announced])
  })

  it('a confirmed server completes the app’s profile and leaves others alone', async () => {
    const other = { ...app, id: 'other', appUrl: 'https://other.example.com' }
    const named = { ...app, baseUrl: undefined, cookieName: 'session' }
    const { browser, popup } = await open({
      cookies,
      tabs: [tab],
      settings: { version: 1, profiles: [other, named] },
    })
    await popup.act({ kind: 'use-server' })
    expect(browser.world.settings.profiles).toEqual([other, { ...named, baseUrl: 'https://mcp.example.com' }])
  })

  it('the popup ignores the announced server if one is set, and at another app', async () => {
    const evil = newTab({ announced: 'https://evil.example/mcp' })
    const { browser, popup, ready } = await open({ cookies, tabs: [evil], settings })
    expect(ready()).toMatchObject({ announced: undefined, profile: { server: announced } })
    await popup.act({ kind: 'use-server' })
    expect(browser.world.settings).toEqual(settings)
  })

  it('the announced server cannot be exchanged while it is shown', async () => {
    const changing = { ...tab }
    const { browser, popup, ready } = await open({ cookies, tabs: [changing] })
    changing.announced = 'https://evil.example/mcp'
    changing.url = 'https://app.example.com/elsewhere'
    await browser.announceChange()
    expect(ready().announced?.server).toBe(announced)
    await popup.act({ kind: 'use-server' })
    expect(ready().profile.server).toBe(announced)
  })

  it.each([
    ['https://app.example.com/mcp', false],
    ['https://app.example.com:8443/mcp', false],
    ['https://mcp.example.com/mcp', true],
    ['https://app.example.com.evil.example/mcp', true],
    ['http://localhost:8787/mcp', true],
  ])('the announced server %s is on another host: %s', async (address, isOtherHost) => {
    const { ready } = await open({ cookies, tabs: [newTab({ announced: address })] })
    expect(ready().announced).toEqual({ server: address, isOtherHost })
  })
})

test('the popup opens every linked client of the table, with the server’s name and without the token', async () => {
  const { browser, popup } = await open({ cookies: sessionCookies(token), settings })
  const clients = Object.keys(linkedClients) as LinkedClient[]
  for (const client of clients) await popup.act({ kind: 'open-client', client })
  const server = { name: 'example-com', url: 'https://mcp.example.com/mcp' }
  const all = Object.values(linkedClients)
  expect(browser.world.openedTabs).toEqual(all.map(({ link }) => link(server)))
  expect(browser.world.openedTabs.join(' ')).not.toContain(token)
})

it('the settings open with a new profile on a page without one', async () => {
  const url = 'https://app.example.com/path?secret'
  const unknown = await open({ tabs: [newTab({ url })] })
  await unknown.popup.act({ kind: 'settings' })
  expect(unknown.browser.world.openedSettings).toEqual(['new=https%3A%2F%2Fapp.example.com&tab=1'])
  const known = await open({ tabs: [newTab({ url })], settings })
  await known.popup.act({ kind: 'settings' })
  expect(known.browser.world.openedSettings).toEqual([''])
})

it('changed settings count at the next reading', async () => {
  const { browser, popup, ready } = await open({ cookies: sessionCookies(token) })
  browser.world.settings = settings
  await popup.act({ kind: 'read-again' })
  expect(ready().profile.server).toBe('https://mcp.example.com/mcp')
})

describe('the end', () => {
  it('a closed popup shows nothing and stops all timers', async () => {
    const { browser, popup, views } = await open({
      cookies: sessionCookies(jwt({ exp: now + 400 })),
      settings,
    })
    await popup.act({ kind: 'reveal' })
    const testing = popup.act({ kind: 'test' })
    const count = views.length
    popup.close()
    await testing
    await browser.announceChange()
    await browser.advance(1000)
    await popup.act({ kind: 'copy', format: 'token' })
    expect(views).toHaveLength(count)
    expect(browser.world.clipboard).toBeUndefined()
  })

  it('a popup can be closed before its first view', async () => {
    const browser = createMemoryBrowser({ cookies: sessionCookies(token) })
    const views: PopupView[] = []
    const popup = new Popup(browser, (view) => views.push(view))
    const starting = popup.start()
    popup.close()
    await starting
    expect(views).toEqual([])
  })
})

test('a later reading wins over an earlier, slower one', async () => {
  const browser = createMemoryBrowser({ cookies: sessionCookies(token), allowed: new Set(appAllowed) })
  const { popup, ready } = await openIn(browser)
  let release = (): void => {}
  const slow = new Promise<void>((resolve) => {
    release = resolve
  })
  const real = browser.loadSettings
  browser.loadSettings = async () => {
    browser.loadSettings = real
    await slow
    return real()
  }
  const first = popup.act({ kind: 'read-again' })
  browser.world.cookies = sessionCookies(jwt({ email: 'new@example.com' }))
  await popup.act({ kind: 'read-again' })
  browser.world.cookies = sessionCookies(jwt({ email: 'newest@example.com' }))
  release()
  await first
  expect(ready().session.account).toBe('new@example.com')
})
