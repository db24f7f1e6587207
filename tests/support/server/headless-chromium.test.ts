import { expect, test, vi } from 'vitest'
import { findChromium } from './headless-chromium.ts'

test('CHROMIUM_BIN comes before PATH', () => {
  expect(findChromium({ CHROMIUM_BIN: process.execPath, PATH: '/nowhere' })).toBe(process.execPath)
})

test('a missing browser is one line on stderr that names the package', () => {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  expect(findChromium({ CHROMIUM_BIN: '/nowhere/chromium', PATH: '/nowhere' })).toBeUndefined()
  expect(write.mock.calls).toEqual([[expect.stringMatching(/^skipped: .*apt package `chromium`\n$/)]])
  write.mockRestore()
})

test('a missing browser is a failure when CI=true', () => {
  expect(() => findChromium({ PATH: '/nowhere', CI: 'true' })).toThrow('apt package `chromium`')
})
