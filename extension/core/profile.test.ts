import { expect, test } from 'vitest'
import { allProfiles, chooseProfile } from './profile.ts'
import type { Profile } from './settings.ts'

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
  ['https://app.example.com/admin/', 'admin'],
  ['https://app.example.com/admin/users#top', 'admin'],
  ['https://app.example.com/administration', 'app'],
  ['https://app.example.com:8443/admin', 'port'],
  ['http://localhost:3000/', 'local'],
  ['http://localhost:30001/', undefined],
  ['http://app.example.com/', undefined],
  ['https://app.example.com.evil.example/', undefined],
  ['https://evil.example/https://app.example.com/', undefined],
  ['about:blank', undefined],
  [undefined, undefined],
])('%s is of %s', (url, id) => {
  expect(chooseProfile(profiles, url)?.id).toBe(id)
})

test('the profile of the build is among all, unless it was changed', () => {
  const builtIn = profile('team', 'https://team.example.com')
  const settings = { version: 1, profiles } as const
  expect(allProfiles(settings, undefined)).toEqual(profiles)
  expect(allProfiles(settings, builtIn)).toEqual([...profiles, builtIn])
  const changed = { ...builtIn, label: 'changed' }
  expect(allProfiles({ version: 1, profiles: [changed] }, builtIn)).toEqual([changed])
})
