import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { fakeBrowser } from 'wxt/testing/fake-browser'
import type { Tab } from '../core/ports.ts'
import { createBrowser } from './browser.ts'
import { createSettingsBrowser } from './settings-browser.ts'
import { provide, provideEvent } from '../../tests/support/extension/platform/fake-web-extension.ts'

vi.mock('webextension-polyfill', async () => ({
  default: (await import('wxt/testing/fake-browser')).fakeBrowser,
}))

const page: Tab = { id: 7, url: 'http://localhost:3000/notes', incognito: false }

beforeEach(async () => {
  fakeBrowser.reset()
  await fakeBrowser.windows.create({ focused: true })
  vi.stubGlobal('location', { hash: '' })
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
  vi.unstubAllEnvs()
  vi.useRealTimers()
})

/** Acts as the Firefox build. */
const pretendFirefox = (): void => void vi.stubEnv('FIREFOX', 'true')

it.each(['#tab=99', '#tab=-1', '#tab='])(
  'the popup is about no tab for %s if there is none',
  async (hash) => {
    vi.stubGlobal('location', { hash })
    provide('tabs.get', () => Promise.reject(new Error('No tab with id')))
    provide('tabs.query', () => Promise.resolve([]))
    expect(await createBrowser().tab()).toBeUndefined()
  },
)

describe('cookies', () => {
  const cookie = {
    name: 'sb-a-auth-token',
    value: 'base64-x',
    domain: 'localhost',
    path: '/',
    httpOnly: true,
  }

  it('the browser reads cookies from the tab’s store, partitions included', async () => {
    provide('cookies.getAllCookieStores', async () => [
      { id: '0', tabIds: [1, 2] },
      { id: '1', tabIds: [7] },
    ])
    const getAll = provide('cookies.getAll', async () => [{ ...cookie, storeId: '1', secure: true }])
    expect(await createBrowser().cookies(page)).toMatchObject([
      { ...cookie, storeId: '1', partition: undefined },
    ])
    expect(getAll).toHaveBeenCalledExactlyOnceWith({ url: page.url, storeId: '1', partitionKey: {} })
  })

  it('the browser reads cookies in Firefox from the container, of any first party', async () => {
    pretendFirefox()
    provide('tabs.get', async () => ({ cookieStoreId: 'firefox-container-2' }))
    const getAll = provide('cookies.getAll', async () => [])
    await createBrowser().cookies({ ...page, url: 'http://app.example.com/' })
    expect(getAll).toHaveBeenCalledExactlyOnceWith({
      url: 'http://app.example.com/',
      storeId: 'firefox-container-2',
      partitionKey: {},
      firstPartyDomain: null,
    })
  })

  it.each([
    ['http://localhost:3000/a', 'https://localhost:3000/a'],
    ['http://127.0.0.1/', 'https://127.0.0.1/'],
    ['http://a.localhost/', 'https://a.localhost/'],
    ['http://localhost.example.com/', 'http://localhost.example.com/'],
    ['http://127.example.com/', 'http://127.example.com/'],
  ])(
    'the browser in Firefox at %s reads the cookies of %s, where it shows Secure ones',
    async (url, asked) => {
      pretendFirefox()
      provide('tabs.get', async () => ({}))
      const getAll = provide('cookies.getAll', async () => [])
      await createBrowser().cookies({ ...page, url })
      expect(getAll.mock.calls[0]?.[0]).toMatchObject({ url: asked })
    },
  )

  it('partitioned cookies count only for the site in the tab', async () => {
    provide('cookies.getAllCookieStores', async () => [])
    provide('cookies.getAll', async () =>
      ['https://example.com', 'https://portal.test', 'https://ample.com', 'nonsense'].map((topLevelSite) =>
        Object.assign({ storeId: '0', partitionKey: { topLevelSite } }, cookie),
      ),
    )
    const found = await createBrowser().cookies({ ...page, url: 'https://app.example.com/' })
    expect(found.map(({ partition }) => partition)).toEqual(['https://example.com'])
  })

  it('the browser reads no cookies of a tab without an address, without a query', async () => {
    const getAll = provide('cookies.getAll', async () => [cookie])
    expect(await createBrowser().cookies({ ...page, url: undefined })).toEqual([])
    expect(getAll).not.toHaveBeenCalled()
  })
})

