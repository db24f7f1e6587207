import { expect, test } from 'vitest'
import { identityOfClaims, type OidcClaims } from './oidc-identity.ts'

const claims = { sub: 'user-1', email: 'ada@example.com', name: 'Ada' }

test('an identity takes sub, email and name', () => {
  expect(identityOfClaims(claims, 'https://id.example.com', 1700)).toEqual({
    sub: 'user-1',
    email: 'ada@example.com',
    claims,
    name: 'Ada',
    secondFactor: false,
    expiresAt: 1700,
  })
})

test.each<[string, OidcClaims, string | undefined]>([
  ['verified', { email_verified: true }, 'ada@example.com'],
  ['verified as a text', { email_verified: 'true' }, 'ada@example.com'],
  ['not verified', { email_verified: false }, undefined],
  ['not verified as a text', { email_verified: 'false' }, undefined],
  ['empty', { email: '' }, undefined],
  ['no text', { email: ['ada@example.com'] }, undefined],
])('an identity takes an email address that is %s as %s', (_what, members, email) => {
  expect(identityOfClaims({ ...claims, ...members }, 'https://id.example.com', 0).email).toBe(email)
})

test('an identity falls back to the preferred user name', () => {
  const members = { name: undefined, preferred_username: 'ada' }
  expect(identityOfClaims({ ...claims, ...members }, 'https://id.example.com', 0).name).toBe('ada')
})

test.each<[OidcClaims, boolean]>([
  [{ amr: ['mfa'] }, true],
  [{ amr: ['pwd', 'otp'] }, true],
  [{ amr: ['pwd', 'hwk'] }, true],
  [{ amr: ['pin', 'sc'] }, true],
  [{ amr: ['hwk', 'fpt'] }, true],
  [{ acr: 'https://refeds.org/profile/mfa' }, true],
  [{ acr: 'http://schemas.openid.net/pape/policies/2007/06/multi-factor' }, true],
  [{ amr: ['pwd'] }, false],
  [{ amr: ['otp'] }, false],
  [{ amr: ['hwk', 'swk'] }, false],
  [{ amr: ['pwd', 'kba'] }, false],
  [{ amr: ['user', 'rba'] }, false],
  [{ amr: [] }, false],
  [{ amr: 'mfa' }, false],
  [{ amr: [null, {}] }, false],
  [{ acr: '1' }, false],
  [{ acr: 'urn:mace:incommon:iap:silver' }, false],
  [{}, false],
])('an identity reads %o as second factor: %s', (members, secondFactor) => {
  expect(identityOfClaims({ ...claims, ...members }, 'https://id.example.com', 0).secondFactor).toBe(
    secondFactor,
  )
})
