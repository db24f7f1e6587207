import { describe, expect, it } from 'vitest'
import { readSession } from './session.ts'

const now = 1_800_000_000
const session = { access_token: 'a', refresh_token: 'r', expires_in: 3600, expires_at: 1 }

describe('the session in an answer', () => {
  it.each([
    ['an hour', 3600, 3600],
    ['half a second more', 3600.5, 3600],
    ['one second', 1, 1],
  ])('%s is counted from our clock, not from theirs', (_what, expires_in, seconds) => {
    expect(readSession({ ...session, expires_in }, now)).toEqual({
      accessToken: 'a',
      refreshToken: 'r',
      expiresAt: now + seconds,
    })
  })

  it.each<[what: string, body: unknown]>([
    ['no access token', { ...session, access_token: undefined }],
    ['an empty access token', { ...session, access_token: '' }],
    ['an access token that is no text', { ...session, access_token: 1 }],
    ['no refresh token', { ...session, refresh_token: undefined }],
    ['an empty refresh token', { ...session, refresh_token: '' }],
    ['no expires_in', { ...session, expires_in: undefined }],
    ['expires_in as text', { ...session, expires_in: '3600' }],
    ['expires_in 0', { ...session, expires_in: 0 }],
    ['expires_in below a second', { ...session, expires_in: 0.9 }],
    ['expires_in below zero', { ...session, expires_in: -1 }],
    ['expires_in that is no number', { ...session, expires_in: Number.NaN }],
    ['null', null],
    ['nothing that can be read', undefined],
    ['a list', []],
    ['a text', 'session'],
  ])('%s is a protocol failure, and who knows what was issued', (_what, body) => {
    expect(() => readSession(body, now)).toThrow(
      expect.objectContaining({ name: 'ProviderError', failure: 'protocol', outcomeKnown: false }),
    )
  })
})
