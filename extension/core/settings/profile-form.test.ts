import { describe, expect, test } from 'vitest'
import { checkProfile, type ProfileDraft } from './profile-form.ts'

const draft = (given: Partial<ProfileDraft>): ProfileDraft => {
  return { id: 'one', label: 'App', appUrl: 'https://app.example.com', baseUrl: '', cookieName: '', ...given }
}
const profile = {
  id: 'one',
  label: 'App',
  appUrl: 'https://app.example.com',
  baseUrl: undefined,
  cookieName: undefined,
}

describe('a profile that was typed', () => {
  test.each<[Partial<ProfileDraft>, object]>([
    [{}, {}],
    [{ label: '  ' }, { label: 'app.example.com' }],
    [{ appUrl: ' https://APP.example.com:443// ' }, { appUrl: 'https://app.example.com' }],
    [{ appUrl: 'https://app.example.com/admin/?a=b#c' }, { appUrl: 'https://app.example.com/admin' }],
    [{ appUrl: 'http://staging.example.com:8080' }, { appUrl: 'http://staging.example.com:8080' }],
    [{ baseUrl: 'https://mcp.example.com/' }, { baseUrl: 'https://mcp.example.com' }],
    [{ baseUrl: 'https://mcp.example.com/mcp' }, { baseUrl: 'https://mcp.example.com' }],
    [{ baseUrl: 'https://example.com/tools/mcp/' }, { baseUrl: 'https://example.com/tools' }],
    [{ baseUrl: 'http://localhost:8787' }, { baseUrl: 'http://localhost:8787' }],
    [{ cookieName: ' sb-[::1]-auth-token ' }, { cookieName: 'sb-[::1]-auth-token' }],
    [{ cookieName: '__proto__' }, { cookieName: '__proto__' }],
  ])('the profile form normalises %j to %j', (given, tidied) => {
    expect(checkProfile(draft(given))).toEqual({ kind: 'valid', profile: { ...profile, ...tidied } })
  })

  test.each<[Partial<ProfileDraft>, object]>([
    [{ appUrl: '' }, { appUrl: 'missing' }],
    [{ appUrl: 'javascript:alert(1)' }, { appUrl: 'not-a-url' }],
    [{ appUrl: 'https://ada:secret@app.example.com' }, { appUrl: 'credentials' }],
    [{ baseUrl: 'http://mcp.example.com' }, { baseUrl: 'not-secure' }],
    [{ baseUrl: 'https://token@mcp.example.com' }, { baseUrl: 'credentials' }],
    [{ cookieName: 'a b' }, { cookieName: 'bad-name' }],
    [{ cookieName: 'a=b' }, { cookieName: 'bad-name' }],
    [{ cookieName: 'a\u0007b' }, { cookieName: 'bad-name' }],
    [
      { appUrl: '', baseUrl: 'x' },
      { appUrl: 'missing', baseUrl: 'not-a-url' },
    ],
  ])('the profile form finds in %j the faults %j', (given, faults) => {
    expect(checkProfile(draft(given))).toEqual({ kind: 'invalid', faults })
  })
})
