import { createLocalJWKSet, decodeProtectedHeader, jwtVerify } from 'jose'
import { beforeEach, describe, expect, it } from 'vitest'
import { sampleKey } from '../../../tests/support/server/core/keeper-fixture.ts'
import { createFakeRuntime, type FakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { callerSample } from '../../../tests/support/server/mcp/tool-fixture.ts'
import type { SealingKey } from '../seal.ts'
import { AssertionSigner } from './assertion.ts'

const issuer = 'https://mcp.example.com'
const audience = 'http://127.0.0.1:9000/mcp'

let runtime: FakeRuntime
let ring: SealingKey[]
let signer: AssertionSigner

beforeEach(() => {
  runtime = createFakeRuntime(1_800_000_000)
  ring = [sampleKey('b', 2), sampleKey('a', 1)]
  signer = create()
})

function create(): AssertionSigner {
  return new AssertionSigner({
    ring: { keys: () => ring },
    issuer,
    audience,
    type: 'drawbridge-assertion+jwt',
    runtime,
  })
}

const verify = (jwt: string, by: AssertionSigner = signer): ReturnType<typeof jwtVerify> =>
  jwtVerify(jwt, createLocalJWKSet(by.keySet()), {
    issuer,
    audience,
    algorithms: ['ES256'],
    currentDate: new Date(runtime.now() * 1000),
  })

const ada = { ...callerSample, user: { ...callerSample.user, email: 'ada@example.com', name: 'Ada' } }

describe('an assertion', () => {
  it('says who calls, by which client and how, for 60 seconds, to the upstream alone', async () => {
    const jwt = await signer.assert(ada)
    const { payload } = await verify(jwt)
    expect(payload).toEqual({
      iss: issuer,
      aud: audience,
      sub: 'ada',
      email: 'ada@example.com',
      name: 'Ada',
      client_id: 'mcpc_1',
      scope: 'mcp',
      grant_id: 'grant-1',
      credential: 'access_token',
      iat: 1_800_000_000,
      exp: 1_800_000_060,
      jti: expect.stringMatching(/^[\w-]{22}$/) as string,
    })
    expect(decodeProtectedHeader(jwt)).toEqual({
      alg: 'ES256',
      typ: 'drawbridge-assertion+jwt',
      kid: 'assertion-b',
    })
    runtime.advance(61)
    await expect(verify(jwt)).rejects.toThrow()
  })

  it('is the same for half a minute, and another for whoever is not the same caller', async () => {
    const first = await signer.assert(ada)
    runtime.advance(29)
    expect(await signer.assert(ada)).toBe(first)
    for (const other of [
      { ...ada, scope: 'mcp notes:write' },
      { ...ada, grantId: 'grant-2' },
      { ...ada, clientId: undefined },
      { ...ada, user: { ...ada.user, id: 'https://other#ada' } },
    ]) {
      expect(await signer.assert(other)).not.toBe(first)
    }
    runtime.advance(1)
    expect(await signer.assert(ada)).not.toBe(first)
  })
})

describe('the keys', () => {
  it('are the same at every instance that has the ring', async () => {
    expect(create().keySet()).toEqual(signer.keySet())
    await verify(await signer.assert(ada), create())
  })

  it('rotate with the ring: a new one is published at once, and signs when verifiers had the time to fetch it', async () => {
    const before = await signer.assert(ada)
    ring = [sampleKey('c', 3), ...ring]
    expect(signer.keySet().keys.map(({ kid }) => kid)).toEqual(['assertion-c', 'assertion-b'])
    expect(await signer.assert(ada)).toBe(before)
    runtime.advance(44)
    const soon = await signer.assert(ada)
    expect(decodeProtectedHeader(soon).kid).toBe('assertion-b')
    await verify(soon)
    runtime.advance(1)
    const after = await signer.assert(ada)
    expect(decodeProtectedHeader(after).kid).toBe('assertion-c')
    await verify(soon)
    await verify(after)
  })

  it('sign with the first at once when the one that signed is out of the ring', async () => {
    ring = [sampleKey('c', 3)]
    expect(decodeProtectedHeader(await signer.assert(ada)).kid).toBe('assertion-c')
  })

  it('have nothing secret in the key set', () => {
    for (const key of signer.keySet().keys) {
      expect(Object.keys(key).toSorted()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
    }
  })
})
