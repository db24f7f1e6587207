import { jwtVerify } from 'jose'
import { generateKeyPairSync } from 'node:crypto'
import { expect, it } from 'vitest'
import { createClientAssertion, proveClient } from './client-authentication.ts'
import { createTestRuntime, oauthConfig } from '../../../tests/support/bridge/oauth/oauth-ports.ts'

const keys = {
  rsa: generateKeyPairSync('rsa', { modulusLength: 2048 }),
  p256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  ed25519: generateKeyPairSync('ed25519'),
}

const subject = { clientId: 'bridge', audience: 'https://as.example' }

it.each<[algorithm: string, key: keyof typeof keys]>([
  ['RS256', 'rsa'],
  ['ES256', 'p256'],
  ['EdDSA', 'ed25519'],
])('an assertion with %s is accepted by another library', async (algorithm, name) => {
  const { privateKey, publicKey } = keys[name]
  const assertion = await createClientAssertion(subject, { key: privateKey, algorithm }, createTestRuntime())
  const { payload } = await jwtVerify(assertion, publicKey, {
    issuer: 'bridge',
    subject: 'bridge',
    audience: 'https://as.example',
    algorithms: [algorithm],
  })
  expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(120)
})

it('each assertion is unique', async () => {
  const key = { key: keys.ed25519.privateKey, algorithm: 'EdDSA' }
  const runtime = createTestRuntime()
  const [first, second] = [1, 2].map(() => createClientAssertion(subject, key, runtime))
  expect(await first).not.toBe(await second)
})

it('a client that authenticates with a private key is refused without one', async () => {
  const client = { clientId: 'bridge', tokenEndpointAuthMethod: 'private_key_jwt', origin: 'static' } as const
  const ports = { config: oauthConfig('https://mcp.example/mcp'), runtime: createTestRuntime() }
  await expect(proveClient(client, 'https://as.example', ports)).rejects.toMatchObject({
    name: 'OAuthFailure',
    fault: 'client_refused',
    issuer: 'https://as.example',
  })
})
