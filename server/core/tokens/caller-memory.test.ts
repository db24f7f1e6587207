import { accessSample, grantAccessSample } from '../../../tests/support/server/core/access-sample.ts'
import { ScopeCatalogue } from './scope.ts'
import { writeSessionCookies } from '@drawbridge/shared/session-cookie/session-cookie-write.ts'
import { beforeEach, describe, expect, it } from 'vitest'
import { addGrant, grantSample, start } from '../../../tests/support/server/core/grant-sample.ts'
import { storeIsDown } from '../../../tests/support/server/core/keeper-fixture.ts'
import { signInSample } from '../../../tests/support/server/core/sign-in-sample.ts'
import { type FakeRuntime, createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { openMemoryStore } from '../../store/sqlite/sqlite.ts'
import { type CallerPorts, CallerReader } from './caller-reader.ts'
import { hashSecret } from '../seal.ts'
import { ProviderError, type SessionLife } from '../session/session-provider.ts'
import type { Store } from '../store.ts'

const cookieName = 'sb-ref-auth-token'
const checkSeconds = 60

let runtime: FakeRuntime
let store: Store
let ports: CallerPorts
let reader: CallerReader
/** Hashes looked up in the store. */
let lookedUp: string[]
/** Tokens probed at the provider. */
let probed: string[]
let life: () => SessionLife | Promise<SessionLife>

beforeEach(() => {
  runtime = createFakeRuntime(start)
  store = openMemoryStore()
  lookedUp = []
  probed = []
  life = () => 'live'
  ports = {
    store: {
      findAccessToken(hash, now) {
        lookedUp.push(hash)
        return store.findAccessToken(hash, now)
      },
      recordFirstUse: store.recordFirstUse,
    },
    keeper: {
      keep: async (session) => ({ kind: 'live', session }),
      open: () => ({ ...signInSample('ada').session, accessToken: 'provider token' }),
    },
    provider: {
      issuer: 'https://provider',
      async verify(token) {
        if (token.endsWith('.Zm9yZ2Vk')) throw new ProviderError('invalid_token', 'Forged')
        return signInSample('ada').identity
      },
      async probe(token) {
        probed.push(token)
        return { life: await life() }
      },
    },
    runtime,
    access: accessSample(),
    grantAccess: grantAccessSample(),
    resource: 'https://mcp.example.com/mcp',
    scopes: new ScopeCatalogue(),
    sessionTokens: true,
    cookieName,
    checkSeconds,
  }
  reader = new CallerReader(ports)
})

/** Creates a grant called `name` with the access token `mcpa_<name>`, valid for an hour. */
async function connect(name: string): Promise<void> {
  const sample = grantSample(name)
  const tokens = { ...sample.tokens, accessHash: hashSecret(`mcpa_${name}`), accessExpiresAt: start + 3600 }
  await addGrant(store, { ...sample, tokens })
}

const present = async (token: string): Promise<string> =>
  (await reader.fromAuthorization(`Bearer ${token}`)).kind

describe('a token of ours that is of no use', () => {
  beforeEach(() => connect('a'))

  it.each<[what: string, token: string, prepare: () => Promise<void> | void]>([
    ['unknown', 'mcpa_unknown', () => {}],
    ['expired', 'mcpa_a', () => runtime.advance(3600)],
    ['revoked', 'mcpa_a', () => store.endGrant('grant a', 'code_reuse', start)],
  ])('%s: the store is asked once in ten minutes, however often it comes', async (_what, token, prepare) => {
    await prepare()
    const since = runtime.now()
    for (let call = 0; call < 100; call += 1) expect(await present(token)).toBe('invalid')
    expect(lookedUp).toHaveLength(1)
    runtime.advance(since + 599 - runtime.now())
    await present(token)
    expect(lookedUp).toHaveLength(1)
    runtime.advance(1)
    expect(await present(token)).toBe('invalid')
    expect(lookedUp).toHaveLength(2)
  })

  it('is answered the same, remembered or not', async () => {
    const [first, second] = [
      await reader.fromAuthorization('Bearer mcpa_unknown'),
      await reader.fromAuthorization('Bearer mcpa_unknown'),
    ]
    expect(second).toEqual(first)
  })

  it('never affects a good one, fresh or in use, of this grant or another', async () => {
    expect(await present('mcpa_a')).toBe('caller')
    for (let dead = 0; dead < 50; dead += 1) await present(`mcpa_dead ${dead}`.replace(' ', '-'))
    await store.endGrant('grant a', 'code_reuse', start)
    expect(await present('mcpa_a')).toBe('invalid')
    await connect('b')
    expect(await present('mcpa_b')).toBe('caller')
    expect(await present('mcpa_b')).toBe('caller')
    expect(await present('mcpa_a')).toBe('invalid')
  })

  it('a good one is looked up every time: it may be revoked', async () => {
    await present('mcpa_a')
    await present('mcpa_a')
    expect(lookedUp).toHaveLength(2)
    await store.endGrant('grant a', 'code_reuse', start)
    expect(await present('mcpa_a')).toBe('invalid')
  })

  it('is not concluded from a store that is down', async () => {
    const findAccessToken = ports.store.findAccessToken
    ports.store.findAccessToken = storeIsDown
    await expect(present('mcpa_a')).rejects.toThrow('The store is down.')
    ports.store.findAccessToken = findAccessToken
    expect(await present('mcpa_a')).toBe('caller')
  })

  it('ten thousand are remembered; the oldest is forgotten first', async () => {
    for (let index = 0; index <= 10_000; index += 1) await present(`mcpa_${index}`)
    lookedUp.length = 0
    for (const index of [10_000, 9999, 1]) await present(`mcpa_${index}`)
    expect(lookedUp).toEqual([])
    await present('mcpa_0')
    expect(lookedUp).toHaveLength(1)
  })
})

describe('a token of the provider, checked there', () => {
  const token = 'eyJhbGciOiJFUzI1NiJ9.e30.c2lnbmF0dXJl'

  const asBearer = (): Promise<string> => present(token)
  const asCookie = async (): Promise<string> =>
    (await reader.fromCookies(writeSessionCookies({ access_token: token }, { name: cookieName }))).kind

  describe.each([
    ['as bearer', asBearer],
    ['as cookie', asCookie],
  ])('%s', (_how, call) => {
    it.each<[life: SessionLife, kind: string]>([
      ['live', 'caller'],
      ['ended', 'invalid'],
      ['token_refused', 'invalid'],
    ])('%s: %s, and asked again after checkSeconds only', async (answer, kind) => {
      life = () => answer
      for (let request = 0; request < 10; request += 1) expect(await call()).toBe(kind)
      expect(probed).toEqual([token])
      runtime.advance(checkSeconds)
      life = () => 'live'
      expect(await call()).toBe('caller')
      expect(probed).toHaveLength(2)
    })
  })

  it('bearer and cookie share what is known about one token', async () => {
    await asBearer()
    await asCookie()
    expect(probed).toHaveLength(1)
  })

  it('every token has its own', async () => {
    await present(token)
    await present(`${token}c2ln`)
    expect(probed).toEqual([token, `${token}c2ln`])
  })

  it('a forged one is never shown to the provider', async () => {
    expect(await present('eyJhbGciOiJFUzI1NiJ9.e30.Zm9yZ2Vk')).toBe('invalid')
    expect(probed).toEqual([])
  })

  it.each<[when: string, change: () => void]>([
    ['without checkSeconds', () => void (ports.checkSeconds = undefined)],
    ['at a provider that cannot be asked', () => void delete ports.provider.probe],
  ])('is not checked %s', async (_when, change) => {
    change()
    reader = new CallerReader(ports)
    life = () => 'ended'
    expect(await present(token)).toBe('caller')
    expect(probed).toEqual([])
  })
})
