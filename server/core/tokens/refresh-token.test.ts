import { beforeEach, describe, expect, it } from 'vitest'
import {
  addGrant,
  dueSignOuts,
  grantSample,
  grantSeconds,
  race,
  start,
} from '../../../tests/support/server/core/grant-sample.ts'
import { issuingSample } from '../../../tests/support/server/core/issuing-sample.ts'
import { publicClient } from '../../../tests/support/server/core/sign-in-sample.ts'
import {
  type RefreshedTokens,
  RefreshLimit,
  type RefreshRequest,
  rotateRefreshToken,
} from './refresh-token.ts'
import { revokeToken } from './revocation.ts'
import { hashSecret, openUnderSecret } from '../seal.ts'
import { familyOf, tokenKey, type TokenResponse } from './token-issue.ts'
import type { Store } from '../store.ts'

const tokenOf = (family: string): string =>
  `mcpr_${start.toString(36).padStart(7, '0')}${family.repeat(22)}${'1'.repeat(43)}`
const first = tokenOf('f')
const client = publicClient()

let { runtime, store, ports, ended } = issuingSample()

beforeEach(async () => {
  ;({ runtime, store, ports, ended } = issuingSample())
  await connect('a', first)
})

/** Creates a grant of the client with that refresh token. */
async function connect(name: string, refreshToken: string): Promise<void> {
  const sample = grantSample(name, { clientId: client.id })
  const familyHash = hashSecret(familyOf(refreshToken) ?? '')
  await addGrant(store, {
    ...sample,
    tokens: { ...sample.tokens, refreshHash: tokenKey(refreshToken), familyHash },
  })
}

const rotate = (refreshToken: string, changes: Partial<RefreshRequest> = {}): Promise<RefreshedTokens> =>
  rotateRefreshToken({ client, refreshToken, scope: undefined, resources: [], ...changes }, ports)

const refresh = async (...given: Parameters<typeof rotate>): Promise<TokenResponse> =>
  (await rotate(...given)).response

const successorOf = async (refreshToken: string): Promise<string> =>
  (await refresh(refreshToken)).refresh_token ?? ''

const reasons = (): string[] => ended.map(([, reason]) => reason)

async function collect(): Promise<void> {
  while ((await store.collectExpired(runtime.now(), 100)) > 0);
}

const accessIsLive = async (token: string): Promise<boolean> =>
  (await store.findAccessToken(tokenKey(token), runtime.now())) !== undefined

