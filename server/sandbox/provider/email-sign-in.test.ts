import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type ProviderFixture, SITE, startProvider } from '../../../tests/support/sandbox/provider-fixture.ts'

const email = 'ada@example.com'
let provider: ProviderFixture
beforeEach(async () => {
  provider = startProvider()
  await provider.admin.createUser({ email })
})
afterEach(() => provider.close())

const lastMail = () => provider.services.mails[0]

async function send(body: object, path = '/otp') {
  const answer = await provider.call('POST', path, body)
  return { status: answer.status, body: (await answer.json()) as Record<string, Record<string, unknown>> }
}

const verify = (address = email) =>
  send({ email: address, token: lastMail()?.code, type: 'email' }, '/verify')

describe('a mailed code of the sandbox', () => {
  it('a mailed code works for its address only, and an empty code for none', async () => {
    await provider.admin.createUser({ email: 'eve@example.com' })
    await send({ email, create_user: false })
    expect(await verify('eve@example.com')).toMatchObject({ status: 403, body: { code: 'otp_expired' } })
    expect((await verify()).status).toBe(200)
    expect((await send({ email, token: '' }, '/verify')).status).toBe(400)
  })

  it('a mailed code is refused after an hour', async () => {
    await send({ email, create_user: false })
    provider.runtime.advance(3600)
    expect(await verify()).toMatchObject({ status: 403, body: { code: 'otp_expired' } })
  })

  it('a mailed code confirms the address of a new account', async () => {
    await send({ email: 'new@example.com' })
    const { status, body } = await verify('new@example.com')
    expect(status).toBe(200)
    expect(body['user']?.['email_confirmed_at']).toBeDefined()
  })

  it('a mailed code does not sign in a banned account', async () => {
    await send({ email, create_user: false })
    provider.admin.banUser(provider.admin.findUser(email)?.id ?? '')
    expect(await verify()).toMatchObject({ status: 403, body: { code: 'user_banned' } })
  })
})

it('a mailed link returns a code to the client that asked, however late it is opened', async () => {
  const { auth } = provider.client()
  await auth.signInWithOtp({ email, options: { emailRedirectTo: `${SITE}/welcome` } })
  provider.runtime.advance(3000)
  const response = await provider.fetch(new Request(lastMail()?.link ?? ''))
  const target = new URL(response.headers.get('location') ?? '')
  expect(target.origin + target.pathname).toBe(`${SITE}/welcome`)
  const { data } = await auth.exchangeCodeForSession(target.searchParams.get('code') ?? '')
  expect(data.user?.email).toBe(email)
})

it('a mailed link does not sign in an account that was banned meanwhile', async () => {
  const { auth } = provider.client()
  await auth.signInWithOtp({ email, options: { emailRedirectTo: `${SITE}/welcome` } })
  provider.admin.banUser(provider.admin.findUser(email)?.id ?? '')
  const response = await provider.fetch(new Request(lastMail()?.link ?? ''))
  const { searchParams } = new URL(response.headers.get('location') ?? '')
  expect([searchParams.get('error_code'), searchParams.get('code')]).toEqual(['user_banned', null])
})

it('a banned account signs in again when its ban is over', async () => {
  const { id } = provider.admin.findUser(email) ?? { id: '' }
  provider.services.accounts.update(id, (account, now) => void (account.bannedUntil = now + 60))
  await send({ email, create_user: false })
  expect((await verify()).body).toMatchObject({ code: 'user_banned' })
  provider.runtime.advance(60)
  expect((await verify()).status).toBe(200)
})

it('the newest hundred mails are kept', async () => {
  for (let number = 1; number <= 101; number += 1) await send({ email: `${number}@example.com` })
  const { mails } = provider.services
  expect(mails).toHaveLength(100)
  expect([mails.at(0)?.to, mails.at(-1)?.to]).toEqual(['101@example.com', '2@example.com'])
})
