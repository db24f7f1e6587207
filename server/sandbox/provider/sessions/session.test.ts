import { describe, expect, it } from 'vitest'
import { startProvider, type ProviderFixture } from '../../../../tests/support/sandbox/provider-fixture.ts'

const ADA = { email: 'ada@example.com', password: 'correct horse' }

interface Answer {
  status: number
  code: string | undefined
  refreshToken: string
  accessToken: string
}

async function refresh(provider: ProviderFixture, token: string): Promise<Answer> {
  const response = await provider.call('POST', '/token?grant_type=refresh_token', { refresh_token: token })
  const body: Record<string, string | undefined> = JSON.parse(await response.text())
  return {
    status: response.status,
    code: body['code'],
    refreshToken: body['refresh_token'] ?? '',
    accessToken: body['access_token'] ?? '',
  }
}

async function signIn(): Promise<{ provider: ProviderFixture; userId: string; token: string }> {
  const provider = startProvider()
  const { id } = await provider.admin.createUser(ADA)
  const { data } = await provider.client().auth.signInWithPassword(ADA)
  return { provider, userId: id, token: data.session?.refresh_token ?? '' }
}

describe('refresh tokens', () => {
  // `present` names the token of that turn (0 is the one of the sign-in) after `turns` refreshes.
  it.each([
    { turns: 0, present: 0, later: 0, outcome: 'rotates', why: 'the active token' },
    { turns: 3, present: 3, later: 9999, outcome: 'rotates', why: 'the active token, any time later' },
    { turns: 1, present: 0, later: 0, outcome: 'replays', why: 'the parent at once' },
    { turns: 1, present: 0, later: 1_000_000, outcome: 'replays', why: 'the parent after days' },
    { turns: 2, present: 0, later: 0, outcome: 'replays', why: 'a grandparent within the reuse interval' },
    { turns: 5, present: 1, later: 9, outcome: 'replays', why: 'an ancestor within the reuse interval' },
    { turns: 2, present: 0, later: 10, outcome: 'destroys', why: 'a grandparent after the reuse interval' },
    { turns: 5, present: 0, later: 60, outcome: 'destroys', why: 'an ancestor later' },
  ])('$why: $outcome', async ({ turns, present, later, outcome }) => {
    const { provider, userId, token } = await signIn()
    const tokens = [token]
    for (let turn = 0; turn < turns; turn++) {
      tokens.push((await refresh(provider, tokens.at(-1) ?? '')).refreshToken)
    }
    expect(new Set(tokens).size).toBe(turns + 1)
    const { rotations } = provider.admin.counters
    provider.runtime.advance(later)

    const answer = await refresh(provider, tokens[present] ?? '')

    if (outcome === 'destroys') {
      expect(answer).toMatchObject({ status: 400, code: 'refresh_token_already_used' })
      expect(provider.admin.listSessions(userId)).toEqual([])
      // The family is gone: neither the active token nor an access token is of use any more.
      expect(await refresh(provider, tokens.at(-1) ?? '')).toMatchObject({
        status: 400,
        code: 'refresh_token_not_found',
      })
      return
    }
    expect(answer.status).toBe(200)
    expect(provider.admin.counters.rotations).toBe(outcome === 'rotates' ? rotations + 1 : rotations)
    if (outcome === 'replays') expect(answer.refreshToken).toBe(tokens.at(-1))
    else expect(tokens).not.toContain(answer.refreshToken)
    // Whoever got the answer goes on with it.
    expect((await refresh(provider, answer.refreshToken)).status).toBe(200)
  })

  it('replays always come with a fresh access token', async () => {
    const { provider, token } = await signIn()
    await refresh(provider, token)
    provider.runtime.advance(4000)
    const { accessToken } = await refresh(provider, token)
    const user = await provider.call('GET', '/user', undefined, { authorization: `Bearer ${accessToken}` })
    expect(user.status).toBe(200)
  })

  it.each([
    { seconds: 0, code: 'refresh_token_already_used' },
    { seconds: 120, code: undefined },
  ])('of a grandparent with a reuse interval of $seconds give $code', async ({ seconds, code }) => {
    const { provider, token } = await signIn()
    provider.admin.setReuseInterval(seconds)
    const child = await refresh(provider, token)
    await refresh(provider, child.refreshToken)
    provider.runtime.advance(60)
    expect((await refresh(provider, token)).code).toBe(code)
  })

  it('that are newer than the database are refused, and their session stays', async () => {
    const { provider, userId, token } = await signIn()
    const child = await refresh(provider, token)
    const [session] = provider.admin.listSessions(userId)
    provider.admin.rewindSession(session?.id ?? '')
    for (let tries = 0; tries < 2; tries += 1) {
      expect(await refresh(provider, child.refreshToken)).toMatchObject({
        status: 400,
        code: 'validation_failed',
      })
    }
    expect(provider.admin.listSessions(userId)).toHaveLength(1)
  })

  it('presented by fifty at once are rotated once', async () => {
    const { provider, token } = await signIn()
    const answers = await Promise.all(Array.from({ length: 50 }, () => refresh(provider, token)))
    expect(new Set(answers.map((answer) => answer.refreshToken)).size).toBe(1)
    expect(answers.every((answer) => answer.status === 200)).toBe(true)
    expect(provider.admin.counters).toMatchObject({ rotations: 1, token: { refresh_token: 50 } })
  })

  it.each([
    { what: 'a word', token: () => 'nonsense', code: 'validation_failed' },
    {
      what: 'twelve characters that were never issued',
      token: () => 'abcdefghijkl',
      code: 'refresh_token_not_found',
    },
    { what: 'nothing', token: () => '', code: 'validation_failed' },
    {
      what: 'a forged one',
      token: (token: string) => `${token.slice(0, -2)}${token.endsWith('AA') ? 'BB' : 'AA'}`,
      code: 'validation_failed',
    },
  ])('are refused for $what', async ({ token: forge, code }) => {
    const { provider, userId, token } = await signIn()
    expect(await refresh(provider, forge(token))).toMatchObject({ status: 400, code })
    expect(provider.admin.listSessions(userId)).toHaveLength(1)
  })

  it('of an ended session are unknown', async () => {
    const { provider, userId, token } = await signIn()
    provider.admin.endSession(provider.admin.listSessions(userId)[0]?.id ?? '')
    expect(await refresh(provider, token)).toMatchObject({ status: 400, code: 'refresh_token_not_found' })
  })

  it('of a banned user are refused but not spent', async () => {
    const { provider, userId, token } = await signIn()
    provider.admin.banUser(userId)
    expect(await refresh(provider, token)).toMatchObject({ status: 400, code: 'user_banned' })
    provider.admin.unbanUser(userId)
    expect((await refresh(provider, token)).status).toBe(200)
    expect(provider.admin.counters.rotations).toBe(1)
  })
})

