import { expect, it } from 'vitest'
import { start, sealerSample } from '../../../tests/support/server/core/grant-sample.ts'
import { openProviderSession, sealProviderSession } from './session-seal.ts'

const sealer = sealerSample()
const row = { grantId: 'g', version: 3, issuedAt: start }
const session = {
  issuer: 'https://provider',
  accessToken: 'access 1',
  refreshToken: 'refresh 1',
  expiresAt: start + 3600,
  idToken: 'id 1',
}

const stored = sealProviderSession(session, row, sealer)

it('a session seal encrypts the tokens, and opens to the same', () => {
  expect(stored).toEqual({ ...row, expiresAt: start + 3600, sealed: stored.sealed })
  expect(openProviderSession(stored, sealer)).toEqual(session)
  for (const token of ['access 1', 'refresh 1', 'id 1']) expect(stored.sealed).not.toContain(token)
})

it.each([
  ['another version', { version: 4 }],
  ['another grant', { grantId: 'other' }],
])('a session seal does not open for %s', (_what, moved) => {
  expect(openProviderSession({ ...stored, ...moved }, sealer)).toBeUndefined()
})
