import { describe, expect, test } from 'vitest'
import { deviceEntryPage } from './device-entry-page.ts'
import { deviceEntrySample } from '../../../tests/support/pages/view-sample.ts'

describe('the field', () => {
  const input = /<input\s+id="user_code"[^>]*>/.exec(deviceEntryPage(deviceEntrySample))?.[0] ?? ''

  test('the device code field opens a phone’s keyboard with capitals and without corrections', () => {
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
    ['WDJB-MJH', true], // seven letters and a dash: the server reports the error
    ['WDJB', false],
    ['12345678', false],
  ])('the device code field accepts %j: %s', (code, fits) => {
    const pattern = /pattern="([^"]*)"/.exec(input)?.[1] ?? 'none'
    expect(new RegExp(`^(?:${pattern})$`, 'v').test(code)).toBe(fits)
  })
})

test('RFC 8628 3.3.1: a device code from a link is to be compared, and the page has no words about typing', () => {
  const page = deviceEntryPage({ ...deviceEntrySample, userCode: 'WDJB-MJHT', fromLink: true })
  expect(page).toContain('Compare it with your device')
  expect(page).toContain('The codes are the same')
  expect(page).toContain('value="WDJB-MJHT"')
  expect(page).not.toMatch(/autofocus|Eight letters|[Ee]nter /)
})

test('RFC 8628 5.4: the device page warns of codes that others have sent', () => {
  expect(deviceEntryPage(deviceEntrySample)).toContain('Only enter a code that you requested yourself')
})

test('an error on the device page is announced, describes the field and is in the title', () => {
  const page = deviceEntryPage({ ...deviceEntrySample, error: 'Wrong.' })
  expect(page).toContain('role="alert" id="form-error"')
  expect(page).toContain('aria-describedby="user_code-hint form-error"')
  expect(page).toContain('<title>Not found: ')
  expect(deviceEntryPage(deviceEntrySample)).not.toMatch(/role="alert"|form-error|Not found/)
})
