import { expect, test } from 'vitest'
import { createMemoryBrowser } from '../../../tests/support/extension/platform/memory-browser.ts'
import type { Browser } from '../ports.ts'
import { originPatterns } from '../site.ts'
import { lookAtTab, unknownTab } from './tab-look.ts'

/** Returns the parent host whose cookies are hidden from a tab, whose own and `allowed` may be read. */
async function hiddenAbove(url: string, allowed: readonly string[] = [], changes: Partial<Browser> = {}) {
  const browser = createMemoryBrowser()
  const tab = { ...unknownTab.tab, url }
  for (const origin of [new URL(url).origin, ...allowed])
    for (const pattern of originPatterns(origin)) browser.world.allowed.add(pattern)
  return (await lookAtTab({ ...browser, tab: async () => tab, ...changes }, tab)).further
}

test.each([
  ['app.example.com', 'example.com'],
  ['a.b.example.com', 'b.example.com'],
  ['app.xn--bcher-kva.example', 'xn--bcher-kva.example'],
  ['app.example.co.uk', 'example.co.uk'],
  ['example.co.uk', undefined],
  ['example.com', undefined],
  ['localhost', undefined],
  ['app.localhost', undefined],
  ['127.0.0.1', undefined],
  ['[::1]', undefined],
  ['[::ffff:7f00:1]', undefined],
])('the parent host of %s is %s', async (host, above) => {
  expect(await hiddenAbove(`https://${host}/path`)).toBe(above)
})

test('a look at the tab finds the nearest parent host without permission', async () => {
  const url = 'https://a.b.example.com:8443/path'
  expect(await hiddenAbove(url)).toBe('b.example.com')
  expect(await hiddenAbove(url, ['https://b.example.com'])).toBe('example.com')
  expect(await hiddenAbove(url, ['https://b.example.com', 'https://example.com'])).toBeUndefined()
})

test('a look at the tab finds no hidden host in Firefox, nor after a failure', async () => {
  const url = 'https://app.example.com/'
  expect(await hiddenAbove(url, [], { asksInTab: true })).toBeUndefined()
  const own = originPatterns('https://app.example.com')
  const mayRead: Browser['mayRead'] = async (patterns) => {
    if (patterns.some((pattern) => !own.includes(pattern))) throw new Error('No.')
    return true
  }
  expect(await hiddenAbove(url, [], { mayRead })).toBeUndefined()
})