it('the browser reads the page by a function in the tab', async () => {
  const view = { cookies: [{ name: 'a', value: 'b' }], entries: [] }
  const execute = provide('scripting.executeScript', async () => [{ frameId: 0, result: view }])
  expect(await createBrowser().page(page, ['session'])).toEqual(view)
  expect(execute.mock.calls[0]?.[0]).toMatchObject({ target: { tabId: 7 }, args: [['session']] })
})

it.each([
  ['the browser does not let anyone in', () => Promise.reject(new Error('Cannot access contents'))],
  ['the script came to nothing', () => Promise.resolve([{ frameId: 0 }])],
  ['there is no frame', () => Promise.resolve([])],
])('the browser reports the page as refused when %s', async (_when, execute) => {
  provide('scripting.executeScript', execute)
  expect(await createBrowser().page(page, [])).toBe('refused')
})

describe('permissions', () => {
  const patterns = ['https://mcp.example.com/*']

  it('the browser asks for permissions in the click, before anything is awaited', () => {
    const request = provide('permissions.request', () => new Promise(() => {}))
    void createBrowser().requestRead(patterns, 'read')
    expect(request).toHaveBeenCalledExactlyOnceWith({ origins: patterns })
  })

  it.each([
    { browser: 'Chromium', purpose: 'read', expected: { origins: patterns } },
    { browser: 'Chromium', purpose: 'test', expected: { origins: patterns } },
    { browser: 'Firefox', purpose: 'read', expected: { origins: patterns } },
    {
      browser: 'Firefox',
      purpose: 'test',
      expected: { origins: patterns, data_collection: ['authenticationInfo'] },
    },
  ] as const)(
    'the browser asks for the permission to $purpose in $browser',
    async ({ browser, purpose, expected }) => {
      if (browser === 'Firefox') pretendFirefox()
      const contains = provide('permissions.contains', async () => true)
      const request = provide('permissions.request', async () => true)
      const { mayRead, requestRead } = createBrowser()
      expect([await mayRead(patterns, purpose), await requestRead(patterns, purpose)]).toEqual([true, true])
      expect(contains).toHaveBeenCalledExactlyOnceWith(expected)
      expect(request).toHaveBeenCalledExactlyOnceWith(expected)
    },
  )
})

it('an intent is taken once, and passed to the browser before the first await', async () => {
  const set = vi.spyOn(fakeBrowser.storage.session, 'set')
  const browser = createBrowser()
  browser.setIntent({ kind: 'test', tabId: 7 })
  expect(set).toHaveBeenCalledOnce()
  expect(await browser.takeIntent()).toMatchObject({ kind: 'test', tabId: 7 })
  expect(await browser.takeIntent()).toBeUndefined()
})

it('an intent expires after a minute', async () => {
  vi.useFakeTimers({ now: 1_000_000, toFake: ['Date'] })
  const browser = createBrowser()
  browser.setIntent({ kind: 'read', tabId: 0 })
  vi.setSystemTime(1_059_999)
  expect(await browser.takeIntent()).toMatchObject({ kind: 'read', tabId: 0 })
  browser.setIntent({ kind: 'read', tabId: 0 })
  vi.setSystemTime(1_119_999)
  expect(await browser.takeIntent()).toBeUndefined()
})

it('settings are stored for the next start, and empty at first', async () => {
  const browser = createBrowser()
  expect(await browser.loadSettings()).toEqual({ version: 1, profiles: [] })
  const profile = {
    id: 'a',
    label: 'Staging',
    appUrl: 'https://app.example.com',
    baseUrl: 'https://mcp.example.com',
    cookieName: undefined,
  }
  await browser.saveSettings({ version: 1, profiles: [profile] })
  expect((await createBrowser().loadSettings()).profiles).toEqual([profile])
})

it('damaged settings do not keep the popup from opening', async () => {
  await fakeBrowser.storage.local.set({ settings: { version: 'x', profiles: 7 } })
  expect(await createBrowser().loadSettings()).toEqual({ version: 1, profiles: [] })
})