describe('rotateRefreshToken', () => {
  it('RFC 6749 6, RFC 9700 4.14.2, MCP auth Token-Theft, RFC 9700 2.2.2: a refresh gives a new pair, of which both work', async () => {
    const tokens = await refresh(first)
    expect(tokens).toMatchObject({ token_type: 'Bearer', expires_in: 3590, scope: 'mcp offline_access' })
    expect(tokens.refresh_token).toMatch(/^mcpr_[0-9a-z]{7}f{22}[A-Za-z0-9_-]{43}$/)
    expect(await accessIsLive(tokens.access_token)).toBe(true)
    expect((await refresh(tokens.refresh_token ?? '')).refresh_token).not.toBe(tokens.refresh_token)
  })

  it('a refresh token rotated fifty times at once gets one and the same pair', async () => {
    const results = await race(() => refresh(first))
    expect(new Set(results.map((tokens) => JSON.stringify(tokens))).size).toBe(1)
    expect(await accessIsLive(results[0]?.access_token ?? '')).toBe(true)
  })

  it.each([0, 120])(
    'a refresh token used again after %i s gets the same pair, its life counted from now',
    async (after) => {
      const tokens = await refresh(first)
      runtime.advance(after)
      expect(await refresh(first)).toEqual({ ...tokens, expires_in: 3590 - after })
    },
  )

  it('RFC 9700 4.14.2, OAuth 2.1 4.3.1: a refresh token presented again after 121 s ends the connection, for thief and owner', async () => {
    const tokens = await refresh(first)
    runtime.advance(121)
    await expect(refresh(first)).rejects.toMatchObject({ code: 'invalid_grant', message: /used before/ })
    expect(await accessIsLive(tokens.access_token)).toBe(false)
    await expect(refresh(tokens.refresh_token ?? '')).rejects.toMatchObject({ code: 'invalid_grant' })
    expect(await store.findRefreshToken(tokenKey(first))).toMatchObject({
      endReason: 'refresh_token_reuse',
    })
    expect(ended).toEqual([[grantSample('a').grant.id, 'refresh_token_reuse']])
    expect(await dueSignOuts(store, runtime.now())).toEqual([grantSample('a').session])
  })

  it('a stored successor does not open without its predecessor', async () => {
    let sealed = ''
    const spying = {
      ...store,
      rotateRefreshToken: ((hash, successor, options) => {
        sealed = successor.sealedTokens
        return store.rotateRefreshToken(hash, successor, options)
      }) satisfies Store['rotateRefreshToken'],
    }
    ports.store = spying
    const tokens = await refresh(first)
    const bytes = Buffer.from(sealed, 'base64url')
    expect(bytes.length).toBeGreaterThan(100)
    expect(bytes.includes(tokens.access_token)).toBe(false)
    expect(bytes.includes('mcpa_')).toBe(false)
    const context = 'drawbridge refresh token successor'
    expect(openUnderSecret(sealed, first, context)).toContain(tokens.access_token)
    const others = [
      '',
      first.slice(0, -1),
      tokens.refresh_token ?? '',
      tokens.access_token,
      tokenKey(first),
      context,
    ]
    for (const other of others) expect(openUnderSecret(sealed, other, context)).toBeUndefined()
  })

  it('a successor that was sealed for another token does not open, even in its place in the store', async () => {
    const other = tokenOf('g')
    await connect('b', other)
    const swapped = new Map<string, string>()
    const swapping: Store = {
      ...store,
      async rotateRefreshToken(hash, successor, terms) {
        const rotation = await store.rotateRefreshToken(hash, successor, terms)
        if (rotation.kind === 'rotated') swapped.set(hash, successor.sealedTokens)
        return rotation.kind === 'replayed'
          ? {
              ...rotation,
              sealedTokens: swapped.get(tokenKey(hash === tokenKey(first) ? other : first)) ?? '',
            }
          : rotation
      },
    }
    ports.store = swapping
    await refresh(first)
    await refresh(other)
    for (const token of [first, other]) await expect(refresh(token)).rejects.toThrow('does not open')
  })

  it.each<[rule: string, scope: string | undefined, granted: string]>([
    ['RFC 6749 6: omitted: that of the grant', undefined, 'mcp offline_access'],
    ['a part of it', 'mcp', 'mcp'],
  ])('RFC 6749 6, scope %s', async (_rule, scope, granted) => {
    const tokens = await refresh(first, { scope })
    expect(tokens.scope).toBe(granted)
    const found = await store.findAccessToken(tokenKey(tokens.access_token), start)
    expect(found?.scope).toBe(granted)
  })

  it('RFC 6749 6, OAuth 2.1 4.3.3: a narrowed token does not narrow the refresh token', async () => {
    const { refresh_token: next = '' } = await refresh(first, { scope: 'mcp' })
    expect((await refresh(next)).scope).toBe('mcp offline_access')
  })

  it.each<[rule: string, token: string, changes: Partial<RefreshRequest>, error: string]>([
    [
      'RFC 6749 10.4: of another client',
      first,
      { client: publicClient({ id: 'mcpc_other' }) },
      'invalid_grant',
    ],
    ['unknown', 'mcpr_unknown', {}, 'invalid_grant'],
    ['its stored hash', tokenKey(first), {}, 'invalid_grant'],
    ['RFC 6749 5.2: with a scope that is none', first, { scope: 'mcp"' }, 'invalid_scope'],
    [
      'RFC 8707 2.2: for a foreign resource',
      first,
      { resources: ['https://other.example/mcp'] },
      'invalid_target',
    ],
  ])('a refresh is refused and rotates nothing: %s', async (_rule, token, changes, error) => {
    await expect(refresh(token, changes)).rejects.toMatchObject({
      name: 'OAuthError',
      code: error,
      status: 400,
    })
    runtime.advance(3600)
    expect((await refresh(first)).token_type).toBe('Bearer')
  })

  it('a refresh issues no token that outlives the grant, and none after it', async () => {
    runtime.advance(grantSeconds - 10)
    const tokens = await refresh(first)
    expect(tokens.expires_in).toBe(9)
    runtime.advance(10)
    expect(await accessIsLive(tokens.access_token)).toBe(false)
    await expect(refresh(tokens.refresh_token ?? '')).rejects.toMatchObject({ code: 'invalid_grant' })
  })

  it('a refusal of a refresh token names the connection only in the log', async () => {
    await store.endGrant('grant a', 'revoked_by_user', start)
    const refused = refresh(first)
    await expect(refused).rejects.toMatchObject({ logFields: { client_id: client.id, grant_id: 'grant a' } })
    await expect(refused).rejects.toThrow(/^(?!.*grant a)/)
  })

  it('RFC 6749 5.2: an unknown token of a client that registered without refreshing is unauthorized_client', async () => {
    const without = publicClient({ grantTypes: ['authorization_code'] })
    await expect(refresh('mcpr_unknown', { client: without })).rejects.toMatchObject({
      code: 'unauthorized_client',
    })
    expect((await refresh(first, { client: without })).token_type).toBe('Bearer')
  })

  it('OAuth 2.1 4.3.1: a grant that ends between look-up and rotation is invalid_grant', async () => {
    ports.store = {
      ...store,
      async findRefreshToken(hash: string) {
        const record = await store.findRefreshToken(hash)
        await store.endGrant('grant a', 'provider_session_ended', start)
        return record
      },
    }
    await expect(refresh(first)).rejects.toMatchObject({ code: 'invalid_grant' })
  })
})

