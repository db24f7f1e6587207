import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { exportSettings, importSettings } from './settings-file.ts'
import { emptySettings, type Profile, type Settings } from './settings.ts'

const app: Profile = {
  id: 'app',
  label: 'App',
  appUrl: 'https://app.example.com',
  baseUrl: 'https://mcp.example.com',
  cookieName: 'session',
}
const local: Profile = {
  ...app,
  id: 'local',
  appUrl: 'http://localhost:3000',
  baseUrl: undefined,
  cookieName: undefined,
}
const settings: Settings = { version: 1, profiles: [app, local] }

test('what is exported can be imported elsewhere', () => {
  expect(importSettings(emptySettings, exportSettings(settings))).toEqual({
    kind: 'imported',
    settings,
    count: 2,
  })
})

test('the file is for people, too', () => {
  expect(exportSettings({ version: 1, profiles: [app] })).toBe(`{
  "format": "drawbridge-extension",
  "version": 1,
  "profiles": [
    {
      "id": "app",
      "label": "App",
      "appUrl": "https://app.example.com",
      "baseUrl": "https://mcp.example.com",
      "cookieName": "session"
    }
  ]
}
`)
})

test('replaces profiles with the same id and keeps the others', () => {
  const file = exportSettings({ version: 1, profiles: [{ ...app, label: 'New' }] })
  expect(importSettings(settings, file)).toEqual({
    kind: 'imported',
    settings: { version: 1, profiles: [{ ...app, label: 'New' }, local] },
    count: 1,
  })
})

test('takes nothing secret along', () => {
  const file = JSON.stringify({
    format: 'drawbridge-extension',
    version: 1,
    profiles: [{ ...app, token: 'SECRET' }],
  })
  expect(JSON.stringify(importSettings(emptySettings, file))).not.toContain('SECRET')
})

const fileOf = (content: object): string =>
  JSON.stringify({ format: 'drawbridge-extension', version: 1, ...content })

test.each([
  ['no JSON', 'profiles', 'not-ours'],
  ['a list', '[]', 'not-ours'],
  ['JSON of something else', JSON.stringify({ version: 1, profiles: [] }), 'not-ours'],
  ['no profiles', fileOf({}), 'not-ours'],
  ['an older version that never was', fileOf({ version: 0, profiles: [] }), 'not-ours'],
  ['a later version', fileOf({ version: 2, profiles: [] }), 'newer'],
  ['a huge file', `${fileOf({ profiles: [] })}${' '.repeat(256_000)}`, 'too-large'],
])('refuses %s', (_case, file, reason) => {
  expect(importSettings(settings, file)).toEqual({ kind: 'refused', reason })
})

test('refuses the whole file for one bad profile, and says which', () => {
  const file = fileOf({ profiles: [local, { ...app, appUrl: 'javascript:alert(1)' }] })
  expect(importSettings(emptySettings, file)).toEqual({ kind: 'refused', reason: 'bad-profile', position: 2 })
})

test('never throws', () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string(),
        fc.json(),
        fc.anything().map((value) => fileOf({ profiles: [value] })),
      ),
      (file) => {
        importSettings(settings, file)
      },
    ),
  )
  const deep = `{"format":"drawbridge-extension","version":1,"profiles":${'['.repeat(50_000)}${']'.repeat(50_000)}}`
  expect(importSettings(settings, deep).kind).toBe('refused')
})
