import { beforeEach, describe, expect, it } from 'vitest'
import { addGrant, grantSample, start } from '../../../tests/support/server/core/grant-sample.ts'
import { issuingSample } from '../../../tests/support/server/core/issuing-sample.ts'
import { publicClient } from '../../../tests/support/server/core/sign-in-sample.ts'
import { RefreshPace, type RefreshedTokens, rotateRefreshToken } from './refresh-token.ts'
import { revokeToken } from './revocation.ts'
import { hashSecret } from '../seal.ts'
import { createFamily, mintTokens, tokenKey } from './token-issue.ts'

const client = publicClient()

let { runtime, store, ports, ended } = issuingSample()
let first: string
const reasons = (): string[] => ended.map(([, reason]) => reason)

beforeEach(async () => {
  ;({ runtime, store, ports, ended } = issuingSample())
  first = await connect('a')
})

/** Creates a grant of the client; returns its refresh token. */
async function connect(name: string): Promise<string> {
  const sample = grantSample(name, { clientId: client.id })
  const family = createFamily(runtime)
  const { pair, minted } = mintTokens(sample.grant, 'mcp', family, 3600, runtime)
  const { refreshHash = '' } = minted
  await addGrant(store, { ...sample, tokens: { ...minted, refreshHash, familyHash: hashSecret(family) } })
  return pair.refreshToken ?? ''
}

const refresh = (refreshToken: string, address?: string): Promise<RefreshedTokens> =>
  rotateRefreshToken({ client, refreshToken, scope: undefined, resources: [], address }, ports)

const successorOf = async (refreshToken: string): Promise<string> =>
  (await refresh(refreshToken)).response.refresh_token ?? ''

async function collect(): Promise<void> {
  while ((await store.collectExpired(runtime.now(), 100)) > 0);
}

describe('replays', () => {
  it('say where the token was used first', async () => {
    expect(await refresh(first, '192.0.2.1')).not.toHaveProperty('replayOf')
    expect(await refresh(first, '198.51.100.7')).toMatchObject({ replayOf: { address: '192.0.2.1' } })
  })

  it('RFC 9700 4.14.2: several steps back, later than ten seconds, is reuse although it is within two minutes', async () => {
    await successorOf(await successorOf(first))
    runtime.advance(11)
    await expect(refresh(first)).rejects.toMatchObject({ code: 'invalid_grant', message: /used before/ })
    expect(reasons()).toEqual(['refresh_token_reuse'])
  })
})

describe('a replay after the access token of its successor has ended', () => {
  beforeEach(() => {
    ports = { ...ports, accessTokenTtlSeconds: 40, pace: new RefreshPace(40) }
  })

  it('is answered with one that lives, which follows the successor', async () => {
    const { response: lost } = await refresh(first, '192.0.2.1')
    runtime.advance(58)
    await collect()
    const { response, replayOf } = await refresh(first, '198.51.100.7')
    expect(replayOf).toEqual({ address: '192.0.2.1' })
    expect(response.expires_in).toBeGreaterThan(30)
    expect(await store.findAccessToken(tokenKey(response.access_token), runtime.now())).toBeDefined()
    // A holder of the successor gets the same pair.
    expect((await refresh(lost.refresh_token ?? '')).response).toEqual(response)
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

  it('RFC 9700 4.14.2: is reuse all the same: the grant ends, and says so once', async () => {
    await expect(refresh(first)).rejects.toMatchObject({ code: 'invalid_grant', message: /used before/ })
    await expect(refresh(first)).rejects.toMatchObject({ code: 'invalid_grant', message: /has ended/ })
    await expect(refresh(current)).rejects.toMatchObject({ code: 'invalid_grant' })
    expect(reasons()).toEqual(['refresh_token_reuse'])
  })

  it('of another client is unknown and ends nothing', async () => {
    const request = { refreshToken: first, scope: undefined, resources: [] }
    await expect(
      rotateRefreshToken({ ...request, client: publicClient({ id: 'mcpc_other' }) }, ports),
    ).rejects.toMatchObject({ code: 'invalid_grant', message: /unknown here/ })
    expect((await refresh(current)).response.token_type).toBe('Bearer')
  })

  it.each([
    ['another family', () => first.replace(/^(.{12}).{22}/, `$1${'x'.repeat(22)}`)],
    ['no family', () => first.replace(/^(.{12}).{22}/, '$1')],
  ])('with %s is unknown and ends nothing', async (_what, forge) => {
    await expect(refresh(forge())).rejects.toMatchObject({ message: /unknown here/ })
    expect(reasons()).toEqual([])
  })

  it('RFC 7009 2.1: given back, ends the grant', async () => {
    await revokeToken(client, first, ports)
    expect(reasons()).toEqual(['revoked_by_client'])
    await revokeToken(client, first, ports)
    expect(reasons()).toEqual(['revoked_by_client'])
  })
})

describe('the pace of refreshes', () => {
  it('20 at once and one every ten seconds; beyond it 429, and the token stays good', async () => {
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

  it('is of one grant: another one goes on', async () => {
    let token = first
    for (let count = 0; count < 20; count += 1) token = await successorOf(token)
    await expect(refresh(token)).rejects.toMatchObject({ status: 429 })
    expect(await successorOf(await connect('b'))).toMatch(/^mcpr_/)
  })

  it('replays do not count, and are answered beyond the pace', async () => {
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
    'access tokens of %i s: every client may refresh far more often than they end',
    async (ttl, retryAfter) => {
      const pace = new RefreshPace(ttl)
      expect(pace.retryAfterSeconds).toBe(retryAfter)
      for (let count = 0; count < 20; count += 1) pace.take('a', start)
      expect(pace.isSpent('a', start)).toBe(true)
      expect(pace.isSpent('a', start + Math.max(1, Math.min(10, ttl / 30)))).toBe(false)
    },
  )
})
