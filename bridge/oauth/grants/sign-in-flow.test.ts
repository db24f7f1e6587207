import { describe, expect, it } from 'vitest'
import type { Credential } from '../../credentials/credential.ts'
import type { SignInRequest } from '../login-port.ts'
import { type Reply, openOAuthServer } from '../../../tests/support/bridge/oauth/oauth-server.ts'
import { beginTrial, signIn } from '../../../tests/support/bridge/oauth/sign-in-trial.ts'

const { server } = await openOAuthServer()

it('a sign-in at an unknown server requests nothing twice', async () => {
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
  expect(credential.tokens?.accessToken).toMatch(/^remote-secret-at-/)
})

describe('a resource above the server', () => {
  const resource = (origin: string): Record<string, unknown> => ({ resource: origin })

  it('a resource above the server is named with the setting that resolves it', async () => {
    server.places = { resource }
    const { credential, lines } = await signIn(server.serverUrl)
    expect(credential.resource).toBe(server.origin)
    expect(lines).toEqual([
      `The login will be valid for all of "${server.origin}", not only for ${server.serverUrl}. Set --resource to the intended one.`,
    ])
  })

  it.each<[how: string, changes: (origin: string) => object]>([
    ['is the one of the configuration', (origin) => ({ resource: origin })],
    ['is not the one of the configuration', (origin) => ({ resource: `${origin}/mcp` })],
    ['is not sent', () => ({ sendResource: false })],
  ])('a resource above the server is not mentioned when it %s', async (_how, changes) => {
    server.places = { resource }
    const { lines } = await signIn(server.serverUrl, changes(server.origin))
    expect(lines).toEqual([])
  })

  it('the server itself does not count as a resource above it, with or without a slash', async () => {
    server.places = { resource: (origin) => ({ resource: `${origin}/mcp/` }) }
    expect((await signIn(server.serverUrl)).lines).toEqual([])
  })
})

describe('a login that does not do', () => {
  const scope = 'notes:read'

  it.each<
    [why: string, changes: Partial<Credential>, request: SignInRequest, line: (issuer: string) => string]
  >([
    [
      'has ended',
      { signInNeeded: 'invalid_grant' },
      {},
      (issuer) => `The stored login has ended: ${issuer} answered invalid_grant.`,
    ],
    [
      'has too few scopes',
      { tokens: { accessToken: 'a', issuedAt: 1, scope } },
      { challengeScope: `${scope} notes:write` },
      () => 'The stored login lacks what the server requires: "notes:write".',
    ],
    [
      'has a token of the past',
      { tokens: { accessToken: 'a', issuedAt: 1, expiresAt: 2, scope } },
      { challengeScope: scope },
      () => 'The token of the stored login has expired.',
    ],
    [
      'is refused',
      { tokens: { accessToken: 'a', issuedAt: 1, scope } },
      { challengeScope: scope },
      () => 'The server refused the token of the stored login.',
    ],
  ])('a stored login that %s is named before the next sign-in', async (_why, changes, request, line) => {
    const { credential } = await signIn(server.serverUrl)
    const previous = { ...credential, ...changes }
    const { lines } = await signIn(server.serverUrl, {}, { ...request, previous })
    expect(lines).toEqual([line(server.issuer)])
  })

  it('a stored login is not named if the user asked to sign in again', async () => {
    const { credential: previous } = await signIn(server.serverUrl)
    expect((await signIn(server.serverUrl, {}, { previous, isForced: true })).lines).toEqual([])
  })
})

describe('a sign-in without a browser', () => {
  const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'
  const prefersDevice = true

  /** The device endpoint answers with `reply`. */
  function withDevices(reply?: Reply): void {
    const body = {
      device_code: 'd',
      user_code: 'ABCD',
      verification_uri: `${server.origin}/device`,
      interval: 1,
    }
    server.metadata = { device_authorization_endpoint: `${server.origin}/device_authorization` }
    server.answers.set('/device_authorization', () => reply ?? { body })
  }

  it('without a browser, the device grant replaces the link by itself', async () => {
    withDevices()
    const trial = beginTrial(server.serverUrl, { prefersDevice })
    expect(await trial.prompt).toMatchObject({ kind: 'device', userCode: 'ABCD' })
    const { client } = await trial.done
    expect(client.redirectUris).toBeUndefined()
    const [registration] = server.requests('/register')
    expect(JSON.parse(registration?.text ?? '')).toMatchObject({
      grant_types: [deviceGrant, 'refresh_token'],
    })
    expect(server.requests('/authorize')).toEqual([])
  })

  it.each<[why: string, metadata: Record<string, unknown>]>([
    ['has none', { device_authorization_endpoint: undefined }],
    ['does not list it', { grant_types_supported: ['authorization_code', 'refresh_token'] }],
    ['has it where it is not safe', { device_authorization_endpoint: 'http://as.example/device' }],
  ])('without a browser, the link is shown when the server %s', async (_why, metadata) => {
    withDevices()
    server.metadata = { ...server.metadata, ...metadata }
    const { prompts } = await signIn(server.serverUrl, { prefersDevice })
    expect(prompts).toEqual([{ kind: 'browser', url: expect.stringContaining('/authorize?') }])
  })

  it('without a browser, the device grant is used if the server lists it', async () => {
    withDevices()
    server.metadata = { ...server.metadata, grant_types_supported: [deviceGrant] }
    const trial = beginTrial(server.serverUrl, { prefersDevice })
    expect((await trial.prompt).kind).toBe('device')
    await trial.done
  })

  it.each<[why: string, reply: Reply]>([
    ['the client may not', { status: 400, body: { error: 'unauthorized_client' } }],
    ['it is not there after all', { status: 404, body: 'no' }],
    ['it is broken', { status: 500 }],
  ])('the link replaces a device grant that does not begin: %s', async (_why, reply) => {
    withDevices(reply)
    const staticClient = { clientId: 'configured' }
    const { prompts, credential } = await signIn(server.serverUrl, { prefersDevice, staticClient })
    expect(prompts).toEqual([{ kind: 'browser', url: expect.stringContaining('client_id=configured') }])
    expect(credential.client.clientId).toBe('configured')
  })

  it('the link does not replace a device grant once its code was shown', async () => {
    withDevices()
    server.answers.set('/token', () => ({ status: 400, body: { error: 'access_denied' } }))
    const trial = beginTrial(server.serverUrl, { prefersDevice })
    await expect(trial.done).rejects.toMatchObject({ fault: 'access_denied' })
    expect(trial.prompts.map(({ kind }) => kind)).toEqual(['device'])
  })

  it('a server with only the device grant can be used, and its refusal is reported', async () => {
    withDevices()
    server.metadata = { ...server.metadata, authorization_endpoint: undefined }
    await beginTrial(server.serverUrl, { prefersDevice }).done
    server.answers.set('/device_authorization', () => ({
      status: 400,
      body: { error: 'unauthorized_client' },
    }))
    const refused = beginTrial(server.serverUrl, { prefersDevice }).done
    await expect(refused).rejects.toMatchObject({ fault: 'client_refused' })
  })

  it('a requested device grant is not replaced by a link', async () => {
    withDevices({ status: 400, body: { error: 'unauthorized_client' } })
    const trial = beginTrial(server.serverUrl, { grant: 'device_code', prefersDevice })
    await expect(trial.done).rejects.toMatchObject({ fault: 'client_refused' })
    expect(server.requests('/authorize')).toEqual([])
  })
})
