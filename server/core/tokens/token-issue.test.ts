import { describe, expect, it } from 'vitest'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { grantSample, start } from '../../../tests/support/server/core/grant-sample.ts'
import { hashSecret } from '../seal.ts'
import { createFamily, issueTimeOf, mintTokens, tokenKey, tokenResponse } from './token-issue.ts'

const { grant } = grantSample('a', { expiresAt: start + 7200 })

describe('mintTokens', () => {
  it('RFC 9700 4.10.2, OAuth 2.1 1.4, RFC 6749 10.10: stores keys of two tokens with 256 random bits each, behind the time of issue', () => {
    const { pair, minted } = mintTokens(
      grant,
      'mcp',
      createFamily(createFakeRuntime(start)),
      3600,
      createFakeRuntime(start),
    )
    expect(pair.accessToken).toMatch(/^mcpa_0tro8w0[A-Za-z0-9_-]{43}$/)
    expect(pair.refreshToken).toMatch(/^mcpr_0tro8w0[A-Za-z0-9_-]{65}$/)
    expect(pair.accessToken.slice(12)).not.toBe(pair.refreshToken?.slice(12))
    expect(minted).toEqual({
      scope: 'mcp',
      accessHash: `0tro8w0.${hashSecret(pair.accessToken)}`,
      accessExpiresAt: start + 3600,
      refreshHash: tokenKey(pair.refreshToken ?? ''),
    })
  })

  it('keys of tokens issued later are greater', () => {
    const keys = [0, 1, 35, 36, 86_400, 1_000_000_000].map(
      (after) =>
        mintTokens({ ...grant, expiresAt: 1e11 }, 'mcp', undefined, 1, createFakeRuntime(start + after))
          .minted.accessHash,
    )
    expect(keys.toSorted()).toEqual(keys)
  })

  it.each([
    ['without a time', `mcpa_${'x'.repeat(43)}`],
    ['with more behind it', `mcpa_0tro8w0${'x'.repeat(43)}\n`],
  ])('a token %s is stored under its hash alone', (_what, token) => {
    expect(tokenKey(token)).toBe(hashSecret(token))
  })

  it('mintTokens makes no refresh token if none is requested', () => {
    const { pair, minted } = mintTokens(grant, 'mcp', undefined, 3600, createFakeRuntime(start))
    expect([pair.refreshToken, minted.refreshHash]).toEqual([undefined, undefined])
    expect(tokenResponse(pair, start)).not.toHaveProperty('refresh_token')
  })

  it.each([
    ['its own life', 0, 3600, 3590],
    ['the life of the grant', 3601, 3599, 3589],
    ['the last seconds of the grant', 7180, 20, 18],
    ['nothing, at the end of the grant', 7200, 0, 0],
  ])('mintTokens makes access tokens that last %s, and says a little less', (_what, after, seconds, told) => {
    const { pair, minted } = mintTokens(
      grant,
      'mcp',
      createFamily(createFakeRuntime(start)),
      3600,
      createFakeRuntime(start + after),
    )
    expect(minted.accessExpiresAt).toBe(start + after + seconds)
    expect(tokenResponse(pair, start + after).expires_in).toBe(told)
  })
})

describe('RFC 6749 5.1: tokenResponse (RFC 6749 section 5.1)', () => {
  const pair = { accessToken: 'a', refreshToken: 'r', scope: 'mcp', expiresAt: start + 3600 }
  it('tokenResponse returns the wire form', () => {
    expect(tokenResponse(pair, start)).toEqual({
      access_token: 'a',
      token_type: 'Bearer',
      expires_in: 3590,
      scope: 'mcp',
      refresh_token: 'r',
    })
  })
  it('tokenResponse counts a replayed pair from the replay, never below zero', () => {
    expect(tokenResponse(pair, start + 100).expires_in).toBe(3490)
    expect(tokenResponse(pair, start + 4000).expires_in).toBe(0)
  })
})

it.each<[rule: string, token: string, expected: number | undefined]>([
  ['an access token', `mcpa_0tro8w0${'x'.repeat(43)}`, start],
  ['a refresh token', `mcpr_0tro8w0${'x'.repeat(43)}`, start],
  ['another kind of token', `mcpd_0tro8w0${'x'.repeat(43)}`, undefined],
  ['a token of the provider', 'e30.e30.e30', undefined],
])('issueTimeOf: %s', (_rule, token, expected) => {
  expect(issueTimeOf(token)).toBe(expected)
})
