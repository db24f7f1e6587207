import { describe, expect, it } from 'vitest'
import { startProvider, type ProviderFixture } from '../../../tests/support/sandbox/provider-fixture.ts'

const ADA = { email: 'ada@example.com', password: 'correct horse' }
const EVE = { email: 'eve@example.com', password: 'battery staple' }

const withToken = (body: object, token: unknown): object => ({
  ...body,
  gotrue_meta_security: { captcha_token: token },
})

async function start(): Promise<ProviderFixture> {
  const provider = startProvider()
  await provider.admin.createUser(ADA)
  provider.admin.setCaptcha({ secret: 'solved' })
  return provider
}

describe('while a captcha is asked for', () => {
  it.each([
    { path: '/token?grant_type=password', body: ADA },
    { path: '/signup', body: EVE },
  ])('$path needs the good token', async ({ path, body }) => {
    const provider = await start()
    for (const bad of [body, withToken(body, ''), withToken(body, 'guess'), withToken(body, 1)]) {
      const response = await provider.call('POST', path, bad)
      expect([bad, response.status]).toEqual([bad, 400])
      expect(await response.json()).toMatchObject({ code: 'captcha_failed' })
    }
    expect((await provider.call('POST', path, withToken(body, 'solved'))).status).toBe(200)
  })

  it('a wrong password is told only to who solved it', async () => {
    const provider = await start()
    const wrong = { ...ADA, password: 'wrong' }
    const unsolved = await provider.call('POST', '/token?grant_type=password', wrong)
    expect(await unsolved.json()).toMatchObject({ code: 'captcha_failed' })
    const solved = await provider.call('POST', '/token?grant_type=password', withToken(wrong, 'solved'))
    expect(await solved.json()).toMatchObject({ code: 'invalid_credentials' })
  })

  it('a refresh needs none, and the vendor client gets in with one', async () => {
    const provider = await start()
    const { auth } = provider.client()
    expect((await auth.signInWithPassword(ADA)).error?.code).toBe('captcha_failed')
    const solved = await auth.signInWithPassword({ ...ADA, options: { captchaToken: 'solved' } })
    expect(solved.error).toBeNull()
    expect((await auth.refreshSession()).error).toBeNull()
  })

  it('an operator needs none, a user does', async () => {
    const provider = await start()
    const authorization = `Bearer ${await provider.admin.serviceKey()}`
    const response = await provider.call('POST', '/token?grant_type=password', ADA, { authorization })
    expect(response.status).toBe(200)
    const { access_token: token } = JSON.parse(await response.text()) as { access_token: string }
    const user = await provider.call('POST', '/token?grant_type=password', ADA, {
      authorization: `Bearer ${token}`,
    })
    expect(user.status).toBe(400)
  })

  it('ends with an empty setting', async () => {
    const provider = await start()
    provider.admin.setCaptcha({})
    expect((await provider.call('POST', '/token?grant_type=password', ADA)).status).toBe(200)
  })
})