describe('replays', () => {
  it('replays after the access token of the successor has ended return what follows the successor', async () => {
    ports.accessTokenTtlSeconds = 30
    const successor = await refresh(first)
    runtime.advance(29)
    expect((await refresh(first)).refresh_token).toBe(successor.refresh_token)
    runtime.advance(1)
    const { response, replayOf } = await rotate(first)
    expect(replayOf).toBeDefined()
    expect(response.access_token).not.toBe(successor.access_token)
    expect(await accessIsLive(response.access_token)).toBe(true)
    expect(await refresh(successor.refresh_token ?? '')).toMatchObject({
      refresh_token: response.refresh_token,
    })
    expect(reasons()).toEqual([])
  })

  it('replays report where the token was used first', async () => {
    expect(await rotate(first, { address: '192.0.2.1' })).not.toHaveProperty('replayOf')
    expect(await rotate(first, { address: '198.51.100.7' })).toMatchObject({
      replayOf: { address: '192.0.2.1' },
    })
  })

  it('RFC 9700 4.14.2: a replay several steps back, later than ten seconds, is reuse although it is within two minutes', async () => {
    await successorOf(await successorOf(first))
    runtime.advance(11)
    await expect(refresh(first)).rejects.toMatchObject({ code: 'invalid_grant', message: /used before/ })
    expect(reasons()).toEqual(['refresh_token_reuse'])
  })
})

describe('a replay after the access token of its successor has ended', () => {
  beforeEach(() => {
    ports = { ...ports, accessTokenTtlSeconds: 40, refreshLimit: new RefreshLimit(40) }
  })

  it('a replay after the access token of its successor has ended gets a live one, which follows the successor', async () => {
    const { response: lost } = await rotate(first, { address: '192.0.2.1' })
    runtime.advance(58)
    await collect()
    const { response, replayOf } = await rotate(first, { address: '198.51.100.7' })
    expect(replayOf).toEqual({ address: '192.0.2.1' })
    expect(response.expires_in).toBeGreaterThan(30)
    expect(await store.findAccessToken(tokenKey(response.access_token), runtime.now())).toBeDefined()
    // A holder of the successor gets the same pair.
    expect(await refresh(lost.refresh_token ?? '')).toEqual(response)
    expect(reasons()).toEqual([])
  })
})

