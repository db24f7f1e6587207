import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { chooseProfile, parseSettings, type Profile } from './profile.ts'

const emptySettings = { version: 1, profiles: [] } as const

const profile = (id: string, appUrl: string): Profile => {
  return { id, label: id, appUrl, baseUrl: undefined, cookieName: undefined }
}
const profiles = [
  profile('app', 'https://app.example.com'),
  profile('admin', 'https://app.example.com/admin'),
  profile('port', 'https://app.example.com:8443'),
  profile('local', 'http://localhost:3000'),
]

test.each([
  ['https://app.example.com', 'app'],
  ['https://app.example.com/?a=b', 'app'],
  ['https://APP.example.com/notes', 'app'],
  ['https://app.example.com/admin', 'admin'],
  ['https://app.example.com/admin/users#top', 'admin'],
  ['https://app.example.com/administration', 'app'],
  ['https://app.example.com:8443/admin', 'port'],
  ['http://localhost:3000/', 'local'],
  ['http://localhost:30001/', undefined],
  ['http://app.example.com/', undefined],
  ['https://app.example.com.evil.example/', undefined],
  ['about:blank', undefined],
  [undefined, undefined],
])('the page %s has the profile %s', (url, id) => {
  expect(chooseProfile(profiles, url)?.id).toBe(id)
})

const stored = {
  id: 'one',
  label: 'App',
  appUrl: 'https://app.example.com',
  baseUrl: undefined,
  cookieName: undefined,
}

test('stored settings are read unchanged', () => {
  const other = { ...stored, id: 'two', baseUrl: 'https://mcp.example.com', cookieName: 'session' }
  const settings = { version: 1, profiles: [stored, other] } as const
  // The browser stores JSON, which drops undefined members.
  expect(parseSettings(JSON.parse(JSON.stringify(settings)))).toEqual(settings)
  expect(parseSettings(emptySettings)).toEqual(emptySettings)
})

test.each([
  null,
  'settings',
  [],
  {},
  { version: 2, profiles: [stored] },
  { version: 1, profiles: {} },
  { version: 1, profiles: [null, 1, 'a', [], {}, { id: 'x' }] },
  {
    version: 1,
    profiles: [
      { ...stored, id: 7 },
      { ...stored, label: undefined },
      { ...stored, cookieName: {} },
    ],
  },
  { version: 1, profiles: [{ ...stored, appUrl: 'javascript:alert(1)' }] },
])('no profiles are read from %j', (value) => {
  expect(parseSettings(value)).toEqual(emptySettings)
})

test('usable profiles are kept beside unusable ones', () => {
  expect(parseSettings({ version: 1, profiles: [null, stored, {}] })).toEqual({
    version: 1,
    profiles: [stored],
  })
})

test('reading settings never throws', () => {
  fc.assert(
    fc.property(fc.anything(), (value) => {
      parseSettings(value)
      parseSettings({ version: 1, profiles: [value] })
    }),
  )
})
