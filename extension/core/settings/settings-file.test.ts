import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { applyImport, exportSettings, type ImportPlan, planImport } from './settings-file.ts'
import { emptySettings, type Profile, type Settings } from '../profile.ts'

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

const builtIn: Profile = { ...app, id: 'team', appUrl: 'https://team.example.com', cookieName: undefined }

/** Plans an import with new ids `new1`, `new2` and so on, one per profile of the file. */
function plan(known: Settings, file: string, own?: Profile): ImportPlan {
  let count = 0
  return planImport(known, own, file, () => `new${(count += 1)}`)
}

test('what is exported can be imported elsewhere, under ids of its own', () => {
  const planned = plan(emptySettings, exportSettings(settings))
  const profiles = [
    { ...app, id: 'new1' },
    { ...local, id: 'new2' },
  ]
  expect(planned).toEqual({
    kind: 'planned',
    changes: profiles.map((after) => ({ before: undefined, after })),
    kept: [],
  })
  if (planned.kind === 'planned')
    expect(applyImport(emptySettings, planned.changes)).toEqual({ version: 1, profiles })
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

test('changes the profile for the same app, and no other one that has the id of the file', () => {
  const hostile = { ...app, id: 'local', baseUrl: 'https://mcp.example.com.evil.example' }
  const planned = plan(settings, exportSettings({ version: 1, profiles: [hostile] }))
  expect(planned).toEqual({
    kind: 'planned',
    changes: [{ before: app, after: { ...hostile, id: 'app' } }],
    kept: [],
  })
})

test('has nothing to change where everything is known', () => {
  const file = exportSettings({
    version: 1,
    profiles: [
      { ...app, id: 'x' },
      { ...builtIn, id: 'y' },
    ],
  })
  expect(plan(settings, file, builtIn)).toEqual({ kind: 'planned', changes: [], kept: [] })
})

test.each([
  ['its id', { ...builtIn, baseUrl: 'https://evil.example' }],
  ['another id', { ...builtIn, id: 'x', baseUrl: 'https://evil.example' }],
  [
    'a page of its app',
    { ...builtIn, id: 'x', appUrl: 'https://team.example.com/notes', baseUrl: 'https://evil.example' },
  ],
])("leaves the build's own profile alone, with %s", (_case, profile) => {
  const file = exportSettings({ version: 1, profiles: [profile, local] })
  const { id: _id, ...known } = profile
  expect(plan({ version: 1, profiles: [app] }, file, builtIn)).toMatchObject({
    changes: [{ before: undefined, after: { ...local, id: 'new2' } }],
    kept: [known],
  })
})

test('of two for one app in a file takes the last, and shows it', () => {
  const file = exportSettings({ version: 1, profiles: [local, { ...local, label: 'Last' }] })
  expect(plan(emptySettings, file)).toMatchObject({ changes: [{ after: { id: 'new1', label: 'Last' } }] })
})

test('takes nothing secret along', () => {
  const file = JSON.stringify({
    format: 'drawbridge-extension',
    version: 1,
    profiles: [{ ...app, token: 'SECRET' }],
  })
  expect(JSON.stringify(plan(emptySettings, file))).not.toContain('SECRET')
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
  expect(plan(settings, file)).toEqual({ kind: 'refused', reason })
})

test('refuses the whole file for one bad profile, and says which', () => {
  const file = fileOf({ profiles: [local, { ...app, appUrl: 'javascript:alert(1)' }] })
  expect(plan(emptySettings, file)).toEqual({ kind: 'refused', reason: 'bad-profile', position: 2 })
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
        plan(settings, file)
      },
    ),
  )
  const deep = `{"format":"drawbridge-extension","version":1,"profiles":${'['.repeat(50_000)}${']'.repeat(50_000)}}`
  expect(plan(settings, deep).kind).toBe('refused')
})
