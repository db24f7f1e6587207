import { describe, expect, it } from 'vitest'
import { startProvider } from '../../../tests/support/sandbox/provider-fixture.ts'

const ADA = { email: 'ada@example.com', password: 'correct horse' }

describe('users made by the admin', () => {
  it('can sign in, whatever the case of their address', async () => {
    const { admin, client } = startProvider()
    const user = await admin.createUser({ ...ADA, email: 'Ada@Example.com' })
    expect(user).toEqual({ id: expect.any(String), email: 'ada@example.com' })
    expect(admin.findUser('ADA@example.com')).toEqual(user)
    expect((await client().auth.signInWithPassword(ADA)).data.user?.id).toBe(user.id)
  })

  it('may have passwords that the sign-up page would refuse', async () => {
    const { admin, client } = startProvider()
    await admin.createUser({ ...ADA, password: 'x' })
    expect((await client().auth.signInWithPassword({ ...ADA, password: 'x' })).error).toBeNull()
  })

  it('need an address of their own', async () => {
    const { admin } = startProvider()
    await admin.createUser(ADA)
    await expect(admin.createUser(ADA)).rejects.toMatchObject({ code: 'user_already_exists' })
    await expect(admin.createUser({ email: 'no address' })).rejects.toMatchObject({
      code: 'validation_failed',
    })
  })

  it('that do not exist are not found', () => {
    const { admin } = startProvider()
    expect(admin.findUser(ADA.email)).toBeUndefined()
    expect(admin.listSessions('nobody')).toEqual([])
    expect(() => admin.endSession('nothing')).not.toThrow()
    expect(() => admin.deleteUser('nobody')).not.toThrow()
  })
})

describe('sessions seen by the admin', () => {
  it('are listed oldest first, and ended one by one', async () => {
    const { admin, client, runtime } = startProvider()
    const { id } = await admin.createUser(ADA)
    const ids = []
    for (let round = 0; round < 3; round++) {
      const { auth } = client()
      await auth.signInWithPassword(ADA)
      ids.push((await auth.getClaims()).data?.claims.session_id)
      runtime.advance(1)
    }
    expect(admin.listSessions(id)).toEqual(
      ids.map((session) => ({ id: session, aal: 'aal1', refreshCounter: 0 })),
    )
    admin.endSession(ids[1] ?? '')
    expect(admin.listSessions(id).map((session) => session.id)).toEqual([ids[0], ids[2]])
  })

  it('of one user end without touching another', async () => {
    const { admin, client } = startProvider()
    const [ada, eve] = [
      await admin.createUser(ADA),
      await admin.createUser({ ...ADA, email: 'eve@example.com' }),
    ]
    await client().auth.signInWithPassword({ ...ADA, email: 'eve@example.com' })
    const { auth } = client()
    await auth.signInWithPassword(ADA)
    await auth.signOut()
    expect(admin.listSessions(ada.id)).toEqual([])
    expect(admin.listSessions(eve.id)).toHaveLength(1)
  })
})

describe('counters', () => {
  it('count every request by kind, and start again from zero', async () => {
    const { admin, call, client } = startProvider()
    const { auth } = client()
    await auth.signUp(ADA)
    await auth.signInWithPassword({ ...ADA, password: 'wrong' })
    await auth.refreshSession()
    await auth.getUser()
    await call('POST', '/token?grant_type=pkce', {})
    await call('GET', '/authorize?provider=none')
    await call('GET', '/.well-known/jwks.json')
    await auth.signOut()
    expect(admin.counters).toEqual({
      token: { password: 1, refresh_token: 1, pkce: 1 },
      rotations: 1,
      reuseRevocations: 0,
      signup: 1,
      user: 1,
      logout: 1,
      signOuts: { global: 1, local: 0, others: 0 },
      authorize: 1,
      jwks: 1,
    })
    admin.resetCounters()
    expect(admin.counters).toMatchObject({
      token: { password: 0, refresh_token: 0, pkce: 0 },
      rotations: 0,
      jwks: 0,
    })
    await auth.signInWithPassword(ADA)
    expect(admin.counters.token.password).toBe(1)
  })
})

describe('sign-outs', () => {
  it('are counted by scope when they are done', async () => {
    const { admin, call, client } = startProvider()
    await admin.createUser(ADA)
    for (const scope of ['local', 'others', 'local'] as const) {
      const { auth } = client()
      await auth.signInWithPassword(ADA)
      await auth.signOut({ scope })
    }
    await call('POST', '/logout?scope=local', undefined, { authorization: 'Bearer nonsense' })
    expect(admin.counters).toMatchObject({ logout: 4, signOuts: { global: 0, local: 2, others: 1 } })
    admin.resetCounters()
    expect(admin.counters.signOuts).toEqual({ global: 0, local: 0, others: 0 })
  })
})

describe('signed claims', () => {
  it('are exactly the ones asked for', async () => {
    const { admin } = startProvider()
    const token = await admin.signClaims({ iss: 'x', anything: [1] })
    expect(JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())).toEqual({
      iss: 'x',
      anything: [1],
    })
  })
})
