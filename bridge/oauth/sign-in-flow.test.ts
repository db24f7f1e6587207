import { afterEach, expect, it } from 'vitest'
import { type OAuthServer, type OAuthServerPlaces, startOAuthServer } from './testing/oauth-server.ts'
import { signIn } from './testing/sign-in-trial.ts'

const servers: OAuthServer[] = []

async function start(places: OAuthServerPlaces = {}): Promise<OAuthServer> {
  const server = await startOAuthServer(places)
  servers.push(server)
  return server
}

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()))
})

it('signs in at a server that nothing is known about, asking nothing twice', async () => {
  const server = await start()
  const { credential, arrival, prompts } = await signIn(server.serverUrl)
  expect(server.paths()).toEqual([
    '/.well-known/oauth-protected-resource/mcp',
    '/.well-known/oauth-authorization-server',
    '/register',
    '/authorize',
    '/token',
  ])
  expect(arrival.status).toBe(200)
  expect(prompts).toHaveLength(1)
  expect(credential).toMatchObject({
    generation: 0,
    serverUrl: server.serverUrl,
    issuer: server.issuer,
    resource: server.serverUrl,
    tokenEndpoint: `${server.origin}/token`,
    revocationEndpoint: `${server.origin}/revoke`,
    client: { origin: 'dynamic', tokenEndpointAuthMethod: 'none' },
  })
  expect(credential.tokens?.accessToken).toMatch(/^access-/)
})
