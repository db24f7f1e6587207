import { describe, expect, test } from 'vitest'
import { deviceEntryPage, type DeviceEntryView } from './device-entry-page.ts'
import { deviceEntrySample } from '../../../tests/support/pages/view-sample.ts'

const attack = `"'><script>alert(1)</script><img src=x onerror=alert(1)>&`
const fields: readonly [string, Partial<DeviceEntryView>][] = [
  ['action', { action: attack }],
  ['form', { form: attack }],
  ['user code', { userCode: attack }],
  ['app name', { appName: attack }],
  ['error', { error: attack }],
]

test.each(fields)('the %s is escaped', (_field, part) => {
  const page = deviceEntryPage({ ...deviceEntrySample, ...part })
  expect(page).toContain('&lt;script&gt;')
  expect(page).not.toMatch(/<script|<img|"'>/)
})

describe('the field', () => {
  const input = /<input\s+id="user_code"[^>]*>/.exec(deviceEntryPage(deviceEntrySample))?.[0] ?? ''

  test('opens a phone’s keyboard with capitals and without corrections', () => {
    for (const attribute of [
      'inputmode="text"',
      'autocapitalize="characters"',
      'autocomplete="off"',
      'autocorrect="off"',
      'spellcheck="false"',
      'autofocus',
      'required',
    ]) {
      expect(input).toContain(attribute)
    }
  })

  test.each([
    ['WDJB-MJHT', true],
    ['wdjbmjht', true],
    [' wdjb mjht ', true],
    ['ＷＤＪＢＭＪＨＴ', true],
    ['WDJB-MJH', true], // seven letters and a dash: the server says what is wrong
    ['WDJB', false],
    ['12345678', false],
  ])('%j: %s', (code, fits) => {
    const pattern = /pattern="([^"]*)"/.exec(input)?.[1] ?? 'none'
    expect(new RegExp(`^(?:${pattern})$`, 'v').test(code)).toBe(fits)
  })
})

test('RFC 8628 3.3.1: a code from a link is to be compared, and the keyboard does not start in it', () => {
  const page = deviceEntryPage({ ...deviceEntrySample, userCode: 'WDJB-MJHT', fromLink: true })
  expect(page).toContain('Compare it with your device')
  expect(page).toContain('The codes are the same')
  expect(page).toContain('value="WDJB-MJHT"')
  expect(page).not.toContain('autofocus')
})

test('RFC 8628 5.4: warns of codes that somebody else sent', () => {
  expect(deviceEntryPage(deviceEntrySample)).toContain('Only enter a code that you requested yourself')
})

test('an error is announced, describes the field and stands in the title', () => {
  const page = deviceEntryPage({ ...deviceEntrySample, error: 'Wrong.' })
  expect(page).toContain('role="alert" id="code-error"')
  expect(page).toContain('aria-describedby="code-hint code-error"')
  expect(page).toContain('<title>Not found: ')
  expect(deviceEntryPage(deviceEntrySample)).not.toMatch(/role="alert"|code-error|Not found/)
})
