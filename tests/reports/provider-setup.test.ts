import { afterEach, expect, it } from 'vitest'
import { type DrawbridgeFixture, startDrawbridge } from '../support/server/drawbridge-fixture.ts'
import { createFakeRuntime } from '../support/server/fake-runtime.ts'
import { oidcClient, startOidcServer, type OidcServer } from '../support/server/oidc-server.ts'

/* What people see at a provider that is set up wrong: waiting helps against an outage, and against nothing else. */

let server: OidcServer | undefined
let drawbridge: DrawbridgeFixture | undefined
afterEach(async () => {
  await drawbridge?.close()
  await server?.close()
})

it.each<[what: string, urlOf: (issuer: string) => string, isUp: boolean, status: number, says: string]>([
  ['PROVIDER_URL with a slash too many', (issuer) => `${issuer}/`, true, 502, 'Waiting does not help'],
  ['PROVIDER_URL with another path', (issuer) => `${issuer}/realms/main`, true, 502, 'Waiting does not help'],
  ['the right PROVIDER_URL', (issuer) => issuer, true, 200, 'Sign in'],
  ['a provider that is down', (issuer) => issuer, false, 503, 'Wait a moment'],
])('the login page tells whether waiting helps with %s', async (_what, urlOf, isUp, status, says) => {
  server = await startOidcServer({ callbackUrl: 'http://localhost:8787/oauth/callback' })
  const down = (): Promise<Response> => Promise.reject(new TypeError('fetch failed'))
  drawbridge = await startDrawbridge(
    {
      provider: 'oidc',
      providerUrl: urlOf(server.issuer),
      providerClientId: oidcClient.id,
      providerClientSecret: oidcClient.secret,
      secretKeys: `test:${Buffer.alloc(32, 7).toString('base64')}`,
    },
    { ...createFakeRuntime(), fetch: isUp ? (request, options) => fetch(request, options) : down },
  )
  const { client_id: clientId } = await drawbridge.register()
  const page = await drawbridge.browser().visit(drawbridge.authorizeUrl(clientId))
  expect([page.status, page.html.includes(says)]).toEqual([status, true])
})
