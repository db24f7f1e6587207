import { describe, expect, it } from 'vitest'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { start } from '../../../tests/support/server/core/grant-sample.ts'
import { createSealer, fixedKeyRing } from '../seal.ts'
import { openProviderSession, sealProviderSession } from './session-seal.ts'

const { randomBytes } = createFakeRuntime()
const sealer = createSealer(fixedKeyRing([{ kid: 'k', key: new Uint8Array(32).fill(1) }]), randomBytes)
const row = { grantId: 'g', version: 3, issuedAt: start }
const tokens = { accessToken: 'access 1', refreshToken: 'refresh 1', expiresAt: start + 3600 }

describe('sealProviderSession', () => {
  it.each([
    ['two tokens', tokens],
    ['an ID token beside them', { ...tokens, idToken: 'id 1' }],
  ])('seals %s, and opens to the same', (_what, session) => {
    const stored = sealProviderSession({ ...session, issuer: undefined }, row, sealer)
    expect(stored).toEqual({ ...row, expiresAt: start + 3600, sealed: stored.sealed })
    expect(openProviderSession(stored, sealer)).toEqual(session)
    for (const token of ['access 1', 'refresh 1', 'id 1']) expect(stored.sealed).not.toContain(token)
  })

  it('what was sealed before there were ID tokens opens', () => {
    const old = JSON.stringify({ accessToken: 'access 1', refreshToken: 'refresh 1' })
    const stored = { ...row, expiresAt: start + 3600, sealed: sealer.seal(old, 'provider session g 3') }
    expect(openProviderSession(stored, sealer)).toEqual(tokens)
  })

  it.each([
    ['another version', { version: 4 }],
    ['another grant', { grantId: 'other' }],
  ])('does not open for %s', (_what, moved) => {
    const stored = { ...sealProviderSession({ ...tokens, issuer: undefined }, row, sealer), ...moved }
    expect(openProviderSession(stored, sealer)).toBeUndefined()
  })

  it('does not open without its key', () => {
    const other = createSealer(fixedKeyRing([{ kid: 'other', key: new Uint8Array(32) }]), randomBytes)
    expect(
      openProviderSession(sealProviderSession({ ...tokens, issuer: undefined }, row, sealer), other),
    ).toBeUndefined()
  })
})
