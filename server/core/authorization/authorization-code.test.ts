import { beforeEach, describe, expect, it } from 'vitest'
import { dueSignOuts, grantSeconds, start } from '../../../tests/support/server/core/grant-sample.ts'
import { issuingSample } from '../../../tests/support/server/core/issuing-sample.ts'
import {
  authorizationRequest,
  challengeVerifier,
  publicClient,
  resource,
  signInSample,
} from '../../../tests/support/server/core/sign-in-sample.ts'
import {
  type CodeRedemptionRequest,
  issueAuthorizationCode,
  redeemAuthorizationCode,
} from './authorization-code.ts'
import { hashSecret } from '../seal.ts'
import { tokenKey, type TokenResponse } from '../tokens/token-issue.ts'

let { runtime, store, ports, ended } = issuingSample()
let code: string

beforeEach(async () => {
  ;({ runtime, store, ports, ended } = issuingSample())
  ;({ code } = await issueAuthorizationCode(authorizationRequest(), signInSample(), ports))
})

async function redeem(changes: Partial<CodeRedemptionRequest> = {}): Promise<TokenResponse> {
  const { response } = await redeemAuthorizationCode(
    {
      client: publicClient(),
      code,
      codeVerifier: challengeVerifier,
      redirectUri: undefined,
      resources: [],
      ...changes,
    },
    ports,
  )
  return response
}

const accessIsLive = async (token: string): Promise<boolean> =>
  (await store.findAccessToken(tokenKey(token), runtime.now())) !== undefined

describe('issueAuthorizationCode', () => {
  it('OAuth 2.1 7.7, RFC 7636 4.4: issueAuthorizationCode makes a code of 256 random bits, known to the store by its hash', async () => {
    expect(code).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(await store.findAuthorizationCode(code)).toBeUndefined()
    const record = await store.findAuthorizationCode(hashSecret(code))
    expect(record).toEqual({
      codeHash: hashSecret(code),
      redirectUri: authorizationRequest().redirectUri,
      codeChallenge: authorizationRequest().codeChallenge,
      expiresAt: start + 60,
      grant: {
        id: expect.stringMatching(/^[A-Za-z0-9_-]{22}$/),
        user: {
          id: 'https://provider.example/auth/v1#sub ada',
          sub: 'sub ada',
          email: 'ada@example.com',
          name: undefined,
        },
        clientId: 'mcpc_public',
        resource,
        scope: 'mcp offline_access',
        createdAt: start,
        expiresAt: start + grantSeconds,
      },
    })
  })

  it.each([0xf8, 0xff])('a grant whose random bytes begin with %i is named like a word', async (first) => {
    const randomBytes = (length: number): Uint8Array => {
      const bytes = runtime.randomBytes(length)
      bytes[0] = first
      return bytes
    }
    const others = { ...ports, runtime: { ...runtime, randomBytes } }
    ;({ code } = await issueAuthorizationCode(authorizationRequest(), signInSample(), others))
    const record = await store.findAuthorizationCode(hashSecret(code))
    expect(record?.grant.id).toMatch(/^[A-Za-z][\w-]{21}$/)
  })
})

