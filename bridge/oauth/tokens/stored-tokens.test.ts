import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { loginCredential } from '../../../tests/support/bridge/oauth/login-parts.ts'
import { hasEnded, hasTokens, isRefreshDue, loginHeader, loginView } from './stored-tokens.ts'

const tokens = (lifetime: number): { accessToken: string; issuedAt: number; expiresAt: number } => ({
  accessToken: 'a',
  issuedAt: 1000,
  expiresAt: 1000 + lifetime,
})

describe('tokens are renewed', () => {
  it.each([
    [3600, 60],
    [7 * 86_400, 60],
    [300, 30],
    [90, 10],
    [30, 10],
    [15, 7.5],
    [3, 1.5],
    [0, 0],
  ])('tokens of %i s are renewed %f s before their end', (lifetime, margin) => {
    const due = 1000 + lifetime - margin
    expect(isRefreshDue(tokens(lifetime), Math.ceil(due))).toBe(true)
    expect(isRefreshDue(tokens(lifetime), Math.ceil(due) - 1)).toBe(false)
  })

  it('tokens without a known expiry are never renewed early', () => {
    expect(isRefreshDue({ accessToken: 'a', issuedAt: 1000 }, 1e12)).toBe(false)
    expect(hasEnded({ accessToken: 'a', issuedAt: 1000 }, 1e12)).toBe(false)
  })

  it('tokens are renewed in the second half of their life, whatever the clock did when they were issued', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: -1e6, max: 1e6 }),
        fc.integer({ min: 0, max: 1e6 }),
        (lifetime, after) => {
          const now = 1000 + after
          if (hasEnded(tokens(lifetime), now)) expect(isRefreshDue(tokens(lifetime), now)).toBe(true)
          if (after < lifetime / 2) expect(isRefreshDue(tokens(lifetime), now)).toBe(false)
        },
      ),
    )
  })
})

describe('a stored login', () => {
  const login = loginCredential('http://issuer.example', {
    accessToken: 'access',
    refreshToken: 'refresh',
    issuedAt: 1000,
    expiresAt: 2000,
    scope: 'mcp',
    idToken: 'id',
  })
  const without = (...names: ('refreshToken' | 'idToken' | 'expiresAt')[]): typeof login => {
    const tokens = { ...login.tokens, accessToken: 'access', issuedAt: 1000 }
    for (const name of names) delete tokens[name]
    return { ...login, tokens }
  }

  it.each([
    ['signed in', login, 1500, 'signed_in', true, null],
    ['with an access token that has ended, and can be renewed', login, 2000, 'signed_in', true, null],
    ['without a refresh token', without('refreshToken'), 1999, 'signed_in', false, null],
    [
      'without one, at its end',
      without('refreshToken'),
      2000,
      'sign_in_needed',
      false,
      'the token has expired, and there is no refresh token',
    ],
    ['without one, and no known end', without('refreshToken', 'expiresAt'), 1e10, 'signed_in', false, null],
    ['refused', { ...login, signInNeeded: 'invalid_grant' }, 1500, 'sign_in_needed', false, 'invalid_grant'],
    ['without tokens', { ...login, tokens: undefined }, 1500, 'sign_in_needed', false, 'there are no tokens'],
  ] as const)('a stored login %s has its own state', (_what, credential, now, state, renews, reason) => {
    expect(loginView(credential, now)).toEqual({
      server: login.serverUrl,
      profile: login.profile,
      state,
      renews,
      reason,
      issuer: login.issuer,
      client_id: login.client.clientId,
      account: null,
      scope: credential.tokens?.scope ?? null,
      signed_in_at: 1000,
      expires_at: credential.tokens?.expiresAt ?? null,
    })
    expect(JSON.stringify(loginView(credential, now))).not.toMatch(/"(access|refresh|id)"/)
  })

  it('a stored login has tokens to send unless they were refused', () => {
    const logins = [login, undefined, { ...login, tokens: undefined }, { ...login, signInNeeded: 'x' }]
    expect(logins.map(hasTokens)).toEqual([true, false, false, false])
  })

  it('a stored login sends its access token, or its ID token if configured and present', () => {
    expect(loginHeader(login, false)).toBe('Bearer access')
    expect(loginHeader(login, true)).toBe('Bearer id')
    expect(loginHeader(without('idToken'), true)).toBe('Bearer access')
    expect(loginHeader({ ...login, tokens: undefined }, false)).toBeUndefined()
  })
})
