import { afterEach, beforeEach, expect, it } from 'vitest'
import { type ProviderFixture, startProvider } from '../../../../tests/support/sandbox/provider-fixture.ts'

const callbackUrl = 'http://localhost:8787/oauth/callback'
const oauthClient = { id: '0c1d2e3f-0000-4000-8000-00000000c11e', secret: 'secret', redirectUri: callbackUrl }
const code_challenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'
const social = { provider: 'google', redirect_to: callbackUrl, code_challenge, code_challenge_method: 's256' }
const ada = { email: 'ada@example.com', password: 'correct horse' }

let provider: ProviderFixture
beforeEach(() => {
  provider = startProvider({ oauthClient })
})
afterEach(() => provider.close())

const authorize = (changes: Record<string, string> = {}): Promise<Response> => {
  const request = { client_id: oauthClient.id, redirect_uri: callbackUrl, state: 's', code_challenge }
  return provider.call(
    'GET',
    `/oauth/authorize?${new URLSearchParams({ ...request, ...changes }).toString()}`,
  )
}

it.each([
  [{ client_id: '1c1d2e3f-0000-4000-8000-00000000c11e' }, 'oauth_client_not_found'],
  [{ redirect_uri: `${callbackUrl}/` }, 'validation_failed'],
  [{ redirect_uri: 'https://evil.example/' }, 'validation_failed'],
  [{ code_challenge: '' }, 'validation_failed'],
])('the sandbox begins no authorization with %j', async (changes, code) => {
  const refused = await authorize(changes)
  expect([refused.status, await refused.json()]).toEqual([400, expect.objectContaining({ code })])
  expect((await authorize()).status).toBe(302)
})

it('the sandbox approves authorizations only, not what waits for Google, and each of them once', async () => {
  await provider.admin.createUser(ada)
  const { data } = await provider.client().auth.signInWithPassword(ada)
  const bearer = { authorization: `Bearer ${data.session?.access_token}` }
  const consent = (id: string | null, action = 'approve') =>
    provider.call('POST', `/oauth/authorizations/${id}/consent`, { action }, bearer)
  const toGoogle = await provider.call('GET', `/authorize?${new URLSearchParams(social).toString()}`)
  const state = new URL(toGoogle.headers.get('location') ?? '').searchParams.get('state')
  expect((await consent(state)).status).toBe(404)
  const page = new URL((await authorize()).headers.get('location') ?? '')
  const id = page.searchParams.get('authorization_id')
  expect((await consent(id, 'deny')).status).toBe(400)
  expect((await consent(id)).status).toBe(200)
  expect((await consent(id)).status).toBe(404)
})
