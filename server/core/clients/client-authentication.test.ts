import { expect, it } from 'vitest'
import { start } from '../../../tests/support/server/core/grant-sample.ts'
import { publicClient } from '../../../tests/support/server/core/sign-in-sample.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { openMemoryStore } from '../../store/sqlite/sqlite.ts'
import { authenticateClient, type ClientProof } from './client-authentication.ts'
import { hashSecret } from '../seal.ts'

const confidential = publicClient({
  id: 'mcpc_confidential',
  authMethod: 'client_secret_basic',
  secretHash: hashSecret('mcps_secret'),
})
const posting = publicClient({
  id: 'mcpc_posting',
  authMethod: 'client_secret_post',
  secretHash: hashSecret('mcps_secret'),
})
const hashless = publicClient({ id: 'mcpc_hashless', authMethod: 'client_secret_basic' })
const signing = publicClient({ id: 'mcpc_signing', authMethod: 'private_key_jwt' })

async function authenticate(id: string, proof: ClientProof): Promise<string> {
  const store = openMemoryStore()
  for (const client of [publicClient(), confidential, posting, hashless, signing]) {
    await store.addClient(client)
  }
  const client = await authenticateClient(
    { id, proof },
    {
      clients: store,
      store,
      runtime: createFakeRuntime(start),
      issuer: 'https://mcp.example.com',
      tokenEndpoint: 'https://mcp.example.com/oauth/token',
      fetchKeys: () => Promise.reject(new Error('Keys were fetched.')),
    },
  )
  return client.id
}

const none: ClientProof = { kind: 'none' }
const secret = (text: string): ClientProof => ({ kind: 'secret', secret: text })
const assertion: ClientProof = { kind: 'assertion', assertion: 'a.b.c' }

it.each<[rule: string, id: string, proof: ClientProof]>([
  ['the secret', confidential.id, secret('mcps_secret')],
  ['the secret of a client that posts it', posting.id, secret('mcps_secret')],
  ['a public client by its id', 'mcpc_public', none],
  ['RFC 8252 8.5: a secret of a public client proves nothing', 'mcpc_public', secret('x')],
])('client authentication accepts %s', async (_rule, id, proof) => {
  expect(await authenticate(id, proof)).toBe(id)
})

it.each<[rule: string, id: string, proof: ClientProof]>([
  ['OAuth 2.1 2.2: a confidential client without its secret', confidential.id, none],
  ['a wrong secret', confidential.id, secret('mcps_other')],
  ['a prefix of the secret', confidential.id, secret('mcps_secre')],
  ['the stored hash instead of the secret', confidential.id, secret(hashSecret('mcps_secret'))],
  ['a client whose secret was lost, without one', hashless.id, none],
  ['a client whose secret was lost, with any', hashless.id, secret('')],
  ['private_key_jwt without an assertion', signing.id, none],
  ['private_key_jwt with a secret instead', signing.id, secret('mcps_secret')],
  ['an assertion of a client that has no keys', confidential.id, assertion],
  ['an unknown client', 'mcpc_unknown', secret('mcps_secret')],
])('RFC 6749 5.2 invalid_client, 401: %s', async (_rule, id, proof) => {
  await expect(authenticate(id, proof)).rejects.toMatchObject({
    name: 'OAuthError',
    code: 'invalid_client',
    status: 401,
  })
})
