import { exportJWK } from 'jose'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createFakeRuntime, type FakeRuntime } from '../../tests/support/server/fake-runtime.ts'
import { race, start } from '../../tests/support/server/core/grant-sample.ts'
import { keySample } from '../../tests/support/server/key-sample.ts'
import { createKeySet, type KeySet } from './jwks.ts'

const url = 'https://provider.example/auth/v1/.well-known/jwks.json'
const [first, second, rsa] = await Promise.all([
  keySample('first'),
  keySample('second'),
  keySample('rsa', 'RS256'),
])

const privateJwk = await exportJWK(second.privateKey)

let runtime: FakeRuntime
let keySet: KeySet
let requests: Request[]
let answer: () => Response | Promise<Response>

beforeEach(() => {
  runtime = createFakeRuntime(start)
  requests = []
  publish(first.published)
  keySet = createKeySet(url, {
    now: runtime.now,
    async fetch(request) {
      requests.push(request)
      return answer()
    },
  })
})
afterEach(() => {
  vi.restoreAllMocks()
})

function publish(...keys: unknown[]): void {
  answer = () => Response.json({ keys })
}

function fail(): void {
  answer = () => Promise.reject(new TypeError('fetch failed'))
}

const invalid = { name: 'ProviderError', failure: 'invalid_token' }
const transient = { name: 'ProviderError', failure: 'transient' }

describe('finding a key', () => {
  it('a key is fetched once for fifty callers', async () => {
    const keys = await race(() => keySet.find('first', 'ES256'))
    expect(new Set(keys).size).toBe(1)
    expect(requests).toHaveLength(1)
    expect(requests[0]?.url).toBe(url)
  })

  it('a key set is waited for at most eight seconds, and no redirect is followed', async () => {
    const timeout = vi.spyOn(AbortSignal, 'timeout')
    await keySet.find('first', 'ES256')
    expect(timeout.mock.calls).toEqual([[8000]])
    expect(requests[0]?.redirect).toBe('error')
  })

  it.each<[what: string, kid: string | undefined, algorithm: string]>([
    ['another kid', 'other', 'ES256'],
    ['no kid', undefined, 'ES256'],
    ['another algorithm', 'first', 'RS256'],
    ['a symmetric algorithm', 'first', 'HS256'],
    ['none', 'first', 'none'],
    ['a kid that runs into the algorithm', 'first ES256', ''],
  ])('RFC 7517 4: no key is found for %s', async (_what, kid, algorithm) => {
    await expect(keySet.find(kid, algorithm)).rejects.toMatchObject(invalid)
  })

  it('a key that is published without a kid is found', async () => {
    const { kid: _, ...nameless } = first.published
    publish(nameless)
    expect(await keySet.find(undefined, 'ES256')).toMatchObject({ type: 'public' })
  })

  it('an RSA key is found, whether it names its algorithm or not', async () => {
    const { alg: _, ...silent } = rsa.published
    publish(rsa.published, { ...silent, kid: 'silent' })
    expect(await keySet.find('rsa', 'RS256')).toMatchObject({ type: 'public' })
    expect(await keySet.find('silent', 'RS256')).toMatchObject({ type: 'public' })
  })

  it.each<[what: string, key: unknown]>([
    ['a symmetric key', { kty: 'oct', k: 'c2VjcmV0', kid: 'bad', alg: 'HS256' }],
    ['an encryption key', { ...second.published, kid: 'bad', use: 'enc' }],
    ['another curve', { ...second.published, kid: 'bad', crv: 'P-384' }],
    ['another RSA algorithm', { ...rsa.published, kid: 'bad', alg: 'PS256' }],
    ['a private key', { ...privateJwk, kid: 'bad' }],
    ['a damaged key', { kty: 'EC', crv: 'P-256', x: '!', y: '!', kid: 'bad' }],
    ['null', null],
  ])('RFC 7517 5: a key set ignores %s, the other keys work', async (_what, key) => {
    publish(key, first.published)
    expect(await keySet.find('first', 'ES256')).toMatchObject({ type: 'public' })
    for (const algorithm of ['ES256', 'RS256', 'HS256']) {
      await expect(keySet.find('bad', algorithm)).rejects.toMatchObject(invalid)
    }
  })

  it('a key set is read up to 32 keys', async () => {
    publish(...Array.from({ length: 33 }, (_, index) => ({ ...first.published, kid: `key ${index}` })))
    expect(await keySet.find('key 31', 'ES256')).toBeDefined()
    await expect(keySet.find('key 32', 'ES256')).rejects.toMatchObject(invalid)
  })
})