describe('a used refresh token whose row is collected', () => {
  let current: string
  beforeEach(async () => {
    current = await successorOf(first)
    runtime.advance(3600)
    await collect()
    expect(await store.findRefreshToken(tokenKey(first))).toBeUndefined()
  })

  it('RFC 9700 4.14.2: a used refresh token whose row is collected is reuse all the same: the grant ends, and says so once', async () => {
    await expect(refresh(first)).rejects.toMatchObject({ code: 'invalid_grant', message: /used before/ })
    await expect(refresh(first)).rejects.toMatchObject({ code: 'invalid_grant', message: /has ended/ })
    await expect(refresh(current)).rejects.toMatchObject({ code: 'invalid_grant' })
    expect(reasons()).toEqual(['refresh_token_reuse'])
  })

  it('a collected refresh token of another client is unknown and ends nothing', async () => {
    await expect(refresh(first, { client: publicClient({ id: 'mcpc_other' }) })).rejects.toMatchObject({
      code: 'invalid_grant',
      message: /unknown here/,
    })
    expect((await refresh(current)).token_type).toBe('Bearer')
  })

  it.each([
    ['another family', () => first.replace(/^(.{12}).{22}/, `$1${'x'.repeat(22)}`)],
    ['no family', () => first.replace(/^(.{12}).{22}/, '$1')],
  ])('a collected refresh token with %s is unknown and ends nothing', async (_what, forge) => {
    await expect(refresh(forge())).rejects.toMatchObject({ message: /unknown here/ })
    expect(reasons()).toEqual([])
  })

  it('RFC 7009 2.1: a collected refresh token that is revoked ends the grant', async () => {
    await revokeToken(client, first, ports)
    expect(reasons()).toEqual(['revoked_by_client'])
    await revokeToken(client, first, ports)
    expect(reasons()).toEqual(['revoked_by_client'])
  })
})

describe('the limit of refreshes', () => {
  it('refreshes are limited to 20 at once and one every ten seconds; beyond it 429, and the token stays good', async () => {
    let token = first
    for (let count = 0; count < 20; count += 1) token = await successorOf(token)
    const refusal = {
      code: 'temporarily_unavailable',
      status: 429,
      retryAfterSeconds: 10,
    }
    await expect(refresh(token)).rejects.toMatchObject(refusal)
    runtime.advance(9)
    await expect(refresh(token)).rejects.toMatchObject(refusal)
    runtime.advance(1)
    token = await successorOf(token)
    await expect(refresh(token)).rejects.toMatchObject(refusal)
  })

  it('the limit of refreshes is separate for each grant', async () => {
    let token = first
    for (let count = 0; count < 20; count += 1) token = await successorOf(token)
    await expect(refresh(token)).rejects.toMatchObject({ status: 429 })
    await connect('b', tokenOf('g'))
    expect(await successorOf(tokenOf('g'))).toMatch(/^mcpr_/)
  })

  it('the limit of refreshes does not count replays, which are answered beyond it', async () => {
    let token = first
    for (let count = 0; count < 19; count += 1) token = await successorOf(token)
    const all = await Promise.all(Array.from({ length: 50 }, () => successorOf(token)))
    expect(new Set(all).size).toBe(1)
    expect(await successorOf(token)).toBe(all[0])
  })

  it.each([
    [3600, 10],
    [30, 1],
  ])(
    'the limit of refreshes lets clients with access tokens of %i s refresh far more often than these expire',
    async (ttl, retryAfter) => {
      const pace = new RefreshLimit(ttl)
      expect(pace.retryAfterSeconds).toBe(retryAfter)
      for (let count = 0; count < 20; count += 1) pace.take('a', start)
      expect(pace.isSpent('a', start)).toBe(true)
      expect(pace.isSpent('a', start + Math.max(1, Math.min(10, ttl / 30)))).toBe(false)
    },
  )
})
