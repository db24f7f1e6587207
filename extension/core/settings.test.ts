import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { emptySettings, parseSettings } from './settings.ts'

const profile = {
  id: 'one',
  label: 'App',
  appUrl: 'https://app.example.com',
  baseUrl: undefined,
  cookieName: undefined,
}

test('stored settings come back as they were', () => {
  const other = { ...profile, id: 'two', baseUrl: 'https://mcp.example.com', cookieName: 'session' }
  const settings = { version: 1, profiles: [profile, other] } as const
  // The browser stores JSON: undefined members are gone.
  expect(parseSettings(JSON.parse(JSON.stringify(settings)))).toEqual(settings)
  expect(parseSettings(emptySettings)).toEqual(emptySettings)
})

test.each([
  undefined,
  null,
  5,
  'settings',
  [],
  {},
  { version: 2, profiles: [profile] },
  { version: 1 },
  { version: 1, profiles: {} },
  { version: 1, profiles: [null, 1, 'a', [], {}, { id: 'x' }] },
  {
    version: 1,
    profiles: [
      { ...profile, id: 7 },
      { ...profile, label: undefined },
      { ...profile, cookieName: {} },
    ],
  },
  { version: 1, profiles: [{ ...profile, appUrl: 'javascript:alert(1)' }] },
])('%j is nothing usable', (value) => {
  expect(parseSettings(value)).toEqual(emptySettings)
})

test('what is usable stays beside what is not', () => {
  expect(parseSettings({ version: 1, profiles: [null, profile, {}] })).toEqual({
    version: 1,
    profiles: [profile],
  })
})

test('never throws', () => {
  fc.assert(
    fc.property(fc.anything(), (value) => {
      parseSettings(value)
      parseSettings({ version: 1, profiles: [value] })
    }),
  )
})
