import { describe, expect, it } from 'vitest'
import { startProvider, type ProviderFixture } from '../../../../tests/support/sandbox/provider-fixture.ts'

const ADA = { email: 'ada@example.com', password: 'correct horse' }

async function tokenOf(provider: ProviderFixture): Promise<string> {
  await provider.admin.createUser(ADA)
  const { data } = await provider.client().auth.signInWithPassword(ADA)
  return data.session?.access_token ?? ''
}

async function ask(
  provider: ProviderFixture,
  authorization: string | undefined,
): Promise<[number, string | undefined]> {
  const headers = authorization === undefined ? {} : { authorization }
  const response = await provider.call('GET', '/user', undefined, headers)
  const body: { code?: string } = JSON.parse(await response.text())
  return [response.status, body.code]
}

describe('an Authorization header', () => {
  it.each([
    { header: (token: string) => `Bearer ${token}`, answer: [200, undefined] },
    { header: (token: string) => `bearer ${token}`, answer: [200, undefined] },
    { header: (token: string) => `BEARER   ${token} `, answer: [200, undefined] },
    { header: () => undefined, answer: [401, 'no_authorization'] },
    { header: () => 'Bearer', answer: [401, 'no_authorization'] },
    { header: () => 'Bearer ', answer: [401, 'no_authorization'] },
    { header: (token: string) => token, answer: [401, 'no_authorization'] },
    { header: (token: string) => `Basic ${token}`, answer: [401, 'no_authorization'] },
    { header: (token: string) => `Bearer ${token} ${token}`, answer: [401, 'no_authorization'] },
    { header: () => 'Bearer sb_publishable_key', answer: [403, 'bad_jwt'] },
    { header: (token: string) => `Bearer ${token}x`, answer: [403, 'bad_jwt'] },
    {
      header: (token: string) => `Bearer ${token.split('.').slice(0, 2).join('.')}`,
      answer: [403, 'bad_jwt'],
    },
  ])('$header is answered with $answer', async ({ header, answer }) => {
    const provider = startProvider()
    expect(await ask(provider, header(await tokenOf(provider)))).toEqual(answer)
  })

  it('of an anonymous call to sign in may be anything, as the vendor client sends its key there', async () => {
    const provider = startProvider()
    await provider.admin.createUser(ADA)
    for (const authorization of ['Bearer sb_publishable_key', 'Bearer x.y.z', 'nonsense']) {
      const response = await provider.call('POST', '/token?grant_type=password', ADA, { authorization })
      expect([authorization, response.status]).toEqual([authorization, 200])
    }
  })
})

describe('every address that needs a user', () => {
  it.each([
    ['GET', '/user'],
    ['PUT', '/user'],
    ['POST', '/logout'],
    ['POST', '/factors'],
    ['DELETE', '/factors/x'],
    ['POST', '/factors/x/challenge'],
    ['POST', '/factors/x/verify'],
  ])('%s %s refuses nobody and a session that has ended', async (method, path) => {
    const provider = startProvider()
    const body = method === 'GET' ? undefined : {}
    const authorization = `Bearer ${await tokenOf(provider)}`
    expect((await provider.call(method, path, body)).status).toBe(401)
    const user = provider.admin.findUser(ADA.email)
    for (const { id } of provider.admin.listSessions(user?.id ?? '')) provider.admin.endSession(id)
    const response = await provider.call(method, path, body, { authorization })
    expect(response.status).toBe(403)
    expect(await response.json()).toMatchObject({ code: 'session_not_found' })
  })
})