describe('opaque refresh tokens', () => {
  it('are twelve letters and digits, another each turn, and unknown once their session is over', async () => {
    const provider = startProvider({ refreshTokenVersion: 1 })
    const { id } = await provider.admin.createUser(ADA)
    const { data } = await provider.client().auth.signInWithPassword(ADA)
    const first = data.session?.refresh_token ?? ''
    const second = (await refresh(provider, first)).refreshToken
    expect([first, second]).toEqual([
      expect.stringMatching(/^[a-z0-9]{12}$/),
      expect.stringMatching(/^[a-z0-9]{12}$/),
    ])
    expect((await refresh(provider, first)).refreshToken).toBe(second)
    provider.admin.endSession(provider.admin.listSessions(id)[0]?.id ?? '')
    expect(await refresh(provider, second)).toMatchObject({ status: 400, code: 'refresh_token_not_found' })
  })

  it('end as a family when a used one comes again, and leave the access token standing', async () => {
    const provider = startProvider({ refreshTokenVersion: 1 })
    provider.admin.setReuseInterval(0)
    await provider.admin.createUser(ADA)
    const { data } = await provider.client().auth.signInWithPassword(ADA)
    const first = data.session?.refresh_token ?? ''
    const second = await refresh(provider, first)
    const third = await refresh(provider, second.refreshToken)
    for (const { refreshToken } of [{ refreshToken: first }, third, second]) {
      expect(await refresh(provider, refreshToken)).toMatchObject({ code: 'refresh_token_already_used' })
    }
    expect(provider.admin.counters.reuseRevocations).toBe(1)
    const headers = { authorization: `Bearer ${third.accessToken}` }
    expect((await provider.call('GET', '/user', undefined, headers)).status).toBe(200)
  })
})

