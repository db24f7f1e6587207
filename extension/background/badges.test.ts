import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { fakeBrowser } from 'wxt/testing/fake-browser'
import { appAllowed, jwt, now, sessionCookies } from '../../tests/support/extension/core/session-fixture.ts'
import {
  createMemoryBrowser,
  newTab,
  type MemoryBrowser,
  type MemoryWorld,
} from '../../tests/support/extension/platform/memory-browser.ts'
import { provide } from '../../tests/support/extension/platform/fake-web-extension.ts'
import { badgeAlarm, paintBadges } from './badges.ts'

vi.mock('webextension-polyfill', async () => ({
  default: (await import('wxt/testing/fake-browser')).fakeBrowser,
}))

/** The badge of each tab. */
let shown: Map<number, { text?: string; title?: string; color?: string }>

beforeEach(() => {
  fakeBrowser.reset()
  shown = new Map()
  const note = async ({ tabId, ...what }: { tabId: number }): Promise<void> => {
    shown.set(tabId, { ...shown.get(tabId), ...what })
  }
  provide('action.setBadgeText', note)
  provide('action.setTitle', note)
  provide('action.setBadgeBackgroundColor', note)
  provide('action.setBadgeTextColor', async () => {})
  const getMessage = (key: string, values: string[]): string => [key, ...values].join(' ')
  vi.stubGlobal('chrome', { i18n: { getMessage } })
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllGlobals()
})

function createWorld(given: Partial<MemoryWorld> = {}): MemoryBrowser {
  const browser = createMemoryBrowser({
    tabs: [newTab({ clicked: false })],
    cookies: sessionCookies(jwt({ exp: now + 3599 })),
    allowed: new Set(appAllowed),
    ...given,
  })
  const { world } = browser
  provide('tabs.query', async () =>
    world.tabs.map(({ id, url, incognito }) => ({ id, url, incognito, active: true })),
  )
  return browser
}

const isCounting = async (): Promise<boolean> => (await fakeBrowser.alarms.get(badgeAlarm)) !== undefined

describe('the badge', () => {
  it('says how many minutes are left, in words too, and is counted down', async () => {
    const browser = createWorld()
    const page = vi.spyOn(browser, 'page')
    const count = vi.spyOn(fakeBrowser.alarms, 'create')
    await paintBadges(browser)
    expect(shown.get(1)).toMatchObject({ text: '59', title: 'badge_minutes 59' })
    expect(await isCounting()).toBe(true)
    await browser.advance(3600 - 200)
    await paintBadges(browser)
    expect(shown.get(1)).toMatchObject({ text: '!3', title: 'badge_minutes 3' })
    await browser.advance(200)
    await paintBadges(browser)
    expect(shown.get(1)).toMatchObject({ text: 'x', title: 'badge_over' })
    expect(await isCounting()).toBe(false)
    expect(count).toHaveBeenCalledExactlyOnceWith(badgeAlarm, { periodInMinutes: 1 })
    expect(page).not.toHaveBeenCalled()
  })

  it.each<[string, Partial<MemoryWorld>, number]>([
    ['the session', { cookies: [] }, 1],
    ['the permission, without which no cookie is asked for', { allowed: new Set() }, 0],
    ['the web page, at one of the browser', { tabs: [newTab({ url: 'chrome://extensions/' })] }, 0],
  ])('goes with %s', async (_what, change, timesAsked) => {
    const browser = createWorld()
    await paintBadges(browser)
    Object.assign(browser.world, change)
    const cookies = vi.spyOn(browser, 'cookies')
    await paintBadges(browser)
    expect(shown.get(1)).toMatchObject({ text: '', title: 'extensionName' })
    expect(cookies).toHaveBeenCalledTimes(timesAsked)
    expect(await isCounting()).toBe(false)
  })

  it('is that of each window, and one that was closed meanwhile does not keep the others from theirs', async () => {
    const other = newTab({ id: 2, url: 'https://other.example.com/', clicked: false })
    const browser = createWorld({ tabs: [newTab({ id: 3 }), newTab({}), other] })
    const paint = vi.mocked(fakeBrowser.action.setBadgeText).getMockImplementation()
    provide('action.setBadgeText', async (details: { tabId: number; text: string }) => {
      if (details.tabId === 3) throw new Error('No tab with id: 3.')
      return paint?.(details)
    })
    await paintBadges(browser)
    expect([shown.get(1)?.text, shown.get(2)?.text]).toEqual(['59', ''])
  })

  it('has the word of the profile of the page for the name of the cookie', async () => {
    const profile = { id: 'a', label: 'A', appUrl: 'https://app.example.com', baseUrl: undefined }
    const browser = createWorld({
      cookies: sessionCookies(jwt(), { name: 'own-name' }),
      settings: { version: 1, profiles: [{ ...profile, cookieName: 'own-name' }] },
    })
    await paintBadges(browser)
    expect(shown.get(1)?.text).toBe('60')
  })

  it('holds no part of the token', async () => {
    const token = jwt({ email: 'ada@example.com' })
    await paintBadges(createWorld({ cookies: sessionCookies(token) }))
    const [head = '', claims = ''] = token.split('.')
    for (const text of [head, claims, 'ada@example.com'])
      expect(JSON.stringify([...shown])).not.toContain(text)
  })
})
