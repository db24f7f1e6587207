import { findingsOf } from '@drawbridge/shared/terminal/check.ts'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { configSample } from '../../../tests/support/server/config-sample.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { AUTH, type ProviderFixture, startProvider } from '../../../tests/support/sandbox/provider-fixture.ts'
import type { ServerConfig } from '../../config/setting-table.ts'
import { appClientChecks, probeAppClient } from './app-client-check.ts'

const config = configSample({
  provider: 'supabase',
  baseUrl: 'https://mcp.example.com',
  providerUrl: AUTH,
  providerKey: 'sb_publishable_x',
  providerClientId: '0c1d2e3f-0000-4000-8000-00000000c11e',
  providerClientSecret: 'client-secret',
  signInUrl: 'https://app.example.com/connect',
})
const oauthClient = {
  id: config.providerClientId ?? '',
  secret: 'client-secret',
  redirectUri: 'https://mcp.example.com/oauth/callback',
}

let provider: ProviderFixture
beforeEach(() => {
  provider = startProvider({ oauthClient })
})
afterEach(() => provider.close())

type Fetch = (request: Request) => Promise<Response>

async function examine(changes: Partial<ServerConfig> = {}, fetch: Fetch = provider.fetch) {
  const runtime = { ...createFakeRuntime(), fetch }
  return findingsOf(appClientChecks, await probeAppClient({ ...config, ...changes }, runtime))[0]
}

it('doctor passes a client that the OAuth server of the project knows', async () => {
  expect(await examine()).toMatchObject({
    state: 'ok',
    message: 'The OAuth server of the project accepts this server as its client.',
  })
})

it.each<[what: string, changes: Partial<ServerConfig>, message: RegExp]>([
  ['an old secret', { providerClientSecret: 'old' }, /answers invalid_credentials: .*newest secret/],
  [
    'an unknown client',
    { providerClientId: '1c1d2e3f-0000-4000-8000-00000000c11e' },
    /answers oauth_client_not_found and invalid_credentials: .*register another/,
  ],
  [
    'another address of this server',
    { baseUrl: 'https://other.example' },
    /answers validation_failed: .*redirect URI .*: https:\/\/other\.example\/oauth\/callback$/,
  ],
])('doctor fails for %s at the OAuth server, and says what to set', async (_what, changes, text) => {
  const { state, message, fix } = (await examine(changes))!
  expect(state).toBe('fail')
  expect(`${message} ${fix}`).toMatch(text)
})

it('doctor fails for an OAuth server that is off', async () => {
  provider.close()
  provider = startProvider()
  expect(await examine()).toMatchObject({
    state: 'fail',
    message: 'The OAuth server of the project answers feature_disabled: no one can sign in by the app.',
    fix: 'Turn it on in the dashboard, Authentication, OAuth Server.',
  })
})

const toCallback = (query: string) => (): Response =>
  new Response(null, {
    status: 302,
    headers: { location: `https://mcp.example.com/oauth/callback?${query}` },
  })

it.each<[what: string, start: () => Response, state: string, message: RegExp]>([
  [
    'no authorization path',
    toCallback('error=server_error'),
    'fail',
    /answers server_error: no one can sign in/,
  ],
  [
    'another error',
    toCallback('error=invalid_request'),
    'warn',
    /answers invalid_request, which may be a fault/,
  ],
  ['a redirect without anything', toCallback(''), 'warn', /answers nothing,/],
  ['a gateway', () => new Response('<html>', { status: 403 }), 'warn', /answers 403,/],
  [
    'no OAuth server at all',
    () => new Response('404 page not found', { status: 404 }),
    'fail',
    /answers 404: no one can sign in/,
  ],
])('doctor, at an OAuth server with %s', async (_what, start, state, message) => {
  const found = await examine({}, async (request) =>
    request.url.includes('/oauth/authorize') ? start() : provider.fetch(request),
  )
  expect(found).toMatchObject({ state, message: expect.stringMatching(message) })
})

it('doctor says which authorization path to set, and when no page need be there', async () => {
  const broken: Fetch = async (request) =>
    request.url.includes('/oauth/authorize') ? toCallback('error=server_error')() : provider.fetch(request)
  const fix = (await examine({}, broken))?.fix
  expect(fix).toContain("the app's page of consent")
  expect(fix).toContain('With DRAWBRIDGE_SIGN_IN_URL no page need be there')
})

it('doctor says nothing of a client while the project does not answer, which another check reports', async () => {
  expect(await examine({}, () => Promise.reject(new TypeError('fetch failed')))).toBeUndefined()
})
