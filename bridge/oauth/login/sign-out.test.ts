import { describe, expect, it } from 'vitest'
import type { ClientIdentity, Credential } from '../../credentials/credential.ts'
import { revokeTokens } from './sign-out.ts'
import { createTestRuntime, oauthConfig } from '../../../tests/support/bridge/oauth/oauth-ports.ts'
import {
  loginAt,
  openOAuthServer,
  startOAuthServer,
} from '../../../tests/support/bridge/oauth/oauth-server.ts'

const { server, http } = await openOAuthServer()

function credentialOf(client: Partial<ClientIdentity> = {}): Credential {
  const tokens = { accessToken: 'acc3ss', refreshToken: 'r3fresh', issuedAt: 0 }
  return loginAt(server, client, { tokens })
}

function signOut(credential: Credential): Promise<boolean | undefined> {
  return revokeTokens(credential, oauthConfig(server.serverUrl), { http, runtime: createTestRuntime() })
}

const asked = (): string[] => server.seen.map(({ method, path }) => `${method} ${path}`)

describe('revocation', () => {
  it('nothing is revoked at a server without revocation', async () => {
    const { revocationEndpoint: _none, ...credential } = credentialOf()
    expect(await signOut(credential)).toBeUndefined()
    expect(asked()).toEqual([])
  })

  it.each<[name: string, isRefused: (hint: string | null) => boolean, isRevoked: boolean]>([
    ['the access token', (hint) => hint === 'access_token', true],
    ['the refresh token', (hint) => hint === 'refresh_token', false],
    ['either token', () => true, false],
  ])(
    'a sign-out counts by its refresh token when the server does not revoke %s',
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

  it('nothing is revoked without tokens, or at a server that is down', async () => {
    const { tokens: _none, ...empty } = credentialOf({ origin: 'static' })
    expect(await signOut(empty)).toBeUndefined()
    expect(asked()).toEqual([])
    const nowhere = 'http://127.0.0.1:9'
    const gone = { tokenEndpoint: `${nowhere}/token`, revocationEndpoint: `${nowhere}/revoke` }
    expect(await signOut({ ...credentialOf(), ...gone })).toBe(false)
  })
})

it('tokens are revoked only at the host that issued them', async () => {
  const elsewhere = await startOAuthServer()
  const credential = { ...credentialOf(), revocationEndpoint: `${elsewhere.origin}/revoke` }
  expect(await signOut(credential)).toBeUndefined()
  expect([...asked(), ...elsewhere.paths()]).toEqual([])
  await elsewhere.close()
})
