import { describe, expect, it } from 'vitest'
import type { Account } from './accounts/account.ts'
import { appMetadata, userDocument } from './auth-services.ts'

const ACCOUNT: Account = {
  id: 'a0000000-0000-4000-8000-000000000000',
  email: 'ada@example.com',
  passwordHash: 'scrypt$salt$key',
  confirmedAt: 1_800_000_000,
  bannedUntil: undefined,
  metadata: { nickname: 'ada' },
  lastSignInAt: undefined,
  createdAt: 1_800_000_000,
  updatedAt: 1_800_000_060,
}

const IDENTITY = {
  id: 'b0000000-0000-4000-8000-000000000000',
  accountId: ACCOUNT.id,
  provider: 'google',
  providerId: '42',
  data: { email: 'ada@google.example' },
  lastSignInAt: 1_800_000_060,
  createdAt: 1_800_000_000,
}

const FACTOR = {
  id: 'c0000000-0000-4000-8000-000000000000',
  accountId: ACCOUNT.id,
  friendlyName: 'phone',
  status: 'verified' as const,
  secret: 'TOPSECRET',
  createdAt: 1_800_000_000,
  updatedAt: 1_800_000_000,
}

/** As it stands on the wire. */
const document = (...parts: Parameters<typeof userDocument>): unknown =>
  JSON.parse(JSON.stringify(userDocument(...parts)))

describe('the user object', () => {
  it('is complete', () => {
    expect(document(ACCOUNT, [IDENTITY], [FACTOR])).toEqual({
      id: ACCOUNT.id,
      aud: 'authenticated',
      role: 'authenticated',
      email: 'ada@example.com',
      email_confirmed_at: '2027-01-15T08:00:00.000Z',
      phone: '',
      confirmed_at: '2027-01-15T08:00:00.000Z',
      app_metadata: { provider: 'google', providers: ['google'] },
      user_metadata: { nickname: 'ada' },
      identities: [
        {
          identity_id: IDENTITY.id,
          id: '42',
          user_id: ACCOUNT.id,
          identity_data: { email: 'ada@google.example' },
          provider: 'google',
          last_sign_in_at: '2027-01-15T08:01:00.000Z',
          created_at: '2027-01-15T08:00:00.000Z',
          updated_at: '2027-01-15T08:01:00.000Z',
          email: 'ada@google.example',
        },
      ],
      factors: [
        {
          id: FACTOR.id,
          created_at: '2027-01-15T08:00:00.000Z',
          updated_at: '2027-01-15T08:00:00.000Z',
          status: 'verified',
          friendly_name: 'phone',
          factor_type: 'totp',
        },
      ],
      created_at: '2027-01-15T08:00:00.000Z',
      updated_at: '2027-01-15T08:01:00.000Z',
      is_anonymous: false,
    })
  })

  it('leaves out what there is not', () => {
    const keys = Object.keys(document({ ...ACCOUNT, confirmedAt: undefined }, [], []) as object)
    for (const absent of [
      'email_confirmed_at',
      'confirmed_at',
      'last_sign_in_at',
      'factors',
      'banned_until',
    ]) {
      expect(keys).not.toContain(absent)
    }
  })

  it('holds no secret', () => {
    const text = JSON.stringify(userDocument(ACCOUNT, [IDENTITY], [FACTOR]))
    expect(text).not.toContain('TOPSECRET')
    expect(text).not.toContain('scrypt')
  })
})

it.each([
  { providers: [], expected: { provider: 'email', providers: [] } },
  { providers: ['email'], expected: { provider: 'email', providers: ['email'] } },
  {
    providers: ['email', 'google', 'google'],
    expected: { provider: 'email', providers: ['email', 'google'] },
  },
])('app_metadata of $providers', ({ providers, expected }) => {
  expect(appMetadata(providers.map((provider) => ({ ...IDENTITY, provider })))).toEqual(expected)
})