describe('keeping keys', () => {
  beforeEach(() => keySet.find('first', 'ES256'))

  it.each([
    [599, 1],
    [600, 2],
  ])('after %i s a known key has taken %i requests', async (after, count) => {
    runtime.advance(after)
    await keySet.find('first', 'ES256')
    expect(requests).toHaveLength(count)
  })

  it('an unknown kid fetches the key set again, at most every thirty seconds', async () => {
    const seen: number[] = []
    for (let second = 0; second <= 65; second += 1) {
      const before = requests.length
      await expect(keySet.find(`attack ${second}`, 'ES256')).rejects.toMatchObject(invalid)
      if (requests.length > before) seen.push(second)
      runtime.advance(1)
    }
    expect(seen).toEqual([30, 60])
  })

  it('a new key is found by its first token, half a minute after the last request', async () => {
    publish(first.published, second.published)
    runtime.advance(30)
    expect(await keySet.find('second', 'ES256')).toBeDefined()
    expect(await keySet.find('first', 'ES256')).toBeDefined()
    expect(requests).toHaveLength(2)
  })

  it('a key that has left the set stops verifying within ten minutes', async () => {
    publish(second.published)
    runtime.advance(599)
    expect(await keySet.find('first', 'ES256')).toBeDefined()
    runtime.advance(1)
    await expect(keySet.find('first', 'ES256')).rejects.toMatchObject(invalid)
  })

  it('a key that has left the set stops at once when a new one was fetched', async () => {
    publish(second.published)
    runtime.advance(30)
    await keySet.find('second', 'ES256')
    await expect(keySet.find('first', 'ES256')).rejects.toMatchObject(invalid)
  })
})

describe('when the key set cannot be read', () => {
  it.each<[what: string, response: () => Response | Promise<Response>]>([
    ['no connection', () => Promise.reject(new TypeError('fetch failed'))],
    ['500', () => Response.json({ keys: [first.published] }, { status: 500 })],
    ['a page instead of JSON', () => new Response('<!doctype html>')],
    ['JSON without keys', () => Response.json({})],
    ['keys that are no list', () => Response.json({ keys: { first: first.published } })],
  ])(
    'a key set that cannot be read (%s) is transient, and the next caller tries again',
    async (_what, response) => {
      answer = response
      await expect(keySet.find('first', 'ES256')).rejects.toMatchObject(transient)
      publish(first.published)
      expect(await keySet.find('first', 'ES256')).toBeDefined()
    },
  )

  it('the last keys are used for a day and no longer while the key set cannot be read', async () => {
    await keySet.find('first', 'ES256')
    fail()
    for (const after of [600, 3600, 86_399]) {
      runtime.advance(start + after - runtime.now())
      expect(await keySet.find('first', 'ES256')).toBeDefined()
    }
    runtime.advance(1)
    // Also between two attempts, when nothing is fetched.
    for (let second = 0; second < 40; second += 1) {
      await expect(keySet.find('first', 'ES256')).rejects.toMatchObject(transient)
      runtime.advance(1)
    }
    publish(first.published)
    runtime.advance(30)
    expect(await keySet.find('first', 'ES256')).toBeDefined()
  })

  it('a key set that cannot be read is requested at most every thirty seconds while old keys work', async () => {
    await keySet.find('first', 'ES256')
    fail()
    runtime.advance(600)
    for (let second = 0; second < 60; second += 1) {
      await keySet.find('first', 'ES256')
      runtime.advance(1)
    }
    expect(requests).toHaveLength(3)
  })

  it('an unknown kid may be a new key: transient, not invalid, until the set has been read', async () => {
    await keySet.find('first', 'ES256')
    fail()
    runtime.advance(30)
    for (let second = 0; second < 3; second += 1) {
      await expect(keySet.find('second', 'ES256')).rejects.toMatchObject(transient)
      runtime.advance(1)
    }
    publish(first.published)
    runtime.advance(30)
    await expect(keySet.find('second', 'ES256')).rejects.toMatchObject(invalid)
  })
})

describe('a key that a token of the provider itself names', () => {
  beforeEach(async () => {
    await keySet.find('first', 'ES256')
    publish(first.published, second.published)
  })

  it('a key that a token of the provider itself names is fetched at once, that of any other token after half a minute', async () => {
    runtime.advance(1)
    await expect(keySet.find('second', 'ES256')).rejects.toMatchObject(invalid)
    expect(requests).toHaveLength(1)
    await expect(keySet.find('second', 'ES256', true)).resolves.toBeDefined()
    await expect(keySet.find('second', 'ES256')).resolves.toBeDefined()
    expect(requests).toHaveLength(2)
  })

  it('a missing key that a token of the provider itself names costs one request a second at most, however many tokens name it', async () => {
    for (let seconds = 1; seconds <= 3; seconds += 1) {
      runtime.advance(1)
      const found = await Promise.allSettled(
        Array.from({ length: 50 }, () => keySet.find('unknown', 'ES256', true)),
      )
      expect(new Set(found.map(({ status }) => status))).toEqual(new Set(['rejected']))
      expect(requests).toHaveLength(1 + seconds)
    }
  })
})
