import { randomBytes } from 'node:crypto'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  openCredentialRecord,
  parseCredentialRecord,
  sealCredential,
  sealingKey,
} from './credential-record.ts'
import { thrownBy } from '../../tests/support/thrown-by.ts'
import { sampleCredential } from '../../tests/support/bridge/credentials/sample-credential.ts'

const id = 'a'.repeat(64)
const key = sealingKey(randomBytes(32))
const credential = sampleCredential({ generation: 7 })
const sealed = sealCredential(id, credential, key, randomBytes(12))

const faultOf = (work: () => unknown): string | undefined => thrownBy(work)?.fault

function open(text: string, asId = id, withKey = key): unknown {
  return openCredentialRecord(asId, parseCredentialRecord(text), withKey)
}

describe('a sealed credential', () => {
  it('a sealed credential opens again', () => {
    expect(open(sealed)).toEqual(credential)
  })

  it('a sealed credential shows nothing of the login', () => {
    for (const secret of ['access-secret', 'refresh-secret', 'client-secret', 'issuer.test']) {
      expect(sealed).not.toContain(secret)
    }
    expect(Object.keys(JSON.parse(sealed) as object)).toEqual(['v', 'kid', 'gen', 'alg', 'nonce', 'ct'])
  })

  it('sealing the same login twice gives two results', () => {
    expect(sealCredential(id, credential, key, randomBytes(12))).not.toBe(sealed)
  })

  it('a sealed credential does not open under another name, generation, key id or key', () => {
    const fields = JSON.parse(sealed) as Record<string, unknown>
    expect(faultOf(() => open(sealed, 'b'.repeat(64)))).toBe('corrupt')
    expect(faultOf(() => open(JSON.stringify({ ...fields, gen: 8 })))).toBe('corrupt')
    expect(faultOf(() => open(sealed, id, { ...key, kid: 'other' }))).toBe('corrupt')
    expect(faultOf(() => open(sealed, id, { ...key, bytes: randomBytes(32) }))).toBe('corrupt')
  })

  it('a truncated credential is corrupt', () => {
    fc.assert(
      fc.property(fc.nat(sealed.length - 1), (length) => {
        expect(faultOf(() => open(sealed.slice(0, length)))).toBe('corrupt')
      }),
    )
  })

  it('a changed credential is corrupt', () => {
    fc.assert(
      fc.property(fc.nat(sealed.length - 1), fc.constantFrom('0', 'A', '_', '"', '}'), (at, character) => {
        const changed = sealed.slice(0, at) + character + sealed.slice(at + 1)
        fc.pre(changed !== sealed && !/^\{"v":\d{2}/.test(changed))
        // Unused members may change; every member that is read may not.
        const fault = faultOf(() => open(changed, id, { ...key, kid: parseCredentialRecord(changed).kid }))
        expect(fault).toBe('corrupt')
      }),
    )
  })

  it.each([
    ['2', 'newer_version'],
    ['99', 'newer_version'],
    ['0', 'corrupt'],
    ['"1"', 'corrupt'],
    ['null', 'corrupt'],
  ])('a credential of version %s is %s', (version, fault) => {
    expect(faultOf(() => open(sealed.replace('"v":1', `"v":${version}`)))).toBe(fault)
  })

  it('opening any text throws no other error', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.json()), (text) => {
        expect(faultOf(() => parseCredentialRecord(text))).toMatch(/^(?:corrupt|newer_version)$/)
      }),
    )
  })

  it('a credential that holds no login is corrupt', () => {
    const empty = sealCredential(id, { generation: 7 } as never, key, randomBytes(12))
    expect(faultOf(() => open(empty))).toBe('corrupt')
  })
})
