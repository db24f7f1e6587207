import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { ClientIdentity, Credential } from '../../credentials/credential.ts'
import type { HttpClient } from '../../http/http-client.ts'
import { giveBack } from './sign-out.ts'
import {
  createTestHttp,
  createTestRuntime,
  oauthConfig,
} from '../../../tests/support/bridge/oauth/oauth-ports.ts'
import {
  type OAuthServer,
  type Reply,
  startOAuthServer,
} from '../../../tests/support/bridge/oauth/oauth-server.ts'

let server: OAuthServer
let http: HttpClient
beforeAll(async () => {
  server = await startOAuthServer()
  http = createTestHttp()
})
beforeEach(() => {
  server.seen.length = 0
  server.answers.clear()
  server.answers.set('/register/id', () => ({ status: 204 }))
})
afterAll(async () => {
  http.close()
  await server.close()
})

function credentialOf(client: Partial<ClientIdentity> = {}): Credential {
  return {
    generation: 1,
    serverUrl: server.serverUrl,
    profile: 'default',
    issuer: server.issuer,
    tokenEndpoint: `${server.origin}/token`,
    revocationEndpoint: `${server.origin}/revoke`,
    client: {
      clientId: 'id',
      tokenEndpointAuthMethod: 'none',
      origin: 'dynamic',
      registrationClientUri: `${server.origin}/register/id`,
      registrationAccessToken: 'manage',
      ...client,
    },
    tokens: { accessToken: 'acc3ss', refreshToken: 'r3fresh', issuedAt: 0 },
    signedInAt: 0,
  }
}

function signOut(credential: Credential): Promise<boolean | undefined> {
  return giveBack(credential, oauthConfig(server.serverUrl), { http, runtime: createTestRuntime() })
}

const asked = (): string[] => server.seen.map(({ method, path }) => `${method} ${path}`)

describe('what is given back', () => {
  it('the tokens first, and then the registration, by its own token', async () => {
    expect(await signOut(credentialOf())).toBe(true)
    expect(asked()).toEqual(['POST /revoke', 'POST /revoke', 'DELETE /register/id'])
    const [removal] = server.requests('/register/id')
    expect(removal?.headers.authorization).toBe('Bearer manage')
    expect(removal?.text).toBe('')
  })

  it('the registration also where tokens cannot be revoked', async () => {
    const { revocationEndpoint: _none, ...credential } = credentialOf()
    expect(await signOut(credential)).toBeUndefined()
    expect(asked()).toEqual(['DELETE /register/id'])
  })

  it.each<[name: string, client: Partial<ClientIdentity>]>([
    ['a configured client', { origin: 'static' }],
    ['a document', { origin: 'metadata_document' }],
    ['plain http elsewhere', { registrationClientUri: 'http://as.example/register/id' }],
    ['what is no web address', { registrationClientUri: 'file:///register/id' }],
  ])('no registration of %s', async (_name, client) => {
    expect(await signOut(credentialOf(client))).toBe(true)
    expect(asked()).toEqual(['POST /revoke', 'POST /revoke'])
  })
})

describe('a registration that cannot be removed', () => {
  it.each<[name: string, Reply]>([
    ['refused', { status: 401, body: { error: 'invalid_token' } }],
    ['not there any more', { status: 404, body: 'no' }],
    ['sent elsewhere', { status: 307, headers: { location: '/revoke' } }],
    ['broken', { status: 500 }],
    ['cut', { isCut: true }],
  ])('does not matter: %s', async (_name, reply) => {
    server.answers.set('/register/id', () => reply)
    expect(await signOut(credentialOf())).toBe(true)
    // Of a kept connection that ends nobody knows whether it was used: the request is sent again.
    expect(asked().slice(0, 3)).toEqual(['POST /revoke', 'POST /revoke', 'DELETE /register/id'])
  })
})
