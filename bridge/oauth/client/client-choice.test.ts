import { generateKeyPairSync } from 'node:crypto'
import { expect, it } from 'vitest'
import type { ClientIdentity, Credential } from '../../credentials/credential.ts'
import { type ChosenClient, chooseClient } from './client-choice.ts'
import type { OAuthConfig, StaticClient } from '../oauth-config.ts'
import { oauthContext } from '../../../tests/support/bridge/oauth/oauth-ports.ts'
import { loginAt, openOAuthServer } from '../../../tests/support/bridge/oauth/oauth-server.ts'

const { server, http } = await openOAuthServer()

const redirectUri = 'http://127.0.0.1:4711/oauth/callback'
const documentUrl = 'https://client.example/drawbridge.json'
const configured: StaticClient = { clientId: 'configured' }

interface ChoiceOptions {
  metadata?: object
  previous?: Credential
  redirectUri?: string | undefined
  scope?: string
  resourceScopes?: string[]
}

function choose(changes: Partial<OAuthConfig> = {}, options: ChoiceOptions = {}): Promise<ChosenClient> {
  const need = {
    server: {
      metadata: {
        issuer: server.issuer,
        token_endpoint: `${server.origin}/token`,
        registration_endpoint: `${server.origin}/register`,
        ...options.metadata,
      },
      resource: undefined,
      resourceScopes: options.resourceScopes,
      isAssumed: false,
      askedFor: server.issuer,
    },
    previous: options.previous,
    redirectUri: 'redirectUri' in options ? options.redirectUri : redirectUri,
    scope: options.scope,
  }
  return chooseClient(need, oauthContext(http, server.serverUrl, changes))
}

function before(client: Partial<ClientIdentity> = {}, changes: Partial<Credential> = {}): Credential {
  const redirectUris = ['http://127.0.0.1:48123/oauth/callback']
  return loginAt(server, { redirectUris, ...client }, changes)
}

const takesDocuments = { client_id_metadata_document_supported: true }
const registrations = (): number => server.requests('/register').length

it('the configured client comes first', async () => {
  const chosen = await choose(
    { staticClient: configured, clientMetadataUrl: documentUrl },
    { metadata: takesDocuments, previous: before() },
  )
  expect(chosen).toEqual({
    client: { clientId: 'configured', tokenEndpointAuthMethod: 'none', origin: 'static' },
    replace: undefined,
  })
})

it('the client document comes second, if the server accepts one', async () => {
  const options = { metadata: takesDocuments, previous: before() }
  const chosen = await choose({ clientMetadataUrl: documentUrl }, options)
  expect(chosen.client).toEqual({
    clientId: documentUrl,
    tokenEndpointAuthMethod: 'none',
    origin: 'metadata_document',
  })
  expect(registrations()).toBe(0)
  const clientId = expect.stringMatching(/^client-/) as string
  expect(await chosen.replace?.()).toMatchObject({ clientId, origin: 'dynamic' })
})

it('a document that this issuer has refused is not tried again; another one is, or at another issuer', async () => {
  const refused = before({}, { quirks: { refusesDocument: documentUrl } })
  const idOf = async (url: string, previous: Credential): Promise<string> =>
    (await choose({ clientMetadataUrl: url }, { metadata: takesDocuments, previous })).client.clientId
  expect(await idOf(documentUrl, refused)).toBe('before')
  expect(await idOf(`${documentUrl}?2`, refused)).toBe(`${documentUrl}?2`)
  expect(await idOf(documentUrl, { ...refused, issuer: 'https://other.example' })).toBe(documentUrl)
})

it('a refused document is the only choice without registration', async () => {
  const metadata = { ...takesDocuments, registration_endpoint: undefined }
  const previous = before({}, { quirks: { refusesDocument: documentUrl } })
  const { client, replace } = await choose({ clientMetadataUrl: documentUrl }, { metadata, previous })
  expect(client.clientId).toBe(documentUrl)
  expect(replace).toBeUndefined()
})

it('the earlier registration comes third, and can be replaced', async () => {
  const { client, replace } = await choose({ clientMetadataUrl: documentUrl }, { previous: before() })
  expect(client.clientId).toBe('before')
  expect(registrations()).toBe(0)
  expect(await replace?.()).toMatchObject({ origin: 'dynamic' })
  expect(registrations()).toBe(1)
})

it('a new registration comes last', async () => {
  const { client, replace } = await choose()
  expect(client.clientId).toMatch(/^client-/)
  expect(replace).toBeUndefined()
})

it.each<[name: string, Partial<ClientIdentity>, Partial<Credential>]>([
  ['another issuer', {}, { issuer: 'https://other.example' }],
  ['another token endpoint', {}, { tokenEndpoint: 'https://other.example/token' }],
  ['a configured client', { origin: 'static' }, {}],
  ['a document', { origin: 'metadata_document' }, {}],
  ['one that was refused', {}, { signInNeeded: 'invalid_client' }],
  ['one that may not do this', {}, { signInNeeded: 'unauthorized_client' }],
  ['one whose secret has ended', { secretExpiresAt: 1 }, {}],
  ['another path to come back to', { redirectUris: ['http://127.0.0.1:4711/callback'] }, {}],
  ['another host to come back to', { redirectUris: ['http://localhost:4711/oauth/callback'] }, {}],
  ['a device', { redirectUris: [] }, {}],
])('the earlier registration is not reused: %s', async (_name, client, changes) => {
  const chosen = await choose({}, { previous: before(client, changes) })
  expect(chosen.client.clientId).toMatch(/^client-/)
  expect(chosen.replace).toBeUndefined()
})

