import { afterEach, describe, expect, it } from 'vitest'
import { type ProviderFixture, SITE, startProvider } from '../../../tests/support/sandbox/provider-fixture.ts'

const email = 'ada@example.com'
let provider: ProviderFixture

/** Starts a provider with one account. */
async function open(): Promise<ProviderFixture> {
  provider = startProvider()
  await provider.client().auth.signUp({ email, password: 'correct horse' })
  return provider
}

const lastMail = () => provider.services.mailbox.list()[0]
const later = (seconds: number): void => provider.runtime.advance(seconds)

afterEach(() => provider.close())

/** Follows a mailed link and returns where it leads. */
async function follow(link: string | undefined): Promise<URL> {
  const response = await provider.fetch(new Request(link ?? ''))
  expect(response.status).toBe(303)
  return new URL(response.headers.get('location') ?? '')
}

const send = (body: object, path = '/otp') => provider.call('POST', path, body)
const bodyOf = (answer: Response) => answer.json() as Promise<Record<string, Record<string, unknown>>>

async function codeOf(asked: Promise<Response>): Promise<{ status: number; code: unknown }> {
  const answer = await asked
  return { status: answer.status, code: (await bodyOf(answer))['code'] }
}

describe('a mailed code', () => {
  it('signs the real client in, once', async () => {
    const { auth } = (await open()).client()
    expect((await auth.signInWithOtp({ email, options: { shouldCreateUser: false } })).error).toBeNull()
    const token = lastMail()?.code ?? ''
    const { data, error } = await auth.verifyOtp({ email, token, type: 'email' })
    expect(error).toBeNull()
    expect(data.user?.email).toBe(email)
    const claims = JSON.parse(
      Buffer.from(data.session?.access_token.split('.')[1] ?? '', 'base64url').toString(),
    )
    expect(claims.amr[0].method).toBe('otp')
    expect(await codeOf(send({ email, token, type: 'email' }, '/verify'))).toEqual({
      status: 403,
      code: 'otp_expired',
    })
  })

  it('is refused when it is wrong, of another account, replaced, or an hour old', async () => {
    await open()
    await provider.client().auth.signUp({ email: 'eve@example.com', password: 'correct horse' })
    await send({ email, create_user: false })
    const first = lastMail()?.code ?? ''
    const verify = (token: string, of = email) => codeOf(send({ email: of, token, type: 'email' }, '/verify'))
    const refused = { status: 403, code: 'otp_expired' }
    expect(await verify(first === '000000' ? '000001' : '000000')).toEqual(refused)
    expect(await verify(first, 'eve@example.com')).toEqual(refused)
    later(60)
    await send({ email, create_user: false })
    const second = lastMail()?.code ?? ''
    if (second !== first) expect(await verify(first)).toEqual(refused)
    later(3600)
    expect(await verify(second)).toEqual(refused)
  })

  it('is sent once a minute', async () => {
    await open()
    expect((await send({ email, create_user: false })).status).toBe(200)
    later(59)
    const refused = { status: 429, code: 'over_email_send_rate_limit' }
    expect(await codeOf(send({ email, create_user: false }))).toEqual(refused)
    later(1)
    expect((await send({ email, create_user: false })).status).toBe(200)
    expect(provider.services.mailbox.list()).toHaveLength(2)
  })

  it('is not sent to somebody unknown who must not be signed up', async () => {
    await open()
    const refused = { status: 422, code: 'otp_disabled' }
    expect(await codeOf(send({ email: 'nobody@example.com', create_user: false }))).toEqual(refused)
    expect(await codeOf(send({ email: '' }))).toEqual({ status: 400, code: 'validation_failed' })
    expect(provider.services.mailbox.list()).toEqual([])
  })

  it('confirms the address of somebody new', async () => {
    await open()
    await send({ email: 'new@example.com' })
    const [mail] = provider.services.mailbox.list()
    const answer = await send({ email: 'new@example.com', token: mail?.code, type: 'email' }, '/verify')
    expect(answer.status).toBe(200)
    expect((await bodyOf(answer))['user']?.['email_confirmed_at']).toBeDefined()
  })

  it('lets nobody in who is banned', async () => {
    await open()
    await send({ email, create_user: false })
    const account = provider.services.accounts.findByEmail(email)
    provider.services.accounts.ban(account?.id ?? '', provider.runtime.now() + 9000)
    const answer = send({ email, token: lastMail()?.code, type: 'email' }, '/verify')
    expect(await codeOf(answer)).toEqual({ status: 403, code: 'user_banned' })
  })
})

describe('a mailed link', () => {
  const options = { shouldCreateUser: false, emailRedirectTo: `${SITE}/welcome` }

  it('brings the browser back with a code for the client that asked, however late it is opened', async () => {
    const { auth } = (await open()).client()
    await auth.signInWithOtp({ email, options })
    later(3000)
    const target = await follow(lastMail()?.link)
    expect(target.origin + target.pathname).toBe(`${SITE}/welcome`)
    const { data, error } = await auth.exchangeCodeForSession(target.searchParams.get('code') ?? '')
    expect(error).toBeNull()
    expect(data.user?.email).toBe(email)
    expect(data.session?.provider_token).toBeUndefined()
  })

  it('works once, and its code for nobody else', async () => {
    const { auth } = (await open()).client()
    await auth.signInWithOtp({ email, options })
    const link = lastMail()?.link
    const code = (await follow(link)).searchParams.get('code') ?? ''
    const body = { auth_code: code, code_verifier: 'x'.repeat(43) }
    expect(await codeOf(send(body, '/token?grant_type=pkce'))).toEqual({
      status: 400,
      code: 'bad_code_verifier',
    })
    expect((await follow(link)).searchParams.get('error_code')).toBe('otp_expired')
  })

  it('is left out where a token would have to travel in it', async () => {
    await open()
    await send({ email, create_user: false })
    expect(lastMail()?.link).toBeUndefined()
  })
})
