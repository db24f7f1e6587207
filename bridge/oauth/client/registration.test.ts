import { describe, expect, it } from 'vitest'
import type { ClientIdentity } from '../../credentials/credential.ts'
import { register, type RegistrationRequest } from './registration.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import { oauthContext } from '../../../tests/support/bridge/oauth/oauth-ports.ts'
import { type Reply, openOAuthServer } from '../../../tests/support/bridge/oauth/oauth-server.ts'

const { server, http } = await openOAuthServer()

const redirectUri = 'http://127.0.0.1:4711/oauth/callback'

function ask(
  changes: Partial<RegistrationRequest> = {},
  config: Partial<OAuthConfig> = {},
): Promise<ClientIdentity> {
  const request: RegistrationRequest = {
    endpoint: `${server.origin}/register`,
    metadata: { issuer: server.issuer },
    grant: 'authorization_code',
    redirectUri,
    scope: undefined,
    isAssumed: false,
    ...changes,
  }
  return register(request, oauthContext(http, server.serverUrl, config))
}

function answer(reply: Reply): void {
  server.answers.set('/register', () => reply)
}

const supporting = (listed: string[] | undefined): RegistrationRequest['metadata'] => ({
  issuer: server.issuer,
  ...(listed === undefined ? {} : { token_endpoint_auth_methods_supported: listed }),
})

const sent = (): unknown => JSON.parse(server.seen[0]?.text ?? '')

