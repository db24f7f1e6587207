import { createHash, generatePrimeSync } from 'node:crypto'
import { encodeBase64url, encodeUtf8 } from '@drawbridge/shared/base64url.ts'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { start } from '../../../tests/support/server/core/grant-sample.ts'
import { publicClient } from '../../../tests/support/server/core/sign-in-sample.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { openMemoryStore } from '../../store/sqlite/sqlite.ts'
import { assertedClientId, type AssertionPorts, verifyClientAssertion } from './client-assertion.ts'
import type { ClientKeys } from './client.ts'

const id = 'https://client.example/client.json'
const issuer = 'https://mcp.example.com'
const tokenEndpoint = `${issuer}/oauth/token`

type Algorithm = 'RS256' | 'PS256' | 'ES256' | 'EdDSA'
const algorithms: readonly Algorithm[] = ['RS256', 'PS256', 'ES256', 'EdDSA']

async function keyPair(algorithm: string, kid: string) {
  const pair = await generateKeyPair(algorithm, { extractable: true })
  return { ...pair, algorithm, kid, jwk: { ...(await exportJWK(pair.publicKey)), kid } as JsonObject }
}
type Pair = Awaited<ReturnType<typeof keyPair>>

const pairs = {
  RS256: await keyPair('RS256', 'rsa'),
  PS256: await keyPair('PS256', 'pss'),
  ES256: await keyPair('ES256', 'ec'),
  EdDSA: await keyPair('EdDSA', 'ed'),
}
const stranger = await keyPair('ES256', 'ec')
const jwks: ClientKeys = { kind: 'jwks', keys: Object.values(pairs).map(({ jwk }) => jwk) }

const claims: JsonObject = { iss: id, sub: id, aud: issuer, jti: 'one', iat: start, exp: start + 300 }

function sign(changes: JsonObject = {}, pair: Pair = pairs.ES256, header: JsonObject = {}): Promise<string> {
  return new SignJWT({ ...claims, ...changes })
    .setProtectedHeader({ alg: pair.algorithm, kid: pair.kid, ...header })
    .sign(pair.privateKey)
}

function createPorts(overrides: Partial<AssertionPorts> = {}): AssertionPorts {
  return {
    store: openMemoryStore(),
    runtime: createFakeRuntime(start),
    issuer,
    tokenEndpoint,
    fetchKeys: () => Promise.reject(new Error('Keys were fetched.')),
    ...overrides,
  }
}

/** Creates an RSA key of `primeCount` primes of 512 bits each, and an assertion signed with it (RFC 8017 section 8.2.1). */
function rsaOf(primeCount: number, exponent: bigint): { jwk: JsonObject; assertion: string } {
  const primes = Array.from({ length: primeCount }, () => generatePrimeSync(512, { bigint: true }))
  const modulus = primes.reduce((product, prime) => product * prime)
  const order = primes.reduce((product, prime) => product * (prime - 1n), 1n)
  const text = [{ alg: 'RS256' }, claims]
    .map((part) => encodeBase64url(encodeUtf8(JSON.stringify(part))))
    .join('.')
  const digest = createHash('sha256').update(text).digest('hex')
  const length = Math.ceil(modulus.toString(16).length / 2)
  const padded = `0001${'ff'.repeat(length - 54)}003031300d060960864801650304020105000420${digest}`
  const signature = power(BigInt(`0x${padded}`), inverse(exponent, order), modulus)
  return {
    jwk: { kty: 'RSA', n: bytesOf(modulus, length), e: bytesOf(exponent) },
    assertion: `${text}.${bytesOf(signature, length)}`,
  }
}

function bytesOf(number: bigint, length = Math.ceil(number.toString(16).length / 2)): string {
  return Buffer.from(number.toString(16).padStart(2 * length, '0'), 'hex').toString('base64url')
}

function power(base: bigint, exponent: bigint, modulus: bigint): bigint {
  let [result, square] = [1n, base]
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % modulus
    square = (square * square) % modulus
  }
  return result
}

/** Computes the modular inverse; the numbers must be coprime. */
function inverse(number: bigint, modulus: bigint): bigint {
  let [one, other, factor, next] = [number, modulus, 1n, 0n]
  while (other !== 0n) {
    const times = one / other
    ;[one, other] = [other, one - times * other]
    ;[factor, next] = [next, factor - times * next]
  }
  return ((factor % modulus) + modulus) % modulus
}

const verify = (assertion: string, ports = createPorts(), keys: ClientKeys | undefined = jwks) =>
  verifyClientAssertion(publicClient({ id, keys }), assertion, ports)

const refused = { name: 'OAuthError', code: 'invalid_client', status: 401 }

