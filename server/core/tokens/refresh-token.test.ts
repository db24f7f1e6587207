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
import { type RefreshRequest, rotateRefreshToken } from './refresh-token.ts'
import { hashSecret, openUnderSecret } from '../seal.ts'
import { tokenKey, type TokenResponse } from './token-issue.ts'
import type { Store } from '../store.ts'

const family = 'f'.repeat(22)
const first = `mcpr_${start.toString(36).padStart(7, '0')}${family}${'1'.repeat(43)}`
const client = publicClient()

let { runtime, store, ports, ended } = issuingSample()

beforeEach(async () => {
  ;({ runtime, store, ports, ended } = issuingSample())
  const sample = grantSample('a', { clientId: client.id })
  const tokens = { ...sample.tokens, refreshHash: tokenKey(first), familyHash: hashSecret(family) }
  await addGrant(store, { ...sample, tokens })
})

async function refresh(refreshToken: string, changes: Partial<RefreshRequest> = {}): Promise<TokenResponse> {
  const request = { client, refreshToken, scope: undefined, resources: [], ...changes }
  const { response } = await rotateRefreshToken(request, ports)
  return response
}

const accessIsLive = async (token: string): Promise<boolean> =>
  (await store.findAccessToken(tokenKey(token), runtime.now())) !== undefined

describe('rotateRefreshToken', () => {
  it('RFC 6749 6, RFC 9700 4.14.2, MCP auth Token-Theft, RFC 9700 2.2.2: a new pair, of which both work', async () => {
    const tokens = await refresh(first)
    expect(tokens).toMatchObject({ token_type: 'Bearer', expires_in: 3590, scope: 'mcp offline_access' })
    expect(tokens.refresh_token).toMatch(/^mcpr_[0-9a-z]{7}f{22}[A-Za-z0-9_-]{43}$/)
    expect(await accessIsLive(tokens.access_token)).toBe(true)
    expect((await refresh(tokens.refresh_token ?? '')).refresh_token).not.toBe(tokens.refresh_token)
  })

  it('fifty at once get one and the same pair', async () => {
    const results = await race(() => refresh(first))
    expect(new Set(results.map((tokens) => JSON.stringify(tokens))).size).toBe(1)
    expect(await accessIsLive(results[0]?.access_token ?? '')).toBe(true)
  })

  it.each([0, 120])('again after %i s: the same pair, its life counted from now', async (after) => {
    const tokens = await refresh(first)
    runtime.advance(after)
    expect(await refresh(first)).toEqual({ ...tokens, expires_in: 3590 - after })
  })

  it('RFC 9700 4.14.2, OAuth 2.1 4.3.1: again after 121 s the connection ends, for thief and owner', async () => {
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

  it('what is stored of a successor does not open without its predecessor', async () => {
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

  it('a successor that was sealed for another token opens for nobody, even in its place in the store', async () => {
    const other = `mcpr_${start.toString(36).padStart(7, '0')}${'g'.repeat(22)}${'2'.repeat(43)}`
    const sample = grantSample('b', { clientId: client.id })
    await addGrant(store, { ...sample, tokens: { ...sample.tokens, refreshHash: tokenKey(other) } })
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
    [
      'RFC 8707 2.2: for a foreign resource',
      first,
      { resources: ['https://other.example/mcp'] },
      'invalid_target',
    ],
  ])('%s is refused and rotates nothing', async (_rule, token, changes, error) => {
    await expect(refresh(token, changes)).rejects.toMatchObject({
      name: 'OAuthError',
      code: error,
      status: 400,
    })
    runtime.advance(3600)
    expect((await refresh(first)).token_type).toBe('Bearer')
  })

  it('no token outlives the grant, and none is issued after it', async () => {
    runtime.advance(grantSeconds - 10)
    const tokens = await refresh(first)
    expect(tokens.expires_in).toBe(9)
    runtime.advance(10)
    expect(await accessIsLive(tokens.access_token)).toBe(false)
    await expect(refresh(tokens.refresh_token ?? '')).rejects.toMatchObject({ code: 'invalid_grant' })
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
