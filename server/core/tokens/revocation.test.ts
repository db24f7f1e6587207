import { beforeEach, expect, it } from 'vitest'
import {
  addGrant,
  dueSignOuts,
  grantSample,
  grantSeconds,
  start,
} from '../../../tests/support/server/core/grant-sample.ts'
import { issuingSample } from '../../../tests/support/server/core/issuing-sample.ts'
import { publicClient } from '../../../tests/support/server/core/sign-in-sample.ts'
import { rotateRefreshToken } from './refresh-token.ts'
import { revokeToken } from './revocation.ts'
import { createFamily, mintTokens, type TokenPair, tokenKey } from './token-issue.ts'

const client = publicClient()
const other = publicClient({ id: 'mcpc_other' })
const sample = grantSample('a', { clientId: client.id })

let { runtime, store, ports, ended } = issuingSample()
let pair: TokenPair

beforeEach(async () => {
  ;({ runtime, store, ports, ended } = issuingSample())
  const { pair: fresh, minted } = mintTokens(sample.grant, 'mcp', createFamily(runtime), 3600, runtime)
  pair = fresh
  await addGrant(store, { ...sample, tokens: { ...minted, refreshHash: minted.refreshHash ?? '' } })
})

const refreshToken = (): string => pair.refreshToken ?? ''

const accessIsLive = async (token: string): Promise<boolean> =>
  (await store.findAccessToken(tokenKey(token), runtime.now())) !== undefined

async function refresh(): Promise<{ access_token: string; refresh_token?: string }> {
  const request = { client, refreshToken: refreshToken(), scope: undefined, resources: [] }
  return (await rotateRefreshToken(request, ports)).response
}

it('RFC 7009 2.1: revoking a refresh token ends the grant, its access tokens and the provider session', async () => {
  await revokeToken(client, refreshToken(), ports)
  expect(await accessIsLive(pair.accessToken)).toBe(false)
  await expect(refresh()).rejects.toMatchObject({ code: 'invalid_grant' })
  expect(ended).toEqual([[sample.grant.id, 'revoked_by_client']])
  expect(await dueSignOuts(store, runtime.now())).toEqual([sample.session])
})

it('a refresh token that has its successor ends the grant as well, replay or not', async () => {
  const next = await refresh()
  runtime.advance(3600)
  await revokeToken(client, refreshToken(), ports)
  expect(await accessIsLive(next.access_token)).toBe(false)
  expect((await store.findRefreshToken(tokenKey(next.refresh_token ?? '')))?.endReason).toBe(
    'revoked_by_client',
  )
})

it('RFC 7009 2.1: revoking an access token leaves the rest of its grant', async () => {
  await revokeToken(client, pair.accessToken, ports)
  expect(await accessIsLive(pair.accessToken)).toBe(false)
  expect(ended).toEqual([])
  expect(await accessIsLive((await refresh()).access_token)).toBe(true)
})

it('an access token takes the grant along when the client has nothing else of it', async () => {
  const once = publicClient({ grantTypes: ['authorization_code'] })
  await revokeToken(once, pair.accessToken, ports)
  expect(await accessIsLive(pair.accessToken)).toBe(false)
  expect(ended).toEqual([[sample.grant.id, 'revoked_by_client']])
  expect(await dueSignOuts(store, runtime.now())).toEqual([sample.session])
})

it.each<[rule: string, token: () => string]>([
  ['a refresh token', refreshToken],
  ['an access token', () => pair.accessToken],
])('RFC 7009 2.1: %s of another client is refused and stays good', async (_rule, token) => {
  await expect(revokeToken(other, token(), ports)).rejects.toMatchObject({
    code: 'invalid_grant',
    status: 400,
  })
  expect(await accessIsLive(pair.accessToken)).toBe(true)
  expect(await accessIsLive((await refresh()).access_token)).toBe(true)
})

it.each<[rule: string, token: () => string]>([
  ['of the form of an access token', () => `mcpa_${'x'.repeat(50)}`],
  ['a stored hash', () => tokenKey(refreshToken())],
  ['an access token called a refresh token', () => pair.accessToken.replace('mcpa_', 'mcpr_')],
  ['a token of the provider', () => 'e30.e30.e30'],
])('RFC 7009 2.2: a token that is %s is not an error and ends nothing', async (_rule, token) => {
  await revokeToken(client, token(), ports)
  expect(ended).toEqual([])
  expect(await accessIsLive(pair.accessToken)).toBe(true)
})

it('RFC 7009 2.2: revoking a token whose grant has ended is not an error, for any client', async () => {
  await store.endGrant(sample.grant.id, 'code_reuse', start)
  for (const who of [client, other]) {
    await revokeToken(who, refreshToken(), ports)
    await revokeToken(who, pair.accessToken, ports)
  }
  expect(ended).toEqual([])
})

it('RFC 7009 2.2: revoking a token of an expired grant is not an error', async () => {
  runtime.advance(grantSeconds)
  await revokeToken(client, refreshToken(), ports)
  expect(ended).toEqual([])
})