describe('the metadata of a registration', () => {
  it('a registration is of a native client for the authorization code grant', async () => {
    await ask({ scope: 'mcp offline_access' })
    expect(sent()).toEqual({
      client_name: 'Drawbridge bridge on tower',
      application_type: 'native',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: 'none',
      scope: 'mcp offline_access',
    })
  })

  it('a registration for devices has no redirect URI', async () => {
    const client = await ask({ grant: 'device_code', redirectUri: undefined })
    expect(sent()).toEqual({
      client_name: 'Drawbridge bridge on tower',
      application_type: 'native',
      grant_types: ['urn:ietf:params:oauth:grant-type:device_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
    })
    expect(client.redirectUris).toBeUndefined()
  })

  it('a registration for devices has localhost if the server requires a redirect URI', async () => {
    server.answers.set('/register', ({ text }) =>
      text.includes('http://localhost/')
        ? undefined
        : { status: 400, body: { error: 'invalid_redirect_uri' } },
    )
    await ask({ grant: 'device_code', redirectUri: undefined })
    expect(server.requests('/register')).toHaveLength(3)
  })

  it.each(['invalid_redirect_uri', 'invalid_client_metadata'])(
    'a native client for devices with a redirect URI, where registration requires one: %s',
    async (error) => {
      server.answers.set('/register', ({ text }) =>
        'redirect_uris' in (JSON.parse(text) as object) ? undefined : { status: 400, body: { error } },
      )
      const client = await ask({ grant: 'device_code', redirectUri: undefined })
      const second = JSON.parse(server.seen[1]?.text ?? '') as object
      expect(second).toMatchObject({ redirect_uris: ['http://127.0.0.1/oauth/callback'] })
      expect(second).not.toHaveProperty('response_types')
      // Otherwise it would look like a client for browsers.
      expect(client.redirectUris).toBeUndefined()
    },
  )

  it('a registration has the metadata that the user configured', async () => {
    await ask({}, { clientMetadata: { client_name: 'Mine', scope: 'x' } })
    expect(sent()).toMatchObject({ client_name: 'Mine', scope: 'x', application_type: 'native' })
  })

  it.each([
    [undefined, 'none'],
    [['none', 'client_secret_basic'], 'none'],
    [['client_secret_basic', 'client_secret_post'], 'client_secret_post'],
    [['client_secret_basic'], 'client_secret_basic'],
    [['client_secret_post'], 'client_secret_post'],
    [['private_key_jwt'], 'none'],
  ])('a registration at a server that supports %j has the method %s', async (listed, method) => {
    await ask({ metadata: supporting(listed) })
    expect(sent()).toMatchObject({ token_endpoint_auth_method: method })
  })
})

describe('the client authentication of a registration', () => {
  it.each<
    [said: string | undefined, secret: string | undefined, listed: string[] | undefined, method: string]
  >([
    ['none', undefined, undefined, 'none'],
    ['none', 's', undefined, 'none'],
    ['client_secret_basic', 's', undefined, 'client_secret_basic'],
    ['client_secret_post', 's', ['none'], 'client_secret_post'],
    ['client_secret_post', undefined, undefined, 'none'],
    [undefined, undefined, ['client_secret_basic'], 'none'],
    [undefined, 's', ['client_secret_post'], 'client_secret_post'],
    [undefined, 's', ['none', 'client_secret_post'], 'none'],
    [undefined, 's', undefined, 'client_secret_basic'],
    ['', 's', ['client_secret_post', 'private_key_jwt'], 'client_secret_post'],
    [undefined, 's', ['client_secret_basic', 'client_secret_post'], 'client_secret_post'],
  ])(
    'a registration answered with the method %s, secret %s, supported %j uses the method %s',
    async (said, secret, listed, method) => {
      answer({
        status: 201,
        body: { client_id: 'id', client_secret: secret, token_endpoint_auth_method: said },
      })
      const client = await ask({ metadata: supporting(listed) })
      expect(client.tokenEndpointAuthMethod).toBe(method)
      expect(client.clientSecret).toBe(secret)
    },
  )

  it('a registration keeps the end of its secret, and no management token', async () => {
    answer({
      body: {
        client_id: 'id',
        client_secret: 's',
        client_secret_expires_at: 99,
        registration_client_uri: 'https://as.example/r/id',
        registration_access_token: 't',
      },
    })
    expect(await ask()).toEqual({
      clientId: 'id',
      clientSecret: 's',
      tokenEndpointAuthMethod: 'client_secret_basic',
      origin: 'dynamic',
      secretExpiresAt: 99,
      redirectUris: [redirectUri],
    })
  })

  it('a secret that expires at 0 never expires', async () => {
    answer({ body: { client_id: 'id', client_secret: 's', client_secret_expires_at: 0 } })
    expect(await ask()).toHaveProperty('secretExpiresAt', undefined)
  })
})

describe('a registration that does not work', () => {
  const invalid = { error: 'invalid_redirect_uri', error_description: 'No "loopback" here\n' }
  it.each<[name: string, Reply, Partial<RegistrationRequest>, fault: string, message: RegExp]>([
    [
      'refused for its redirect URI',
      { status: 400, body: invalid },
      {},
      'redirect_refused',
      /invalid_redirect_uri: "No \\"loopback\\" here\\n"/,
    ],
    [
      'refused for its redirect URI in the words of a validator',
      { status: 422, body: { detail: [{ loc: ['body', 'redirect_uris', 0], msg: 'Value error' }] } },
      {},
      'redirect_refused',
      /status 422/,
    ],
    [
      'refused for its scope',
      { status: 400, body: { error: 'invalid_client_metadata', error_description: 'scope' } },
      {},
      'registration_refused',
      /invalid_client_metadata/,
    ],
    ['refused by a page', { status: 403, body: '<p>no</p>' }, {}, 'blocked', /web page .*HTTP 403/],
    ['refused otherwise', { status: 403, body: {} }, {}, 'registration_refused', /status 403/],
    [
      'no client_id',
      { status: 201, body: { client_id: 7 } },
      {},
      'registration_refused',
      /without a client_id/,
    ],
    ['no JSON', { status: 201, body: '<p>ok</p>' }, {}, 'registration_refused', /without a client_id/],
    ['too many', { status: 429, headers: { 'retry-after': '5' } }, {}, 'unavailable', /429/],
    ['ill', { status: 500, body: invalid }, {}, 'unavailable', /500/],
    ['no endpoint', { status: 404, body: '' }, { isAssumed: true }, 'no_metadata', /no OAuth metadata/],
    ['401 everywhere', { status: 401, body: '' }, { isAssumed: true }, 'no_metadata', /no OAuth/],
    [
      'refused where it was guessed',
      { status: 400, body: invalid },
      { isAssumed: true },
      'redirect_refused',
      /loopback/,
    ],
  ])('a failed registration is reported: %s', async (_name, reply, changes, fault, message) => {
    answer(reply)
    const failed = ask(changes)
    await expect(failed).rejects.toMatchObject({ name: 'OAuthFailure', fault, issuer: server.issuer })
    await expect(failed).rejects.toThrow(message)
  })

  it('a failed registration tells how long to wait', async () => {
    answer({ status: 429, headers: { 'retry-after': '5' } })
    await expect(ask()).rejects.toMatchObject({ retryAfterSeconds: 5 })
  })
})
