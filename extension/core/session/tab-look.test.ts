import { expect, test } from 'vitest'
import { createMemoryBrowser } from '../../../tests/support/extension/platform/memory-browser.ts'
import { findHiddenHost, hostAbove } from './tab-look.ts'
import { originPatterns } from '../site.ts'

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
])('the parent host of %s is %s', (host, above) => {
  expect(hostAbove(host)).toBe(above)
})

test('finds the nearest parent host without permission', async () => {
  const browser = createMemoryBrowser()
  const hidden = (): Promise<string | undefined> =>
    findHiddenHost(browser, 'https://a.b.example.com:8443/path')
  const allow = (host: string): void => {
    for (const pattern of originPatterns(`https://${host}`)) browser.world.allowed.add(pattern)
  }
  expect(await hidden()).toBe('b.example.com')
  allow('b.example.com')
  expect(await hidden()).toBe('example.com')
  allow('example.com')
  expect(await hidden()).toBeUndefined()
})

test('finds no hidden host in Firefox, nor after a failure', async () => {
  const url = 'https://app.example.com'
  expect(await findHiddenHost(createMemoryBrowser({ asksInTab: true }), url)).toBeUndefined()
  const mayRead = (): Promise<never> => Promise.reject(new Error('No.'))
  expect(await findHiddenHost({ ...createMemoryBrowser(), mayRead }, url)).toBeUndefined()
})
