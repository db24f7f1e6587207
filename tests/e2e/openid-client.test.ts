import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectAllConnected } from './attempt-facts.ts'
import { createPerson, type Person } from './person.ts'
import { callTool, redirectUri } from './plain-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'

let server: ServerProcess
let person: Person

beforeAll(async () => {
  server = await startServer()
  person = await createPerson(server)
})
afterAll(async () => {
  await expectAllConnected(server, 1)
  await server.close()
})

function options(): openid.DynamicClientRegistrationRequestOptions {
  return {
    algorithm: 'oauth2',
    execute: [openid.allowInsecureRequests],
    // It sends text; its type allows more than fetch does.
    [openid.customFetch]: (url, init) => server.fetch(url, init as RequestInit),
  }
}

const authentications = [
  { method: 'none', authenticate: () => openid.None() },
  { method: 'client_secret_post', authenticate: () => openid.ClientSecretPost() },
  { method: 'client_secret_basic', authenticate: () => openid.ClientSecretBasic() },
]

describe('openid-client', () => {
  it.each(authentications)(
    'Spec 9, MCP auth Overview, RFC 9700 4.4.2.1, RFC 9207 2.4: registers with $method and goes the whole way, every check on',
    async ({ method, authenticate }) => {
      const configuration = await openid.dynamicClientRegistration(
        new URL(server.baseUrl),
        { client_name: 'Strict client', redirect_uris: [redirectUri], token_endpoint_auth_method: method },
        authenticate(),
        options(),
      )
      expect(configuration.serverMetadata().issuer).toBe(server.baseUrl)
      expect(configuration.serverMetadata().supportsPKCE()).toBe(true)

      const pkceCodeVerifier = openid.randomPKCECodeVerifier()
      const expectedState = openid.randomState()
      const url = openid.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: 'mcp offline_access',
        resource: server.mcpUrl,
        code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
        code_challenge_method: 'S256',
        state: expectedState,
      })
      const callback = await person.allow(url)
      // It requires iss, because the metadata announces it (RFC 9207 section 2.4).
      const tokens = await openid.authorizationCodeGrant(
        configuration,
        callback,
        { pkceCodeVerifier, expectedState },
        { resource: server.mcpUrl },
      )
      expect(tokens.token_type).toBe('bearer')
      expect(tokens.scope).toBe('mcp offline_access')
      expect(tokens.expiresIn()).toBeGreaterThan(3500)
      expect(await callTool(server, tokens.access_token, 'whoami')).toContain(person.email)

      const refreshed = await openid.refreshTokenGrant(configuration, tokens.refresh_token ?? '')
      expect(refreshed.refresh_token).toBeDefined()
      expect(refreshed.refresh_token).not.toBe(tokens.refresh_token)
      expect(await callTool(server, refreshed.access_token, 'whoami')).toContain(person.email)
    },
  )
})
