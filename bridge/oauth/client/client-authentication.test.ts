import { importSPKI, jwtVerify } from 'jose'
import { generateKeyPairSync, type KeyPairKeyObjectResult } from 'node:crypto'
import { expect, it } from 'vitest'
import { createClientAssertion } from './client-authentication.ts'
import { createTestRuntime } from '../../../tests/support/bridge/oauth/oauth-ports.ts'

interface PemPair {
  publicKey: string
  privateKey: string
}

function pemOf({ publicKey, privateKey }: KeyPairKeyObjectResult): PemPair {
  return {
    publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  }
}

const keys = {
  rsa: pemOf(generateKeyPairSync('rsa', { modulusLength: 2048 })),
  p256: pemOf(generateKeyPairSync('ec', { namedCurve: 'P-256' })),
  ed25519: pemOf(generateKeyPairSync('ed25519')),
}

const subject = { clientId: 'bridge', audience: 'https://as.example' }

it.each<[algorithm: string, key: keyof typeof keys]>([
  ['RS256', 'rsa'],
  ['ES256', 'p256'],
  ['EdDSA', 'ed25519'],
])('an assertion with %s is accepted by another library', async (algorithm, name) => {
  const { privateKey, publicKey } = keys[name]
  const assertion = await createClientAssertion(subject, { pem: privateKey, algorithm }, createTestRuntime())
  const { payload } = await jwtVerify(assertion, await importSPKI(publicKey, algorithm), {
    issuer: 'bridge',
    subject: 'bridge',
    audience: 'https://as.example',
    algorithms: [algorithm],
  })
  expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(120)
})

it('each assertion is unique', async () => {
  const key = { pem: keys.ed25519.privateKey, algorithm: 'EdDSA' }
  const runtime = createTestRuntime()
  const [first, second] = [1, 2].map(() => createClientAssertion(subject, key, runtime))
  expect(await first).not.toBe(await second)
})

it.each<[algorithm: string, pem: string]>([
  ['ES256', keys.rsa.privateKey],
  ['HS256', keys.rsa.privateKey],
  ['none', keys.rsa.privateKey],
  ['RS256', keys.rsa.publicKey],
  ['RS256', 'no PEM'],
])('no assertion is made with %s and another key', async (algorithm, text) => {
  const made = createClientAssertion(subject, { pem: text, algorithm }, createTestRuntime())
  await expect(made).rejects.toMatchObject({ name: 'OAuthFailure', fault: 'client_refused' })
  await expect(made).rejects.not.toThrow(/MII/)
})
