import { encodeBase64url, encodeUtf8 } from '@drawbridge/shared/base64url.ts'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { exportJWK, importJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose'
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

/** RSA keys that take long to check, each with its RS256 signature over {@link claims}; made once, outside of this test. */
const slowKeys = {
  exponent: {
    n: '6HWzOHu5WAN0bUENkr9sBeL1QkxwHhZ6OtYTc_-OuGTmKWJShB-ZNUstPHGClig_TEEP6zqtsTSXiP8CgWiKA9u0d8jwV2Xh3tEmrsn2OwNk4LnF7asEKzo1JqjcoyrCqkQ8XDzaBpNr-ROtrleJg-FAIeOlfdWfPzpoBS_-hj-RtXgfrhkpnO20VyTYJxF-rFVHXi34wIYX40FdPhDUg_pff0DYuO8GW5EGak7E20oYxz45Yfv47j_ub-5VqHF7CY3VhHAQxsZ5H8GUc7xth4k9YNOO9nFUK-1pPo-sf-ZpyJfNv39s8eJC7V-1j49wRsxp4hi2nZvssCRljXJx42AV',
    e: 'AQAAAAAP',
    signature:
      '0cePtpkyGBW1NEn0P6y4Z3tv9hkPqBAMp0BMkdnvviqJOLENk3bpLhofsyC4OpQLDnvKJBHx6VwqdRyT88KRB93kBIgDmlIcvl95jp8e3u-G-v16yoOhuejEus64XRnI1ojeIa0I3-WCYE_Nlfsz_WQVBOz4oJ0N8vs7bC1lTn9bW6WgarxCIdAWnh392dPAy9JpqB_vM2k1r7KrFQAWIy9GeuFpd2_Nsej9OHZ68MdWz4Pv-hp75fWm1AKKg9CQtOYkgOXHCbnlxqcLidd5NORvVp6pei6ooI0ak7CacFRxPw-I61fZCASLomlsLWFv4xP0rHRqc55mohy3poBNJlFm',
  },
  modulus: {
    n: 'mFs_sLlfNQtKVrExXKXc8kh-nur3LFGEynGbXMY-YzMmhF7ITVAijoQXzUGl9w01VlJaqpP_yOinyB-_LBiRp9sRZQGjMDH7NhLMmwy1f2CwPIBWCoWKFnVhpOHpa0xGA41RvmCcHy_SInud2QDcaTkiPBr11Lj7b0V7ZkGviKhzm6Fy76N7kMVQHjxC4Tpwr_2XhNbUSUl_fny8awbFxEikpBZIlAAn62G5PVfheEn8ghqZUrashrZnWiypalThnBT2gXsA5oIUBaTqmrfjAvAf343J8qx2aKDuCgC-WUi2CmnXycJ2c389YWmzHaPaxE7S3M8iJRr5p8uw41fBzhiWIgoP4d6DW7c_chqwC2k-KZgQp8pR7LoBZ19bcU8d-_7On3Khqxdubk55y9MGa3GrD1fWEQPaM4d7yxXMbXfk8UTPnmTrCE-axcKggk2ul5xI6otf0LUg9Uk9hmj-6Z3FMLEcSOc5ZTJp6uSTAtyaH2ACWH9wojqThnon7yinyUOxSjzc0ub-Q4uysA9YKuo4O3EAffxZkIpNQ7S7ISza_krAdgSdk_FCQjLCP3ON89ZO1lHY55jbT6SwIsz-VzSOYZq1Di595aXOmm5m3LSQ-nvDAB_Ci6aQGiZTRwfCvySub3Uyyn9UZuQ5C8BJ0fgtIm2NW2pTTxSwp1hLn5A5Sh0',
    e: 'AQAB',
    signature:
      'R_NeurEwQLXgnlvL5H5AG7hHxXS_QtT8jHQjLeFeSqjSzwrcCvgnzzYZl1vyCqyBqfzCdBa8HBr6CgOBZDz1ju349HapnhhIGRv-1U7ODh-y9p8utcghknhAz_-aQfJy8Wq4DExqoTwK4LAUWkxjOjR1gQnoW-f_JFPf7J-BLIGfF7NhK4IUUkjZAtomodW56pIgxa09LDPacDN0WtzZKjdNv3F09mfv9Sj_skcfMqfC80AMTyBpoY5Gs_pJcYT4wdUqxnb_sJ8rmoWKvNnDCI1utFhEsCI2I-nkfPfUB09jzqPJVNHqZC_4qnuxo7U2BDCkW-SkYlUx-9QaluxA6TgWTtOfb5qM7S_RdX_DOX93DqFM45rKgJvATNR1w62Fpt9Car3ucVeTwJA_4eetmxOR-4a2pUgfpeMP0v13w0jsFLuE-wntZwpCORZ6C11a1TNARGZgR7jb_jIHBMKLeQmcKhg8OJFhv0cZ7GfL2gTcAwV6PxGTcHHWYGjT44-b3fr2p8s8cOdoUxQAeYjuWzOHSaKoxtKL72__JFLVP_hE5BGgPy4owXZIB4GP0ClcaZ8yeFliL27Hu6itKweyHFlNyE470QgD_vuFtAc1913-JYdFvyqQ1e-5m95UvzGUiIj19HmVtb9mJ6VbOyGq_ne4tIh8uHW-WB8kcTtJjjMlpoU',
  },
}

const verify = (assertion: string, ports = createPorts(), keys: ClientKeys | undefined = jwks) =>
  verifyClientAssertion(publicClient({ id, keys }), assertion, ports)

const refused = { name: 'OAuthError', code: 'invalid_client', status: 401 }

describe('RFC 7523 3: verifyClientAssertion (RFC 7523 section 3)', () => {
  it.each(algorithms)('RFC 9700 2.5: verifyClientAssertion accepts a signature by %s', async (algorithm) => {
    await expect(verify(await sign({}, pairs[algorithm]))).resolves.toBeUndefined()
  })

  it.each<[rule: string, changes: JsonObject]>([
    ['the token endpoint as aud', { aud: tokenEndpoint }],
    ['our issuer with the slash of its origin as aud', { aud: `${issuer}/` }],
    ['a list with both of our names as aud', { aud: [issuer, tokenEndpoint] }],
    ['no iat', { iat: undefined }],
    ['an exp of a moment ago: clocks differ', { exp: start - 29 }],
    ['an iat of a moment ahead: clocks differ', { iat: start + 30 }],
    ['an exp ten minutes ahead', { exp: start + 600 }],
    ['an exp with a fraction', { exp: start + 300.5 }],
  ])('verifyClientAssertion accepts %s', async (_rule, changes) => {
    await expect(verify(await sign(changes))).resolves.toBeUndefined()
  })

  it.each<[rule: string, changes: JsonObject]>([
    ['another iss', { iss: 'https://other.example/c' }],
    ['another sub', { sub: 'https://other.example/c' }],
    ['another aud', { aud: 'https://other.example' }],
    ['an aud that only begins like ours', { aud: `${issuer}/x` }],
    ['another aud beside ours', { aud: [issuer, 'https://other.example'] }],
    ['an empty list as aud', { aud: [] }],
    ['no aud', { aud: undefined }],
    ['no exp', { exp: undefined }],
    ['an exp that is text', { exp: String(start + 300) }],
    ['an exp that has passed', { exp: start - 30 }],
    ['an exp eleven minutes ahead', { exp: start + 660 }],
    ['an nbf ahead', { nbf: start + 60 }],
    ['an iat ahead', { iat: start + 60 }],
    ['an iat that is no number', { iat: null }],
    ['no jti', { jti: undefined }],
    ['an empty jti', { jti: '' }],
    ['a jti that is a number', { jti: 1 }],
  ])('verifyClientAssertion refuses %s', async (_rule, changes) => {
    await expect(verify(await sign(changes))).rejects.toMatchObject(refused)
  })

  it.each<[rule: string, assertion: () => Promise<string> | string]>([
    ['a key of somebody else under the same kid', () => sign({}, stranger)],
    ['an unknown kid', () => sign({}, pairs.ES256, { kid: 'other' })],
    ['RFC 7523 3: no signature: alg none', () => new UnsecuredJWT(claims).encode()],
    [
      'RFC 8725 2.1: HS256 under the public key',
      () =>
        new SignJWT(claims)
          .setProtectedHeader({ alg: 'HS256', kid: 'ec' })
          .sign(encodeUtf8(JSON.stringify(pairs.ES256.jwk))),
    ],
    [
      'RFC 8725 3.1: an algorithm that metadata does not list, with a key of the client: RS512',
      async () => {
        const privateKey = await importJWK(await exportJWK(pairs.RS256.privateKey), 'RS512')
        return new SignJWT(claims).setProtectedHeader({ alg: 'RS512', kid: 'rsa' }).sign(privateKey)
      },
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
    ['nothing', () => ''],
    ['more than 8192 characters', () => sign({ padding: 'x'.repeat(8192) })],
  ])('verifyClientAssertion refuses %s', async (_rule, assertion) => {
    await expect(verify(await assertion())).rejects.toMatchObject(refused)
  })

  it.each(['JWT', 'client-authentication+jwt'])('verifyClientAssertion accepts the typ %s', async (typ) => {
    await expect(verify(await sign({}, pairs.ES256, { typ }))).resolves.toBeUndefined()
  })

  it('verifyClientAssertion tries all keys of a client if the assertion names none', async () => {
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

  it.each([
    ['an exponent of 41 bits', slowKeys.exponent],
    ['a modulus of 4120 bits', slowKeys.modulus],
  ])(
    'a key that takes long to check proves nothing, so that attackers cannot keep this server busy: %s',
    async (_rule, { signature, n, e }) => {
      const text = [{ alg: 'RS256' }, claims]
        .map((part) => encodeBase64url(encodeUtf8(JSON.stringify(part))))
        .join('.')
      const keys: ClientKeys = { kind: 'jwks', keys: [{ kty: 'RSA', n, e }] }
      await expect(verify(`${text}.${signature}`, createPorts(), keys)).rejects.toMatchObject(refused)
    },
  )

  it('a client without keys proves nothing', async () => {
    const ports = createPorts()
    await expect(verifyClientAssertion(publicClient({ id }), await sign(), ports)).rejects.toMatchObject(
      refused,
    )
  })

  it('keys of a jwks_uri are fetched by kid, and only for an assertion that could be valid', async () => {
    const asked: unknown[] = []
    const fetchKeys: AssertionPorts['fetchKeys'] = async (query) => {
      asked.push(query)
      return [pairs.ES256.jwk]
    }
    const keys: ClientKeys = { kind: 'jwks_uri', uri: 'https://client.example/jwks' }
    await verify(await sign(), createPorts({ fetchKeys }), keys)
    for (const changes of [{ exp: start - 99 }, { nbf: start + 60 }])
      await expect(verify(await sign(changes), createPorts({ fetchKeys }), keys)).rejects.toThrow()
    expect(asked).toEqual([{ uri: 'https://client.example/jwks', kid: 'ec', known: true }])
    const unused = publicClient({ id, keys, expiresAt: start + 86_400 })
    await verifyClientAssertion(unused, await sign(), createPorts({ fetchKeys }))
    expect(asked[1]).toMatchObject({ known: false })
  })
})

describe('replay of assertions (RFC 7523 section 3 item 7)', () => {
  it('RFC 7523 3: a jti counts once, also in another assertion and at another instance; another jti is new', async () => {
    const ports = createPorts()
    await verify(await sign(), ports)
    const elsewhere = createPorts({ store: ports.store })
    await expect(verify(await sign({ exp: start + 60 }), elsewhere)).rejects.toMatchObject(refused)
    await expect(verify(await sign({ jti: 'two' }), ports)).resolves.toBeUndefined()
  })

  it('two clients may use the same jti', async () => {
    const ports = createPorts()
    const other = 'https://other.example/c'
    await verify(await sign(), ports)
    const assertion = await sign({ iss: other, sub: other })
    const client = publicClient({ id: other, keys: jwks })
    await expect(verifyClientAssertion(client, assertion, ports)).resolves.toBeUndefined()
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

  it('a jti is used up only by the holder of the key', async () => {
    const ports = createPorts()
    await expect(verify(await sign({}, stranger), ports)).rejects.toMatchObject(refused)
    await expect(verify(await sign(), ports)).resolves.toBeUndefined()
  })
})

it('assertedClientId returns the sub, unproven', async () => {
  expect(assertedClientId(await sign({}, stranger))).toBe(id)
})

it.each(['', 'a.b.c'])('assertedClientId finds nothing in %j', (text) => {
  expect(assertedClientId(text)).toBeUndefined()
})

it('assertedClientId ignores a sub that is not text, empty or too long', async () => {
  expect(assertedClientId(await sign({ sub: 1 }))).toBeUndefined()
  expect(assertedClientId(await sign({ sub: '' }))).toBeUndefined()
  expect(assertedClientId(await sign({ sub: 'x'.repeat(9000) }))).toBeUndefined()
})