describe('limits of a session', () => {
  it.each([
    { limits: { timeboxSeconds: 100 }, waits: [60, 39], good: true },
    { limits: { timeboxSeconds: 100 }, waits: [60, 40], good: false },
    { limits: { inactivitySeconds: 100 }, waits: [99, 99], good: true },
    { limits: { inactivitySeconds: 100 }, waits: [99, 100], good: false },
    { limits: {}, waits: [1_000_000, 1_000_000], good: true },
  ])('$limits, refreshed after $waits seconds: $good', async ({ limits, waits, good }) => {
    const { provider, token } = await signIn()
    provider.admin.setSessionLimits(limits)
    let answer: Partial<Answer> = { refreshToken: token }
    for (const seconds of waits) {
      provider.runtime.advance(seconds)
      answer = await refresh(provider, answer.refreshToken ?? '')
    }
    expect(answer).toMatchObject(good ? { status: 200 } : { status: 400, code: 'session_expired' })
  })

  it('only one a user: who signed in or refreshed last goes on, in the same second too', async () => {
    const { provider, token: first } = await signIn()
    provider.admin.setSessionLimits({ singlePerUser: true })
    const other = await provider.client().auth.signInWithPassword(ADA)
    const second = other.data.session?.refresh_token ?? ''
    expect((await refresh(provider, first)).code).toBe('session_expired')
    expect((await refresh(provider, second)).status).toBe(200)
    provider.admin.setSessionLimits({})
    const again = await refresh(provider, first)
    provider.admin.setSessionLimits({ singlePerUser: true })
    expect((await refresh(provider, again.refreshToken)).status).toBe(200)
    expect((await refresh(provider, second)).code).toBe('session_expired')
  })

  it('only one a user: a session that is over by itself stops nobody', async () => {
    const { provider, token } = await signIn()
    provider.runtime.advance(60)
    const kept = (await refresh(provider, token)).refreshToken
    provider.runtime.advance(60)
    await provider.client().auth.signInWithPassword(ADA)
    provider.admin.setSessionLimits({ singlePerUser: true })
    expect((await refresh(provider, kept)).code).toBe('session_expired')
    provider.admin.setSessionLimits({})
    const latest = (await refresh(provider, kept)).refreshToken
    provider.runtime.advance(60)
    provider.admin.setSessionLimits({ singlePerUser: true, inactivitySeconds: 90 })
    expect((await refresh(provider, latest)).status).toBe(200)
  })

  it('say nothing about an access token', async () => {
    const { provider, token } = await signIn()
    const { accessToken } = await refresh(provider, token)
    provider.admin.setSessionLimits({ timeboxSeconds: 1 })
    provider.runtime.advance(10)
    const headers = { authorization: `Bearer ${accessToken}` }
    expect((await provider.call('GET', '/user', undefined, headers)).status).toBe(200)
  })
})

describe('the counter of reuse', () => {
  it('counts families that ended, not replays that were forgiven', async () => {
    const { provider, token } = await signIn()
    const second = await refresh(provider, token)
    await refresh(provider, token)
    expect(provider.admin.counters.reuseRevocations).toBe(0)
    await refresh(provider, second.refreshToken)
    provider.runtime.advance(60)
    await refresh(provider, token)
    await refresh(provider, token)
    expect(provider.admin.counters.reuseRevocations).toBe(1)
  })
})