describe('RFC 7523 3: verifyClientAssertion (RFC 7523 section 3)', () => {
  it.each(algorithms)('RFC 9700 2.5: accepts a signature by %s', async (algorithm) => {
    await expect(verify(await sign({}, pairs[algorithm]))).resolves.toBeUndefined()
  })

  it.each<[rule: string, changes: JsonObject]>([
    ['the token endpoint as aud', { aud: tokenEndpoint }],
    ['a list with both of our names as aud', { aud: [issuer, tokenEndpoint] }],
    ['no iat', { iat: undefined }],
    ['an exp of a moment ago: clocks differ', { exp: start - 29 }],
    ['an iat of a moment ahead: clocks differ', { iat: start + 30 }],
    ['an nbf that has come', { nbf: start }],
    ['an exp ten minutes ahead', { exp: start + 600 }],
    ['an exp with a fraction', { exp: start + 300.5 }],
    ['claims that nobody knows', { nonce: 'x' }],
  ])('accepts %s', async (_rule, changes) => {
    await expect(verify(await sign(changes))).resolves.toBeUndefined()
  })

  it.each<[rule: string, changes: JsonObject]>([
    ['another iss', { iss: 'https://other.example/c' }],
    ['no iss', { iss: undefined }],
    ['another sub', { sub: 'https://other.example/c' }],
    ['no sub', { sub: undefined }],
    ['another aud', { aud: 'https://other.example' }],
    ['an aud that only begins like ours', { aud: `${issuer}/` }],
    ['another aud beside ours', { aud: [issuer, 'https://other.example'] }],
    ['an empty list as aud', { aud: [] }],
    ['no aud', { aud: undefined }],
    ['an aud that is no text', { aud: [[issuer]] }],
    ['no exp', { exp: undefined }],
    ['an exp that is text', { exp: String(start + 300) }],
    ['an exp that has passed', { exp: start - 30 }],
    ['an exp eleven minutes ahead', { exp: start + 660 }],
    ['an nbf ahead', { nbf: start + 60 }],
    ['an nbf that is text', { nbf: '0' }],
    ['an iat ahead', { iat: start + 60 }],
    ['an iat that is no number', { iat: null }],
    ['no jti', { jti: undefined }],
    ['an empty jti', { jti: '' }],
    ['a jti that is a number', { jti: 1 }],
  ])('refuses %s', async (_rule, changes) => {
    await expect(verify(await sign(changes))).rejects.toMatchObject(refused)
  })

  it.each<[rule: string, assertion: () => Promise<string> | string]>([
    ['a key of somebody else under the same kid', () => sign({}, stranger)],
    ['an unknown kid', () => sign({}, pairs.ES256, { kid: 'other' })],
    ['the kid of a key of another kind', () => sign({}, pairs.ES256, { kid: 'rsa' })],
    ['RFC 7523 3: no signature: alg none', () => new UnsecuredJWT(claims).encode()],
    [
      'alg none in capitals',
      () =>
        `${encodeBase64url(encodeUtf8('{"alg":"None"}'))}.${encodeBase64url(encodeUtf8(JSON.stringify(claims)))}.`,
    ],
    [
      'RFC 8725 2.1: HS256 under the public key',
      () =>
        new SignJWT(claims)
          .setProtectedHeader({ alg: 'HS256', kid: 'ec' })
          .sign(encodeUtf8(JSON.stringify(pairs.ES256.jwk))),
    ],
    ['RFC 8725 3.11: a typ of another use', () => sign({}, pairs.ES256, { typ: 'at+jwt' })],
    [
      'a crit that nobody understands: RFC 7515 4.1.11',
      async () => {
        const header = encodeBase64url(encodeUtf8('{"alg":"ES256","kid":"ec","crit":["x"],"x":1}'))
        return `${header}.${(await sign()).split('.').slice(1).join('.')}`
      },
    ],
    [
      'changed claims',
      async () => {
        const [header, , signature] = (await sign()).split('.')
        const other = encodeBase64url(encodeUtf8(JSON.stringify({ ...claims, jti: 'two' })))
        return `${header}.${other}.${signature}`
      },
    ],
    ['a cut signature', async () => (await sign()).slice(0, -4)],
    ['two parts', () => 'a.b'],
    ['nothing', () => ''],
    ['more than 8192 characters', () => sign({ padding: 'x'.repeat(8192) })],
  ])('refuses %s', async (_rule, assertion) => {
    await expect(verify(await assertion())).rejects.toMatchObject(refused)
  })

  it.each(['JWT', 'jwt', 'client-authentication+jwt'])('accepts the typ %s', async (typ) => {
    await expect(verify(await sign({}, pairs.ES256, { typ }))).resolves.toBeUndefined()
  })

  it('accepts any of its keys when the assertion names none', async () => {
    await expect(verify(await sign({}, pairs.ES256, { kid: undefined }))).resolves.toBeUndefined()
    await expect(verify(await sign({}, stranger, { kid: undefined }))).rejects.toMatchObject(refused)
  })

  it.each<[rule: string, member: JsonObject]>([
    ['for encryption', { use: 'enc' }],
    ['for another algorithm', { alg: 'ES384' }],
    ['for signing alone', { key_ops: ['sign'] }],
    ['on another curve', { crv: 'P-384' }],
    ['that is broken', { x: 'AAAA' }],
  ])('RFC 7517 4: a key %s proves nothing, and does not hide the others', async (_rule, member) => {
    const odd = { ...pairs.ES256.jwk, ...member }
    await expect(verify(await sign(), createPorts(), { kind: 'jwks', keys: [odd] })).rejects.toMatchObject(
      refused,
    )
    const keys: ClientKeys = { kind: 'jwks', keys: [odd, pairs.ES256.jwk] }
    await expect(verify(await sign(), createPorts(), keys)).resolves.toBeUndefined()
  })

  it.each<[rule: string, primes: number, exponent: bigint]>([
    ['an exponent as long as those of private keys', 5, generatePrimeSync(512, { bigint: true })],
    ['a modulus of 5120 bits', 10, 65_537n],
  ])(
    'a key that takes long to check proves nothing, or strangers could keep this server busy: %s',
    async (_rule, primes, exponent) => {
      const { jwk, assertion } = rsaOf(primes, exponent)
      const keys: ClientKeys = { kind: 'jwks', keys: [jwk] }
      await expect(verify(assertion, createPorts(), keys)).rejects.toMatchObject(refused)
    },
  )

  it('the same kind of key with usual numbers does', async () => {
    const { jwk, assertion } = rsaOf(5, 65_537n)
    await expect(verify(assertion, createPorts(), { kind: 'jwks', keys: [jwk] })).resolves.toBeUndefined()
  })

  it('a client without keys proves nothing', async () => {
    const ports = createPorts()
    await expect(verifyClientAssertion(publicClient({ id }), await sign(), ports)).rejects.toMatchObject(
      refused,
    )
  })

  it('fetches the keys of a jwks_uri by kid, and only for an assertion that could be good', async () => {
    const asked: unknown[] = []
    const fetchKeys: AssertionPorts['fetchKeys'] = async (query) => {
      asked.push(query)
      return [pairs.ES256.jwk]
    }
    const keys: ClientKeys = { kind: 'jwks_uri', uri: 'https://client.example/jwks' }
    await verify(await sign(), createPorts({ fetchKeys }), keys)
    await expect(verify(await sign({ exp: start - 99 }), createPorts({ fetchKeys }), keys)).rejects.toThrow()
    expect(asked).toEqual([{ uri: 'https://client.example/jwks', kid: 'ec', known: true }])
    const unused = publicClient({ id, keys, expiresAt: start + 86_400 })
    await verifyClientAssertion(unused, await sign(), createPorts({ fetchKeys }))
    expect(asked[1]).toMatchObject({ known: false })
  })
})

