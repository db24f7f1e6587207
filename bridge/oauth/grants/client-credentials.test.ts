import { importSPKI, jwtVerify } from 'jose'
import { generateKeyPairSync } from 'node:crypto'
import { expect, it } from 'vitest'
import type { Credential } from '../../credentials/credential.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import { openOAuthServer } from '../../../tests/support/bridge/oauth/oauth-server.ts'
import { beginTrial } from '../../../tests/support/bridge/oauth/sign-in-trial.ts'

const { server } = await openOAuthServer()

const staticClient = { clientId: 'robot', clientSecret: 's3cret' }

async function signIn(changes: Partial<OAuthConfig> = {}): Promise<Credential> {
  const trial = beginTrial(server.serverUrl, { grant: 'client_credentials', staticClient, ...changes })
  const credential = await trial.done
  expect(trial.prompts).toEqual([])
  return credential
}

it('client credentials send the secret, and keep no refresh token', async () => {
  server.places = { resource: () => ({ scopes_supported: ['mcp'] }) }
  server.metadata = { authorization_endpoint: undefined, code_challenge_methods_supported: undefined }
  const credential = await signIn()
  const { form, headers } = server.requests('/token')[0] ?? {}
  expect(Object.fromEntries(form ?? [])).toEqual({
    grant_type: 'client_credentials',
    client_id: 'robot',
    scope: 'mcp',
    resource: server.serverUrl,
  })
  expect(headers?.authorization).toBe(`Basic ${Buffer.from('robot:s3cret').toString('base64')}`)
  expect(credential.tokens?.accessToken).toMatch(/^remote-secret-at-/)
  expect(credential.tokens).not.toHaveProperty('refreshToken')
  expect(server.requests('/register')).toEqual([])
})

it('client credentials send an assertion for the issuer', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  server.metadata = { token_endpoint_auth_methods_supported: ['private_key_jwt'] }
  await signIn({ staticClient: { clientId: 'robot' }, privateKey: { key: privateKey, algorithm: 'ES256' } })
  const form = server.requests('/token')[0]?.form
  expect(form?.get('client_assertion_type')).toBe('urn:ietf:params:oauth:client-assertion-type:jwt-bearer')
  const spki = publicKey.export({ type: 'spki', format: 'pem' }).toString()
  const key = await importSPKI(spki, 'ES256')
  await jwtVerify(form?.get('client_assertion') ?? '', key, { audience: server.issuer, subject: 'robot' })
})

it('client credentials need a configured client', async () => {
  await expect(signIn({ staticClient: undefined })).rejects.toMatchObject({ fault: 'no_registration' })
  expect(server.requests('/token')).toEqual([])
})

it.each([
  [
    { status: 401, body: { error: 'invalid_client', error_description: 'Not s3cret' } },
    'client_refused',
    '[secret]',
  ],
  [{ status: 400, body: { error: 'invalid_scope' } }, 'scope_refused', 'invalid_scope'],
  [{ status: 503, headers: { 'retry-after': '9' }, body: '' }, 'unavailable', 'status 503'],
])('client credentials report why there are no tokens: %j', async (reply, fault, message) => {
  server.answers.set('/token', () => reply)
  const signedIn = signIn()
  await expect(signedIn).rejects.toMatchObject({ fault })
  await expect(signedIn).rejects.toThrow(message)
})
