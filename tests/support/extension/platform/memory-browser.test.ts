import { describe, expect, it, test } from 'vitest'
import {
  createMemoryBrowser,
  type MemoryCookie,
  type MemoryTab,
  newCookie,
  newTab,
} from './memory-browser.ts'

/** Returns the names of the cookies visible with permission, and to the page, for one tab. */
async function seen(
  cookies: readonly MemoryCookie[],
  allowed: readonly string[],
  given: Partial<MemoryTab> = {},
): Promise<{ api: string[]; page: string[] | 'refused' }> {
  const browser = createMemoryBrowser({
    cookies: [...cookies],
    allowed: new Set(allowed),
    tabs: [newTab(given)],
  })
  const tab = { id: 1, url: given.url ?? 'https://app.example.com/', incognito: false }
  const page = await browser.page(tab, ['a', 'b'])
  return {
    api: (await browser.cookies(tab)).map(({ name }) => name),
    page: page === 'refused' ? page : page.cookies.map(({ name }) => name),
  }
}

const both = ['https://app.example.com/*', 'http://app.example.com/*']
const cookie = (name: string, given: Partial<MemoryCookie> = {}): MemoryCookie =>
  newCookie({ name, value: 'v', ...given })

// Each row was measured in Chromium 156.
describe('who sees which cookie', () => {
  test.each<[string, Partial<MemoryCookie>, readonly string[], boolean, boolean]>([
    ['without permission none', {}, [], false, true],
    ['with both schemes all', {}, both, true, true],
    ['HttpOnly is not for the page', { httpOnly: true }, both, true, false],
    ['Secure takes https', { secure: true }, both.slice(1), false, true],
    ['not Secure takes http, on an https page too', {}, both.slice(0, 1), false, true],
    [
      'a domain cookie takes permission for the domain',
      { domain: 'example.com', hostOnly: false },
      both,
      false,
      true,
    ],
    [
      'which is enough in addition to the host',
      { domain: 'example.com', hostOnly: false },
      [...both, 'http://example.com/*'],
      true,
      true,
    ],
    [
      'host-only is not for hosts below',
      { domain: 'example.com' },
      [...both, 'http://example.com/*'],
      false,
      false,
    ],
    ['another path', { path: '/admin' }, both, false, false],
    ['another store', { storeId: '1' }, both, false, false],
    ['a partition of the site itself', { partition: 'https://example.com', secure: true }, both, true, true],
    ['a partition of another site', { partition: 'https://other.example', secure: true }, both, false, false],
  ])('%s', async (_rule, given, allowed, api, page) => {
    expect(await seen([cookie('a', given)], allowed)).toEqual({
      api: api ? ['a'] : [],
      page: page ? ['a'] : [],
    })
  })

  it('the page shows nothing without a click or permission, or where scripts are refused', async () => {
    expect((await seen([cookie('a')], [], { clicked: false })).page).toBe('refused')
    expect((await seen([cookie('a')], both, { clicked: false })).page).toEqual(['a'])
    expect((await seen([cookie('a')], both, { refusesScripts: true })).page).toBe('refused')
    expect((await seen([cookie('a')], both, { url: 'chrome://settings/' })).page).toBe('refused')
  })
})

test('the address of a tab is a secret without a click or permission', async () => {
  const browser = createMemoryBrowser({ tabs: [newTab({ clicked: false })] })
  expect(await browser.tab()).toEqual({ id: 1, url: undefined, incognito: false })
  browser.world.allowed.add('https://app.example.com/*')
  expect((await browser.tab())?.url).toBe('https://app.example.com/')
})