describe('replay of assertions (RFC 7523 section 3 item 7)', () => {
  it('RFC 7523 3: an assertion counts once, at whatever instance', async () => {
    const store = openMemoryStore()
    const assertion = await sign()
    await verify(assertion, createPorts({ store }))
    await expect(verify(assertion, createPorts({ store }))).rejects.toMatchObject(refused)
  })

  it('a jti counts once, also in another assertion; another jti is new', async () => {
    const ports = createPorts()
    await verify(await sign(), ports)
    await expect(verify(await sign({ exp: start + 60 }), ports)).rejects.toMatchObject(refused)
    await expect(verify(await sign({ jti: 'two' }), ports)).resolves.toBeUndefined()
  })

  it('a jti is remembered for as long as its assertion is accepted', async () => {
    const runtime = createFakeRuntime(start)
    const ports = createPorts({ runtime })
    const assertion = await sign()
    await verify(assertion, ports)
    for (const seconds of [1, 298, 30]) {
      runtime.advance(seconds)
      await expect(verify(assertion, ports)).rejects.toMatchObject({
        description: expect.stringContaining('already used'),
      })
    }
    runtime.advance(1)
    await expect(verify(assertion, ports)).rejects.toMatchObject({
      description: expect.stringContaining('expired'),
    })
  })

  it('nobody but the holder of the key uses a jti up', async () => {
    const ports = createPorts()
    await expect(verify(await sign({}, stranger), ports)).rejects.toMatchObject(refused)
    await expect(verify(await sign(), ports)).resolves.toBeUndefined()
  })

  it('two clients may use the same jti', async () => {
    const ports = createPorts()
    const other = 'https://other.example/c'
    await verify(await sign(), ports)
    const assertion = await sign({ iss: other, sub: other })
    const client = publicClient({ id: other, keys: jwks })
    await expect(verifyClientAssertion(client, assertion, ports)).resolves.toBeUndefined()
  })
})

describe('assertedClientId (RFC 7521 section 4.2)', () => {
  it('is the sub, unproven', async () => {
    expect(assertedClientId(await sign({}, stranger))).toBe(id)
  })

  it.each(['', 'a.b.c', 'x'])('is nothing in %j', (text) => {
    expect(assertedClientId(text)).toBeUndefined()
  })

  it('is nothing when sub is no text, empty or too long to look at', async () => {
    expect(assertedClientId(await sign({ sub: 1 }))).toBeUndefined()
    expect(assertedClientId(await sign({ sub: '' }))).toBeUndefined()
    expect(assertedClientId(await sign({ sub: 'x'.repeat(9000) }))).toBeUndefined()
  })
})