describe('redeemAuthorizationCode', () => {
  it('RFC 6749 4.1.4: redeemAuthorizationCode answers tokens that work', async () => {
    const tokens = await redeem()
    expect(tokens).toEqual({
      access_token: tokens.access_token,
      token_type: 'Bearer',
      expires_in: 3590,
      scope: 'mcp offline_access',
      refresh_token: tokens.refresh_token,
    })
    expect(await accessIsLive(tokens.access_token)).toBe(true)
    expect(await store.findRefreshToken(tokenKey(tokens.refresh_token ?? ''))).toBeDefined()
  })

  it.each<[rule: string, changes: Partial<CodeRedemptionRequest>]>([
    ['OAuth 2.1 4.1.3: without redirect_uri', { redirectUri: undefined }],
    ['RFC 6749 4.1.3: with the same redirect_uri', { redirectUri: authorizationRequest().redirectUri }],
    ['RFC 8707 2.2: with our resource', { resources: [resource] }],
  ])('redeemAuthorizationCode accepts %s', async (_rule, changes) => {
    expect((await redeem(changes)).token_type).toBe('Bearer')
  })

  it.each<[rule: string, changes: Partial<CodeRedemptionRequest>, error: string]>([
    ['RFC 7636 4.5: no verifier', { codeVerifier: undefined }, 'invalid_request'],
    [
      'RFC 7636 4.6, RFC 9700 4.5, RFC 9700 4.5.3: another verifier',
      { codeVerifier: 'x'.repeat(43) },
      'invalid_grant',
    ],
    ['RFC 7636 4.1: a verifier that is too short', { codeVerifier: 'short' }, 'invalid_grant'],
    [
      'RFC 6749 4.1.3: another redirect_uri',
      { redirectUri: 'http://127.0.0.1:4712/callback' },
      'invalid_grant',
    ],
    [
      'RFC 6749 4.1.3: the registered redirect_uri, which was not the one used',
      { redirectUri: 'http://127.0.0.1/callback' },
      'invalid_grant',
    ],
    ['RFC 8707 2.2: a foreign resource', { resources: ['https://other.example/mcp'] }, 'invalid_target'],
    [
      'RFC 6749 5.2: the code of another client',
      { client: publicClient({ id: 'mcpc_other' }) },
      'invalid_grant',
    ],
    ['RFC 6749 5.2: an unknown code', { code: 'unknown' }, 'invalid_grant'],
  ])('OAuth 2.1 4.1.2: %s is refused and does not use the code up', async (_rule, changes, error) => {
    await expect(redeem(changes)).rejects.toMatchObject({ name: 'OAuthError', code: error, status: 400 })
    expect((await redeem()).token_type).toBe('Bearer')
  })

  it('a client that registered without refresh_token gets none', async () => {
    const client = publicClient({ grantTypes: ['authorization_code'] })
    expect(await redeem({ client })).not.toHaveProperty('refresh_token')
  })

  it("descriptions of an unknown code and of another client's code are the same", async () => {
    const descriptionOf = (changes: Partial<CodeRedemptionRequest>): Promise<string> =>
      redeem(changes).then(String, (error: Error) => error.message)
    expect(await descriptionOf({ code: 'unknown' })).toBe(
      await descriptionOf({ client: publicClient({ id: 'mcpc_other' }) }),
    )
  })

  it.each([
    [59, 'redeemed'],
    [60, 'invalid_grant'],
  ])('RFC 6749 4.1.2: a code redeemed after %i s: %s', async (after, outcome) => {
    runtime.advance(after)
    const result = redeem().then(
      () => 'redeemed',
      (error: { code: string }) => error.code,
    )
    expect(await result).toBe(outcome)
  })
})

describe('RFC 6749 4.1.2, RFC 9700 2.1.1: a code presented again', () => {
  it.each([
    ['at once', 0, true],
    ['after ten seconds', 10, true],
    ['after eleven seconds', 11, false],
  ])('%s', async (_when, after, lives) => {
    const { refresh_token: refreshToken = '' } = await redeem()
    runtime.advance(after)
    await expect(redeem()).rejects.toMatchObject({ code: 'invalid_grant' })
    const record = await store.findRefreshToken(tokenKey(refreshToken))
    expect(record?.endReason).toBe(lives ? undefined : 'code_reuse')
    expect(ended).toEqual(lives ? [] : [[record?.grant.id, 'code_reuse']])
    // Ending the grant also ends its session.
    expect((await dueSignOuts(store, runtime.now())).map(({ grantId }) => grantId)).toEqual(
      lives ? [] : [record?.grant.id],
    )
  })

  it('a grant that has ended is not reported again, however often its code comes back', async () => {
    await redeem()
    runtime.advance(11)
    for (let index = 0; index < 3; index += 1)
      await expect(redeem()).rejects.toMatchObject({ code: 'invalid_grant' })
    expect(ended).toHaveLength(1)
  })

  it.each<[who: string, changes: Partial<CodeRedemptionRequest>]>([
    ['without the verifier', { codeVerifier: undefined }],
    ['with another verifier', { codeVerifier: 'x'.repeat(43) }],
    ['by another client', { client: publicClient({ id: 'mcpc_other' }) }],
  ])(
    'OAuth 2.1 7.5.3: %s ends nothing: a finder of the code cannot cut its owner off',
    async (_who, changes) => {
      const { access_token: accessToken } = await redeem()
      runtime.advance(60)
      await expect(redeem(changes)).rejects.toMatchObject({ name: 'OAuthError' })
      expect(await accessIsLive(accessToken)).toBe(true)
    },
  )
})
