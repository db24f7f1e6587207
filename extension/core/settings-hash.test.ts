import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseSettingsHash, settingsHash } from './settings-hash.ts'

test.each([
  [
    settingsHash('read', 'https://app.example.com', 12),
    { kind: 'allow', purpose: 'read', url: 'https://app.example.com', tabId: 12 },
  ],
  [
    settingsHash('test', 'http://localhost:8787/a&tab=9?b#c', 0),
    { kind: 'allow', purpose: 'test', url: 'http://localhost:8787/a&tab=9?b#c', tabId: 0 },
  ],
  [
    settingsHash('new', 'https://app.example.com:8443', 3),
    { kind: 'new-profile', appUrl: 'https://app.example.com:8443' },
  ],
  [
    'read=https://app.example.com',
    { kind: 'allow', purpose: 'read', url: 'https://app.example.com', tabId: undefined },
  ],
])('the settings hash %s is read', (hash, request) => {
  expect(parseSettingsHash(hash)).toEqual(request)
  expect(parseSettingsHash(`#${hash}`)).toEqual(request)
})

test.each(['', '#', '#other', '#read=', '#read=javascript:alert(1)', '#new=<b>', '#read=%', '#tab=1'])(
  'the settings hash %j is ignored',
  (hash) => {
    expect(parseSettingsHash(hash)).toEqual({ kind: 'profiles' })
  },
)

test('reading a settings hash never throws', () => {
  fc.assert(fc.property(fc.string(), (hash) => void parseSettingsHash(hash)))
  expect(parseSettingsHash('read=https://a.example&tab=99999999999999999999')).toMatchObject({
    tabId: undefined,
  })
})