describe('a change of the session', () => {
  let cookies: ReturnType<typeof provideEvent>
  let tabs: ReturnType<typeof provideEvent>
  beforeEach(() => {
    vi.useFakeTimers()
    cookies = provideEvent('cookies.onChanged')
    tabs = provideEvent('tabs.onUpdated')
    listener = vi.fn<() => void>()
    stop = createBrowser().onSessionChange({ ...page, url: 'https://app.example.com/notes' }, listener)
  })
  let listener: ReturnType<typeof vi.fn<() => void>>
  let stop: () => void

  it('the browser reports a change once for all chunks of a session', () => {
    for (let chunk = 0; chunk < 5; chunk += 1) {
      cookies.emit({ cookie: { domain: '.example.com' } })
      vi.advanceTimersByTime(100)
    }
    expect(listener).not.toHaveBeenCalled()
    vi.advanceTimersByTime(50)
    expect(listener).toHaveBeenCalledOnce()
  })

  it.each([
    ['app.example.com', true],
    ['.app.example.com', true],
    ['example.com', true],
    ['other.example.com', false],
    ['pp.example.com', false],
    ['app.example.com.evil.test', false],
  ])('the browser reports a change of a cookie of %s: %s', (domain, expected) => {
    cookies.emit({ cookie: { domain } })
    vi.advanceTimersByTime(1000)
    expect(listener).toHaveBeenCalledTimes(expected ? 1 : 0)
  })

  it('the browser reports the end of loading of that tab', () => {
    tabs.emit(8, { status: 'complete' })
    tabs.emit(7, { status: 'loading' })
    tabs.emit(7, {})
    vi.advanceTimersByTime(1000)
    expect(listener).not.toHaveBeenCalled()
    tabs.emit(7, { status: 'complete' })
    vi.advanceTimersByTime(1000)
    expect(listener).toHaveBeenCalledOnce()
  })

  it('the browser reports no change after it was stopped', () => {
    cookies.emit({ cookie: { domain: 'app.example.com' } })
    stop()
    vi.advanceTimersByTime(1000)
    expect(listener).not.toHaveBeenCalled()
    expect([cookies.listeners, tabs.listeners]).toEqual([0, 0])
  })
})

it('a timer calls back once, unless it was cancelled', () => {
  vi.useFakeTimers()
  const [first, second] = [vi.fn(), vi.fn()]
  const browser = createBrowser()
  browser.setTimer(first, 100)
  browser.setTimer(second, 100)()
  vi.advanceTimersByTime(1000)
  expect([first.mock.calls.length, second.mock.calls.length]).toEqual([1, 0])
})

it('the browser of the settings page lists allowed sites and revokes a permission', async () => {
  provide('permissions.getAll', async () => ({ origins: ['https://app.example.com/*'], permissions: [] }))
  const remove = provide('permissions.remove', async () => true)
  const browser = createSettingsBrowser()
  expect(await browser.allowed()).toEqual(['https://app.example.com/*'])
  await browser.forget(['https://app.example.com/*'])
  expect(remove).toHaveBeenCalledExactlyOnceWith({ origins: ['https://app.example.com/*'] })
})

it('the browser of the settings page returns to the tab and closes the settings page', async () => {
  const app = await fakeBrowser.tabs.create({ url: 'https://app.example.com/' })
  const own = await fakeBrowser.tabs.create({ url: 'chrome-extension://x/options.html', active: true })
  provide('tabs.getCurrent', async () => own)
  const remove = provide('tabs.remove', async () => {})
  expect(await createSettingsBrowser().returnTo(app.id ?? -1)).toBe(true)
  const tabs = await fakeBrowser.tabs.query({})
  expect(tabs.find((tab: { id?: number }) => tab.id === app.id)?.active).toBe(true)
  expect(remove).toHaveBeenCalledExactlyOnceWith(own.id)
})

it('the browser of the settings page keeps the settings page open when the tab is gone', async () => {
  provide('tabs.update', () => Promise.reject(new Error('No tab with id')))
  const remove = provide('tabs.remove', async () => {})
  expect(await createSettingsBrowser().returnTo(99)).toBe(false)
  expect(remove).not.toHaveBeenCalled()
})
