import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { keySample } from '../support/server/key-sample.ts'
import { allowDevice } from './device.ts'
import { expectAllConnected } from './attempt-facts.ts'
import { createPerson, type Person } from './person.ts'
import { callTool, redirectUri, statusOfCall } from './plain-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'
const secret = `${randomBytes(24).toString('base64')} with +/=:% in it`

let server: ServerProcess
let person: Person
/** A configured client, and two resource servers that may introspect all tokens. */
let television: openid.Configuration
let asking: Record<'by secret' | 'by key', openid.Configuration>

const file = join(temporaryFolder(afterAll), 'clients.json')

beforeAll(async () => {
  const key = await keySample('api')
  const clients = [
    { client_id: 'television', client_name: 'Television', grant_types: [deviceGrant, 'refresh_token'] },
    { client_id: 'notes:api', introspects: true, client_secret: secret },
    {
      client_id: 'orders-api',
      introspects: true,
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: { keys: [key.published] },
    },
  ]
  writeFileSync(file, JSON.stringify(clients), { mode: 0o600 })
  server = await startServer({ CLIENTS: file, SIGN_IN_LIMIT: '1000' })
  server.secrets.note('client_secret', secret)
  person = await createPerson(server)
  const discover = (id: string, authentication: openid.ClientAuth): Promise<openid.Configuration> =>
    openid.discovery(new URL(server.baseUrl), id, undefined, authentication, options())
  television = await discover('television', openid.None())
  asking = {
    'by secret': await discover('notes:api', openid.ClientSecretBasic(secret)),
    'by key': await discover('orders-api', openid.PrivateKeyJwt({ key: key.privateKey, kid: key.kid })),
  }
})
afterAll(() => server?.close())

function options(): openid.DynamicClientRegistrationRequestOptions {
  return {
    algorithm: 'oauth2',
    execute: [openid.allowInsecureRequests],
    // It sends text; its type allows more than fetch does.
    [openid.customFetch]: (url, init) => server.fetch(url, init as RequestInit),
  }
}

async function signIn(): Promise<openid.TokenEndpointResponse> {
  const device = await openid.initiateDeviceAuthorization(television, {
    scope: 'mcp offline_access',
    resource: server.mcpUrl,
  })
  await allowDevice(person, device)
  // An already approved device may poll at once.
  return openid.pollDeviceAuthorizationGrant(television, { ...device, interval: 0.01 })
}

describe('openid-client, registering itself', () => {
  it.each([
    ['none', openid.None],
    ['client_secret_post', openid.ClientSecretPost],
    ['client_secret_basic', openid.ClientSecretBasic],
  ] as const)(
    'Spec 9, MCP auth Overview, RFC 9700 4.4.2.1, RFC 9207 2.4: registers with %s and goes the whole way, every check on',
    async (method, authenticate) => {
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

describe('openid-client with clients of the operator', () => {
  it('openid-client polls at the interval it is given until a person allows the device (RFC 8628)', async () => {
    const device = await openid.initiateDeviceAuthorization(television, { resource: server.mcpUrl })
    expect(device).toMatchObject({ interval: 5, verification_uri: `${server.baseUrl}/oauth/device` })
    const polling = openid.pollDeviceAuthorizationGrant(
      television,
      device,
      { resource: server.mcpUrl },
      {
        signal: AbortSignal.timeout(25_000),
      },
    )
    expect(await allowDevice(person, device)).toContain('Your device can connect now')
    const tokens = await polling
    expect(await callTool(server, tokens.access_token, 'whoami')).toBe(`You are ${person.email}.`)
    const refreshed = await openid.refreshTokenGrant(television, tokens.refresh_token ?? '')
    expect(await callTool(server, refreshed.access_token, 'whoami')).toContain(person.email)
    await expectAllConnected(server, 4)
  })

  it.each(['by secret', 'by key'] as const)(
    'a resource server that authenticates %s introspects a token (RFC 7662)',
    async (how) => {
      const tokens = await signIn()
      const answer = await openid.tokenIntrospection(asking[how], tokens.access_token)
      expect(answer).toMatchObject({
        active: true,
        client_id: 'television',
        username: person.email,
        scope: 'mcp offline_access',
        token_type: 'Bearer',
        aud: server.mcpUrl,
        iss: server.baseUrl,
      })
      expect((answer.exp ?? 0) - (answer.iat ?? 0)).toBe(3600)
      expect(await openid.tokenIntrospection(asking[how], 'mcpa_unknown')).toEqual({ active: false })
    },
  )

  it('a revoked access token ends alone, and a revoked refresh token with its connection (RFC 7009)', async () => {
    const tokens = await signIn()
    await openid.tokenRevocation(television, tokens.access_token, { token_type_hint: 'refresh_token' })
    expect(await openid.tokenIntrospection(asking['by key'], tokens.access_token)).toEqual({ active: false })
    expect(await statusOfCall(server, tokens.access_token)).toBe(401)
    const refreshed = await openid.refreshTokenGrant(television, tokens.refresh_token ?? '')

    await openid.tokenRevocation(television, refreshed.refresh_token ?? '')
    for (const token of [refreshed.access_token, refreshed.refresh_token ?? '']) {
      expect(await openid.tokenIntrospection(asking['by secret'], token)).toEqual({ active: false })
    }
    await expect(openid.refreshTokenGrant(television, refreshed.refresh_token ?? '')).rejects.toMatchObject({
      error: 'invalid_grant',
    })
    // Revoking an invalid token is not an error.
    await openid.tokenRevocation(television, refreshed.refresh_token ?? '')
  })
})
