import { createLocalJWKSet, decodeProtectedHeader, jwtVerify, type JWTPayload } from 'jose'
import { beforeEach, expect, it } from 'vitest'
import { sampleKey } from '../../../tests/support/server/core/keeper-fixture.ts'
import { createFakeRuntime, type FakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { callerSample } from '../../../tests/support/server/mcp/tool-fixture.ts'
import type { CurrentUser } from '../session/grant.ts'
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

const ada = {
  ...callerSample,
  user: { ...callerSample.user, email: 'ada@example.com', name: 'Ada', emailVerified: true },
}

it('an assertion names user, client and credential for 60 seconds, for the upstream only', async () => {
  const jwt = await signer.assert(ada)
  const { payload } = await verify(jwt)
  expect(payload).toEqual({
    iss: issuer,
    aud: audience,
    sub: 'ada',
    email: 'ada@example.com',
    email_verified: true,
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
    kid: 'assertion-a',
  })
  runtime.advance(61)
  await expect(verify(jwt)).rejects.toThrow()
})

it('an assertion marks an unverified address, and has no email claims without an address', async () => {
  const claimsOf = async (user: Partial<CurrentUser>): Promise<JWTPayload> =>
    (await verify(await signer.assert({ ...ada, user: { ...ada.user, ...user } }))).payload
  expect(await claimsOf({ emailVerified: false })).toMatchObject({
    email: 'ada@example.com',
    email_verified: false,
  })
  const without = await claimsOf({ email: undefined })
  expect(without).not.toHaveProperty('email')
  expect(without).not.toHaveProperty('email_verified')
})

it('an assertion is reused for half a minute, for the same caller only', async () => {
  const first = await signer.assert(ada)
  runtime.advance(29)
  expect(await signer.assert(ada)).toBe(first)
  for (const other of [
    { ...ada, scope: 'mcp notes:write' },
    { ...ada, grantId: 'grant-2' },
    { ...ada, clientId: undefined },
    { ...ada, user: { ...ada.user, id: 'https://other#ada' } },
    { ...ada, user: { ...ada.user, emailVerified: false } },
  ]) {
    expect(await signer.assert(other)).not.toBe(first)
  }
  runtime.advance(1)
  expect(await signer.assert(ada)).not.toBe(first)
})

it('assertion keys are the same at every instance with the same key ring', async () => {
  expect(create().keySet()).toEqual(signer.keySet())
  await verify(await signer.assert(ada), create())
})

it('assertion keys rotate with the ring: each is published before it signs, and after', async () => {
  const kids = (): string[] => signer.keySet().keys.map(({ kid }) => kid)
  const kidOf = async (): Promise<unknown> => decodeProtectedHeader(await signer.assert(ada)).kid
  ring = [sampleKey('a', 1)]
  expect([kids(), await kidOf()]).toEqual([['assertion-a'], 'assertion-a'])
  const first = await signer.assert(ada)
  ring = [sampleKey('b', 2), ...ring]
  expect([kids(), await kidOf()]).toEqual([['assertion-b', 'assertion-a'], 'assertion-a'])
  ring = [sampleKey('c', 3), ...ring]
  expect([kids(), await kidOf()]).toEqual([['assertion-c', 'assertion-b', 'assertion-a'], 'assertion-b'])
  await verify(first)
  await verify(await signer.assert(ada))
  ring = [sampleKey('d', 4), ...ring]
  expect(kids()).toEqual(['assertion-d', 'assertion-c', 'assertion-b'])
})

it('assertion keys are published without anything secret', () => {
  for (const key of signer.keySet().keys) {
    expect(Object.keys(key).toSorted()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
  }
})

it('an assertion names the workspace by its id, and is made anew when the user changes it', async () => {
  const first = await signer.assert({ ...ada, workspace: { id: 'sales', name: 'Sales' } })
  expect((await verify(first)).payload['workspace']).toBe('sales')
  const second = await signer.assert({ ...ada, workspace: { id: 'legal', name: 'Legal' } })
  expect((await verify(second)).payload['workspace']).toBe('legal')
  expect((await verify(await signer.assert(ada))).payload).not.toHaveProperty('workspace')
})

it('an assertion for another audience is another one', async () => {
  const own = await signer.assert(ada)
  const other = await signer.assert(ada, 'https://api.example.com')
  expect((await verify(own)).payload.aud).toBe(audience)
  await expect(verify(other)).rejects.toThrow('aud')
})