it('the device grant does not use a registration for browsers', async () => {
  const chosen = await choose({ grant: 'device_code' }, { previous: before(), redirectUri: undefined })
  expect(chosen.client.clientId).toMatch(/^client-/)
})

it('a registration may ask later for what the resource has, unless the user says which scopes', async () => {
  const scopes = { scope: 'read', resourceScopes: ['read', 'write'] }
  await choose({}, scopes)
  await choose({ scope: 'read' }, scopes)
  await choose({}, { resourceScopes: ['write'] })
  const sent = server.requests('/register').map(({ text }) => (JSON.parse(text) as { scope?: string }).scope)
  expect(sent).toEqual(['read write', 'read', undefined])
})

it('without any client the error names the flags that help', async () => {
  const metadata = { registration_endpoint: undefined, ...takesDocuments }
  const chosen = choose({}, { metadata })
  await expect(chosen).rejects.toMatchObject({ fault: 'no_registration' })
  await expect(chosen).rejects.toThrow(/--static-oauth-client-info, .*--client-metadata-url/)
})

it('a configured client that was used at another issuer is not taken to a new one', async () => {
  const previous = before({ origin: 'static', clientId: 'configured' }, { issuer: 'https://old.example' })
  const chosen = choose({ staticClient: configured }, { previous })
  await expect(chosen).rejects.toMatchObject({ fault: 'issuer_changed', issuer: server.issuer })
  await expect(chosen).rejects.toThrow(/"https:\/\/old\.example"/)
})

it('a configured client whose issuer is configured goes there and nowhere else, wherever it was before', async () => {
  const previous = before({ origin: 'static', clientId: 'configured' }, { issuer: 'https://old.example' })
  const here = { ...configured, issuer: server.issuer }
  expect((await choose({ staticClient: here }, { previous })).client.clientId).toBe('configured')
  const elsewhere = { ...configured, issuer: 'https://own.example' }
  for (const known of [undefined, before({ origin: 'static', clientId: 'configured' })]) {
    const chosen = choose({ staticClient: elsewhere }, known === undefined ? {} : { previous: known })
    await expect(chosen).rejects.toThrow(/belongs to "https:\/\/own\.example"/)
  }
})

it.each<[configured: string, stored: string]>([
  ['', ''],
  ['/', '/'],
])(
  'the final slash of an origin does not move a client: configured "%s", stored "%s"',
  async (own, stored) => {
    const staticClient = { ...configured, issuer: `${server.issuer}${own}` }
    expect((await choose({ staticClient })).client.clientId).toBe('configured')
    const before = (client: Partial<ClientIdentity>): Credential =>
      loginAt(server, client, { issuer: `${server.issuer}${stored}` })
    const known = before({ origin: 'static', clientId: 'configured' })
    expect((await choose({ staticClient: configured }, { previous: known })).client.clientId).toBe(
      'configured',
    )
    const redirectUris = ['http://127.0.0.1:48123/oauth/callback']
    expect((await choose({}, { previous: before({ redirectUris }) })).client.clientId).toBe('before')
  },
)

it('a new configured client is used at any issuer', async () => {
  const previous = before({ origin: 'static', clientId: 'old' }, { issuer: 'https://old.example' })
  const { client } = await choose({ staticClient: configured }, { previous })
  expect(client.clientId).toBe('configured')
})

const key = { key: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey, algorithm: 'ES256' }
it.each<[client: Partial<StaticClient>, hasKey: boolean, listed: string[] | undefined, method: string]>([
  [{}, false, undefined, 'none'],
  [{ clientSecret: 's' }, false, undefined, 'client_secret_basic'],
  [{ clientSecret: 's' }, false, ['client_secret_post'], 'client_secret_post'],
  [{ clientSecret: 's' }, false, ['client_secret_post', 'client_secret_basic'], 'client_secret_basic'],
  [{ clientSecret: 's' }, false, ['private_key_jwt'], 'client_secret_basic'],
  [
    { clientSecret: 's', tokenEndpointAuthMethod: 'client_secret_post' },
    false,
    ['client_secret_basic'],
    'client_secret_post',
  ],
  [{ clientSecret: 's', tokenEndpointAuthMethod: 'none' }, false, undefined, 'none'],
  [{ tokenEndpointAuthMethod: 'client_secret_basic' }, false, undefined, 'none'],
  [{}, true, undefined, 'private_key_jwt'],
  [{ clientSecret: 's' }, true, ['client_secret_basic'], 'client_secret_basic'],
  [{ clientSecret: 's' }, true, ['client_secret_basic', 'private_key_jwt'], 'private_key_jwt'],
])(
  'the client %j with a key: %s, where %j is supported, has the method %s',
  async (client, hasKey, listed, method) => {
    const changes = { staticClient: { ...configured, ...client }, privateKey: hasKey ? key : undefined }
    const metadata = listed === undefined ? {} : { token_endpoint_auth_methods_supported: listed }
    expect((await choose(changes, { metadata })).client.tokenEndpointAuthMethod).toBe(method)
  },
)
