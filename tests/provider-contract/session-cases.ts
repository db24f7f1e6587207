import { expect, it, type TestContext } from 'vitest'
import { claimsOf, type ContractSession, failureOf, signedIn, valueOf } from './driver.ts'
import { skipFor, type Stage } from './stage.ts'
import { codeOf } from './wire.ts'

/** Errors of servers whose settings require more than a session to set a password. */
const needsMore: ReadonlySet<unknown> = new Set(['reauthentication_needed', 'current_password_required'])

/** Cases of starting, continuing and ending sessions. */
export function sessionCases(stage: () => Stage): void {
  async function session(context: TestContext): Promise<ContractSession> {
    const { driver, server } = stage()
    skipFor(context, server.lacks.accounts)
    return signedIn(await driver.signIn(await server.accounts.shared()))
  }

  it('a password yields a session of its account, and a second sign-in a session of its own', async (context) => {
    const { driver, server } = stage()
    skipFor(context, server.lacks.accounts)
    const account = await server.accounts.shared()
    const [one, two] = [signedIn(await driver.signIn(account)), signedIn(await driver.signIn(account))]
    const claims = [one, two].map(({ accessToken }) => claimsOf(accessToken))
    expect(claims).toMatchObject([
      { sub: account.id, email: account.email, aal: 'aal1' },
      { sub: account.id },
    ])
    expect(claims[0]?.['session_id']).not.toBe(claims[1]?.['session_id'])
    expect(valueOf(await driver.life(one.accessToken))).toBe('live')
  })

  it('a wrong password and an unknown account are refused alike', async (context) => {
    const { driver, server } = stage()
    skipFor(context, server.lacks.accounts)
    const { email, password } = await server.accounts.shared()
    const wrong = await driver.signIn({ email, password: `${password}!` })
    const unknown = await driver.signIn({ email: `nobody-${email}`, password })
    expect(failureOf(wrong)).toBe('invalid_credentials')
    expect(unknown).toEqual(wrong)
  })

  it('an email with surrounding space is a different one: the caller has to trim', async (context) => {
    const { driver, server } = stage()
    skipFor(context, server.lacks.accounts)
    const { email, password } = await server.accounts.shared()
    expect(failureOf(await driver.signIn({ email: ` ${email} `, password }))).toBe('invalid_credentials')
  })

  it('an unconfirmed address is reported only with the right password', async (context) => {
    const { driver, server } = stage()
    skipFor(context, server.lacks.admin)
    const account = await server.accounts.create({ confirmed: false })
    expect(failureOf(await driver.signIn({ ...account, password: 'something else' }))).toBe(
      'invalid_credentials',
    )
    expect(failureOf(await driver.signIn(account))).toBe('email_unconfirmed')
  })

  it('a banned account looks like a wrong password', async (context) => {
    const { driver, server } = stage()
    skipFor(context, server.lacks.admin)
    const account = await server.accounts.create({ banned: true })
    expect(failureOf(await driver.signIn(account))).toBe('invalid_credentials')
    expect(failureOf(await driver.signIn({ ...account, password: 'something else' }))).toBe(
      'invalid_credentials',
    )
  })

  it('a refresh brings another pair of tokens for the same session, and can be made again: the parent brings the active token', async (context) => {
    const { driver } = stage()
    const first = await session(context)
    const second = valueOf(await driver.refresh(first))
    expect(second.refreshToken).not.toBe(first.refreshToken)
    const { sub, session_id } = claimsOf(first.accessToken)
    expect(claimsOf(second.accessToken)).toMatchObject({ sub, session_id })
    // Its answer may have got lost.
    const again = valueOf(await driver.refresh(first))
    expect(again.refreshToken).toBe(second.refreshToken)
    expect(claimsOf(again.accessToken)['sub']).toBe(sub)
    expect((await driver.refresh(again)).ok).toBe(true)
  })

  it('a token older than the parent ends the session, once the reuse interval is over', async (context) => {
    const { driver, server } = stage()
    const first = await session(context)
    const second = valueOf(await driver.refresh(first))
    const third = valueOf(await driver.refresh(second))
    server.levers?.closeReuseInterval()
    const reuse = await driver.refresh(first)
    if (reuse.ok) skipFor(context, 'the reuse interval of this server is still open')
    expect(failureOf(reuse)).toBe('terminal')
    const after = await driver.refresh(third)
    if (after.ok) skipFor(context, 'this server does not end sessions for reuse')
    expect(failureOf(after)).toBe('terminal')
  })

  it('concurrent refreshes with one token leave the session alive', async (context) => {
    const { driver } = stage()
    const first = await session(context)
    const answers = await Promise.all(Array.from({ length: 8 }, () => driver.refresh(first)))
    const refusals = answers.filter(({ ok }) => !ok).map(failureOf)
    expect(refusals.filter((failure) => failure !== 'transient')).toEqual([])
    const [successor, ...others] = new Set(
      answers.flatMap((answer) => (answer.ok ? [answer.value.refreshToken] : [])),
    )
    expect(others).toEqual([])
    expect((await driver.refresh({ ...first, refreshToken: successor ?? '' })).ok).toBe(true)
  })

  it.each(['nonsense', 'abcdefghijkl'])(
    '%s is permanently rejected as a refresh token',
    async (refreshToken) => {
      const { driver } = stage()
      const made = { accessToken: '', refreshToken, device: undefined }
      expect(failureOf(await driver.refresh(made))).toBe('terminal')
    },
  )

  it('a sign-out ends this session and no other, and is done when it is over already', async (context) => {
    const { driver, server } = stage()
    skipFor(context, server.lacks.accounts)
    const account = await server.accounts.shared()
    const [here, there] = [signedIn(await driver.signIn(account)), signedIn(await driver.signIn(account))]
    valueOf(await driver.signOut(here))
    expect(valueOf(await driver.life(here.accessToken))).toBe('ended')
    expect(failureOf(await driver.refresh(here))).toBe('terminal')
    expect(valueOf(await driver.life(there.accessToken))).toBe('live')
    expect((await driver.refresh(there)).ok).toBe(true)
    expect((await driver.signOut(here)).ok).toBe(true)
  })

  it('an unsigned access token is refused, not mistaken for the end of a session', async () => {
    const { driver } = stage()
    const payload = Buffer.from(JSON.stringify({ sub: 'x', exp: 9_999_999_999 })).toString('base64url')
    const header = Buffer.from('{"alg":"HS256","typ":"JWT"}').toString('base64url')
    const token = `${header}.${payload}.${Buffer.alloc(32).toString('base64url')}`
    expect(valueOf(await driver.life(token))).toBe('token_refused')
  })

  it.for([
    ['ban', 'ban'],
    ['deletion', 'delete'],
  ] as const)(
    'a %s of the account ends its refreshes, and its access token is of no use',
    async ([, act], context) => {
      const { driver, server } = stage()
      skipFor(context, server.lacks.admin)
      const account = await server.accounts.create()
      const running = signedIn(await driver.signIn(account))
      await server.accounts[act](account.id)
      expect(failureOf(await driver.refresh(running))).toBe('terminal')
      expect(valueOf(await driver.life(running.accessToken))).toBe('ended')
    },
  )

  it('a new password, set in the app, ends every session but the one that set it', async (context) => {
    const { driver, server, wire } = stage()
    skipFor(context, server.lacks.accounts)
    const account = await server.accounts.create()
    const [app, ours] = [signedIn(await driver.signIn(account)), signedIn(await driver.signIn(account))]
    const body = { password: `${account.password}-new` }
    const changed = await wire('PUT', '/user', { body, bearer: app.accessToken })
    if (needsMore.has(codeOf(changed))) skipFor(context, 'a new password needs more than a session there')
    expect(changed.status).toBe(200)
    expect(failureOf(await driver.refresh(ours))).toBe('terminal')
    expect(valueOf(await driver.life(ours.accessToken))).toBe('ended')
    expect((await driver.refresh(app)).ok).toBe(true)
    expect(failureOf(await driver.signIn(account))).toBe('invalid_credentials')
    expect((await driver.signIn({ ...account, ...body })).ok).toBe(true)
  })
}
