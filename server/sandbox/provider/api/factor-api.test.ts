import type { SupabaseClient } from '@supabase/supabase-js'
import { describe, expect, it } from 'vitest'
import { startProvider, type ProviderFixture } from '../../../../tests/support/sandbox/provider-fixture.ts'
import { computeTotp } from '../accounts/totp.ts'

const ADA = { email: 'ada@example.com', password: 'correct horse' }

async function enrolled(): Promise<{
  provider: ProviderFixture
  auth: SupabaseClient['auth']
  factorId: string
  secret: string
  code: (drift?: number) => string
}> {
  const provider = startProvider()
  const { id } = await provider.admin.createUser(ADA)
  const { factorId, secret } = provider.admin.enrollTotp(id)
  const { auth } = provider.client()
  await auth.signInWithPassword(ADA)
  return {
    provider,
    auth,
    factorId,
    secret,
    code: (drift = 0) => computeTotp(secret, provider.runtime.now() + drift),
  }
}

describe('a second factor', () => {
  it('is enrolled, challenged and verified by an unmodified client', async () => {
    const provider = startProvider()
    await provider.admin.createUser(ADA)
    const { auth } = provider.client()
    await auth.signInWithPassword(ADA)
    const enrollment = await auth.mfa.enroll({ factorType: 'totp', friendlyName: 'phone' })
    expect(enrollment.error).toBeNull()
    const { id, totp } = enrollment.data!
    expect(totp.uri).toContain(totp.secret)
    expect(totp.qr_code).toMatch(/^data:image\/svg\+xml/)
    expect((await auth.getUser()).data.user?.factors).toMatchObject([
      { id, status: 'unverified', factor_type: 'totp' },
    ])

    const challenge = await auth.mfa.challenge({ factorId: id })
    expect(challenge.data?.expires_at).toBe(provider.runtime.now() + 300)
    const code = computeTotp(totp.secret, provider.runtime.now())
    const { data, error } = await auth.mfa.verify({
      factorId: id,
      challengeId: challenge.data?.id ?? '',
      code,
    })
    expect(error).toBeNull()
    expect(data?.user.factors).toMatchObject([{ id, status: 'verified', friendly_name: 'phone' }])
    const claims = (await auth.getClaims()).data?.claims
    expect(claims?.aal).toBe('aal2')
    expect(claims?.amr).toMatchObject([{ method: 'totp' }, { method: 'password' }])
    const level = await auth.mfa.getAuthenticatorAssuranceLevel()
    expect(level.data).toMatchObject({ currentLevel: 'aal2', nextLevel: 'aal2' })
  })

  it('does not stop a password sign-in, which reaches aal1 without an error', async () => {
    const { auth } = await enrolled()
    const { data } = await auth.getClaims()
    expect(data?.claims.aal).toBe('aal1')
    const level = await auth.mfa.getAuthenticatorAssuranceLevel()
    expect(level.data).toMatchObject({ currentLevel: 'aal1', nextLevel: 'aal2' })
  })

  it('makes the refresh token of the first step, and the other aal1 sessions, unusable', async () => {
    const { provider, auth, factorId, code } = await enrolled()
    await provider.client().auth.signInWithPassword(ADA)
    const first = (await auth.getSession()).data.session
    await auth.mfa.challengeAndVerify({ factorId, code: code() })
    const second = (await auth.getSession()).data.session
    const user = provider.admin.findUser(ADA.email)
    expect(provider.admin.listSessions(user?.id ?? '')).toMatchObject([{ aal: 'aal2' }])
    const kept = await provider.client().auth.refreshSession({ refresh_token: second?.refresh_token ?? '' })
    expect(kept.error).toBeNull()
    const spent = await provider.client().auth.refreshSession({ refresh_token: first?.refresh_token ?? '' })
    expect(spent.error?.code).toBe('refresh_token_already_used')
  })

  it('keeps aal2 over a refresh', async () => {
    const { auth, factorId, code } = await enrolled()
    await auth.mfa.challengeAndVerify({ factorId, code: code() })
    await auth.refreshSession()
    expect((await auth.getClaims()).data?.claims.aal).toBe('aal2')
  })

  it('gets another try after a wrong code, on the same challenge', async () => {
    const { auth, factorId, code } = await enrolled()
    const challengeId = (await auth.mfa.challenge({ factorId })).data?.id ?? ''
    const wrong = code() === '000000' ? '000001' : '000000'
    const refused = await auth.mfa.verify({ factorId, challengeId, code: wrong })
    expect(refused.error).toMatchObject({ code: 'mfa_verification_failed', status: 422 })
    expect((await auth.mfa.verify({ factorId, challengeId, code: code() })).error).toBeNull()
    const again = await auth.mfa.verify({ factorId, challengeId, code: code() })
    expect(again.error?.status).toBe(422)
  })

  it.each([
    {
      what: 'an expired challenge',
      seconds: 300,
      challenge: (id: string) => id,
      code: 'mfa_challenge_expired',
    },
    { what: 'an unknown challenge', seconds: 0, challenge: () => 'unknown', code: 'mfa_factor_not_found' },
  ])('is refused with $what', async ({ seconds, challenge, code: expected }) => {
    const { provider, auth, factorId, code } = await enrolled()
    const { data } = await auth.mfa.challenge({ factorId })
    provider.runtime.advance(seconds)
    const { error } = await auth.mfa.verify({
      factorId,
      challengeId: challenge(data?.id ?? ''),
      code: code(),
    })
    expect(error).toMatchObject({ code: expected, status: 422 })
  })

  it('of another user cannot be challenged', async () => {
    const { provider, factorId } = await enrolled()
    await provider.admin.createUser({ ...ADA, email: 'eve@example.com' })
    const { auth } = provider.client()
    await auth.signInWithPassword({ ...ADA, email: 'eve@example.com' })
    expect((await auth.mfa.challenge({ factorId })).error).toMatchObject({
      code: 'mfa_factor_not_found',
      status: 404,
    })
  })

  it('can be added or removed at aal2 only', async () => {
    const { auth, factorId, code } = await enrolled()
    expect((await auth.mfa.unenroll({ factorId })).error?.code).toBe('insufficient_aal')
    const early = await auth.mfa.enroll({ factorType: 'totp', friendlyName: 'second' })
    expect(early.error?.code).toBe('insufficient_aal')
    await auth.mfa.challengeAndVerify({ factorId, code: code() })
    expect((await auth.mfa.enroll({ factorType: 'totp', friendlyName: 'second' })).error).toBeNull()
    const twin = await auth.mfa.enroll({ factorType: 'totp', friendlyName: 'second' })
    expect(twin.error?.code).toBe('mfa_factor_name_conflict')
    expect((await auth.mfa.unenroll({ factorId })).error).toBeNull()
    await auth.refreshSession()
    expect((await auth.getClaims()).data?.claims.aal).toBe('aal1')
  })

  it.each([
    { body: { factor_type: 'phone' }, code: 'validation_failed' },
    { body: {}, code: 'validation_failed' },
  ])('of $body is refused', async ({ body, code }) => {
    const { provider, auth } = await enrolled()
    const token = (await auth.getSession()).data.session?.access_token ?? ''
    const response = await provider.call('POST', '/factors', body, { authorization: `Bearer ${token}` })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ code })
  })
})

it('an id that is no UUID is malformed, and another one unknown', async () => {
  const provider = startProvider()
  const ada = { email: 'ada@example.com', password: 'correct horse' }
  await provider.admin.createUser(ada)
  const session = await (await provider.call('POST', '/token?grant_type=password', ada)).json()
  const { access_token: token } = session as { access_token: string }
  const challenge = async (id: string): Promise<unknown> => {
    const headers = { authorization: `Bearer ${token}` }
    const response = await provider.call('POST', `/factors/${id}/challenge`, {}, headers)
    return { status: response.status, ...((await response.json()) as object) }
  }
  expect(await challenge('phone')).toMatchObject({ status: 404, code: 'validation_failed' })
  expect(await challenge('00000000-0000-4000-8000-000000000000')).toMatchObject({
    status: 404,
    code: 'mfa_factor_not_found',
  })
})
