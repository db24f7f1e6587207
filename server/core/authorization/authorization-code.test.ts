import { StoreUnavailableError } from '../store-unavailable.ts'
import { beforeEach, describe, expect, it } from 'vitest'
import {
  addGrant,
  dueSignOuts,
  type GrantSample,
  grantSample,
  grantSeconds,
  start,
} from '../../../tests/support/server/core/grant-sample.ts'
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
import type { Grant, Workspace } from '../session/grant.ts'
import { ScopeCatalogue } from '../tokens/scope.ts'
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

describe('the grant that a client has stepped up from', () => {
  const user = {
    id: 'https://provider.example/auth/v1#sub ada',
    sub: 'sub ada',
    email: 'ada@example.com',
    name: undefined,
  }
  const sales = { id: 'sales', name: 'Sales' }
  const older: Partial<Grant> = { user, clientId: 'mcpc_public', scope: 'mcp a', workspace: sales }
  const scopes = new ScopeCatalogue({ a: 'A', b: 'B', c: 'C' })

  /** Issues a code that replaces the grant of `sample`, and redeems it unless `redeems` is false. */
  async function stepUp(
    sample: GrantSample,
    changes: { scope?: string; workspace?: Workspace | undefined } = {},
    redeems = true,
  ): Promise<string | undefined> {
    await addGrant(store, sample)
    const given = { scope: 'mcp a b', workspace: sales, replaces: sample.grant.id, ...changes }
    const request = { ...authorizationRequest(), ...given }
    ;({ code } = await issueAuthorizationCode(request, signInSample(), { ...ports, scopes }))
    ports = { ...ports, scopes }
    if (redeems) await redeem()
    return (await store.findGrant(sample.grant.id))?.end?.reason
  }

  it.each<[what: string, scope: string, of: string]>([
    ['one scope more', 'mcp a b', 'mcp a'],
    ['its first scope', 'mcp a', 'mcp'],
    ['one scope more, in another order', 'mcp b c a', 'mcp a b'],
    ['one scope more, and no offline_access', 'mcp a b', 'mcp a offline_access'],
  ])('a grant ends when a step-up to %s is redeemed', async (_what, scope, of) => {
    const sample = grantSample('old', { ...older, scope: of })
    expect(await stepUp(sample, { scope })).toBe('replaced')
    expect(ended).toEqual([['grant old', 'replaced']])
    expect(await accessIsLive(sample.tokens.accessHash)).toBe(false)
  })

  it.each<[what: string, changes: Parameters<typeof stepUp>[1], of?: Partial<Grant>]>([
    ['has the same scopes, as one that another device of the client gets', { scope: 'mcp a' }],
    ['lacks one of its scopes', { scope: 'mcp b c' }],
    ['has fewer scopes', { scope: 'mcp' }],
    ['has offline_access more', { scope: 'mcp a offline_access' }],
    ['is for another workspace', { workspace: { id: 'legal', name: 'Sales' } }],
    ['has no workspace', { workspace: undefined }],
    ['has a workspace that it lacks', {}, { workspace: undefined }],
    ['is of another user', {}, { user: { ...user, id: 'https://provider.example/auth/v1#other' } }],
  ])('a grant stays when the new one %s', async (_what, changes, of) => {
    expect(await stepUp(grantSample('old', { ...older, ...of }), changes)).toBeUndefined()
    expect(ended).toEqual([])
  })

  it('a client gets its tokens, and keeps both grants, if the store fails once they are issued', async () => {
    const sample = grantSample('old', older)
    const failing = {
      findGrant: () => Promise.reject(new StoreUnavailableError('The store is down.', { cause: undefined })),
    }
    const works = ports.store
    ports = { ...ports, store: Object.setPrototypeOf(failing, works) as typeof works }
    await addGrant(store, sample)
    const given = { scope: 'mcp a b', workspace: sales, replaces: sample.grant.id }
    ;({ code } = await issueAuthorizationCode({ ...authorizationRequest(), ...given }, signInSample(), {
      ...ports,
      scopes,
    }))
    ports = { ...ports, scopes }
    expect(await accessIsLive((await redeem()).access_token)).toBe(true)
    expect((await works.findGrant('grant old'))?.end).toBeUndefined()
  })

  it('a grant ends when the name of its workspace has changed since', async () => {
    const workspace = { id: 'sales', name: 'Sales and more' }
    expect(await stepUp(grantSample('old', older), { workspace })).toBe('replaced')
  })

  it('a grant stays while the code of the new one is not redeemed, and when it never is', async () => {
    expect(await stepUp(grantSample('old', older), {}, false)).toBeUndefined()
    await expect(redeem({ codeVerifier: 'x'.repeat(43) })).rejects.toThrow()
    runtime.advance(61_000)
    await expect(redeem()).rejects.toThrow()
    expect((await store.findGrant('grant old'))?.end).toBeUndefined()
  })

  it('a grant that ended before keeps the reason of that, and is not reported', async () => {
    const sample = grantSample('old', older)
    await stepUp(sample, {}, false)
    await store.endGrant('grant old', 'revoked_by_user', runtime.now())
    await redeem()
    expect([(await store.findGrant('grant old'))?.end?.reason, ended]).toEqual(['revoked_by_user', []])
  })

  it('a grant that was narrowed between sign-in and redemption ends, and one that was moved stays', async () => {
    const now = runtime.now()
    await stepUp(grantSample('old', older), {}, false)
    const from = { scope: 'mcp a', workspace: sales }
    const to = { scope: 'mcp', workspace: sales }
    await store.changeGrant({ grantId: 'grant old', from, to }, now)
    await redeem()
    expect((await store.findGrant('grant old'))?.end?.reason).toBe('replaced')
    await stepUp(grantSample('other', older), {}, false)
    const moved = { scope: 'mcp a', workspace: { id: 'legal', name: 'Legal' } }
    await store.changeGrant({ grantId: 'grant other', from, to: moved }, now)
    await redeem()
    expect((await store.findGrant('grant other'))?.end).toBeUndefined()
  })
})
