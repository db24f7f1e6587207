import { beforeEach, describe, expect, it } from 'vitest'
import type { ClientIdentity, Credential } from '../../credentials/credential.ts'
import { giveBack } from './sign-out.ts'
import { createTestRuntime, oauthConfig } from '../../../tests/support/bridge/oauth/oauth-ports.ts'
import {
  type Reply,
  loginAt,
  openOAuthServer,
  startOAuthServer,
} from '../../../tests/support/bridge/oauth/oauth-server.ts'

const { server, http } = await openOAuthServer()
beforeEach(() => void server.answers.set('/register/id', () => ({ status: 204 })))

function credentialOf(client: Partial<ClientIdentity> = {}): Credential {
  const registrationClientUri = `${server.origin}/register/id`
  const tokens = { accessToken: 'acc3ss', refreshToken: 'r3fresh', issuedAt: 0 }
  return loginAt(server, { registrationClientUri, registrationAccessToken: 'manage', ...client }, { tokens })
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

  it.each<[name: string, isRefused: (hint: string | null) => boolean, isRevoked: boolean]>([
    ['the access token', (hint) => hint === 'access_token', true],
    ['the refresh token', (hint) => hint === 'refresh_token', false],
    ['either token', () => true, false],
  ])(
    'counts by its refresh token, when the server does not revoke %s',
    async (_name, isRefused, isRevoked) => {
      server.answers.set('/revoke', ({ form }) => ({
        status: isRefused(form.get('token_type_hint')) ? 503 : 200,
      }))
      expect(await signOut(credentialOf())).toBe(isRevoked)
      expect(server.requests('/revoke').map(({ form }) => Object.fromEntries(form))).toEqual([
        { token: 'r3fresh', token_type_hint: 'refresh_token', client_id: 'before' },
        { token: 'acc3ss', token_type_hint: 'access_token', client_id: 'before' },
      ])
    },
  )

  it('nothing without tokens, and no token to a server that is gone', async () => {
    const { tokens: _none, ...empty } = credentialOf({ origin: 'static' })
    expect(await signOut(empty)).toBeUndefined()
    expect(asked()).toEqual([])
    const nowhere = 'http://127.0.0.1:9'
    const gone = { tokenEndpoint: `${nowhere}/token`, revocationEndpoint: `${nowhere}/revoke` }
    expect(await signOut({ ...credentialOf(), ...gone })).toBe(false)
  })

  it.each<[name: string, client: Partial<ClientIdentity>]>([
    ['a configured client', { origin: 'static' }],
    ['a document', { origin: 'metadata_document' }],
    ['not a web address', { registrationClientUri: 'file:///register/id' }],
  ])('no registration of %s', async (_name, client) => {
    expect(await signOut(credentialOf(client))).toBe(true)
    expect(asked()).toEqual(['POST /revoke', 'POST /revoke'])
  })
})

it('sends requests only to the host that issued the tokens', async () => {
  const elsewhere = await startOAuthServer()
  const management = { registrationClientUri: `${elsewhere.origin}/api/users/1` }
  const credential = { ...credentialOf(management), revocationEndpoint: `${elsewhere.origin}/revoke` }
  expect(await signOut(credential)).toBeUndefined()
  expect([...asked(), ...elsewhere.paths()]).toEqual([])
  await elsewhere.close()
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
    // Whether a closing kept connection was used is unknown, so the request is sent again.
    expect(asked().slice(0, 3)).toEqual(['POST /revoke', 'POST /revoke', 'DELETE /register/id'])
  })
})
