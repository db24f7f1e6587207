import { describe, expect, it } from 'vitest'
import { createMemoryStore } from '../store/memory/memory.ts'
import { publicClient } from '../testing/sign-in-sample.ts'
import { authenticateClient, type ClientCredentials } from './client.ts'
import { hashSecret } from './seal.ts'

const confidential = publicClient({
  id: 'mcpc_confidential',
  authMethod: 'client_secret_basic',
  secretHash: hashSecret('mcps_secret'),
})

async function authenticate(credentials: Partial<ClientCredentials>): Promise<string> {
  const store = createMemoryStore()
  await store.addClient(publicClient())
  await store.addClient(confidential)
  const given = { id: confidential.id, secret: undefined, ...credentials }
  return (await authenticateClient(store, given)).id
}

describe('authenticateClient (RFC 6749 section 2.3)', () => {
  it.each<[rule: string, credentials: Partial<ClientCredentials>, id: string]>([
    ['the secret', { secret: 'mcps_secret' }, confidential.id],
    ['a public client by its id', { id: 'mcpc_public' }, 'mcpc_public'],
    ['a secret of a public client proves nothing', { id: 'mcpc_public', secret: 'x' }, 'mcpc_public'],
    ['a public client with an empty secret', { id: 'mcpc_public', secret: '' }, 'mcpc_public'],
  ])('accepts %s', async (_rule, credentials, id) => {
    expect(await authenticate(credentials)).toBe(id)
  })

  it.each<[rule: string, credentials: Partial<ClientCredentials>]>([
    ['a confidential client without its secret', {}],
    ['an empty secret', { secret: '' }],
    ['a wrong secret', { secret: 'mcps_other' }],
    ['a prefix of the secret', { secret: 'mcps_secre' }],
    ['the secret and more', { secret: 'mcps_secret ' }],
    ['the stored hash instead of the secret', { secret: hashSecret('mcps_secret') }],
    ['an unknown client', { id: 'mcpc_unknown', secret: 'mcps_secret' }],
    ['no client id', { id: '', secret: 'mcps_secret' }],
    ['the id in another letter case', { id: 'MCPC_CONFIDENTIAL', secret: 'mcps_secret' }],
  ])('RFC 6749 5.2 invalid_client, 401: %s', async (_rule, credentials) => {
    await expect(authenticate(credentials)).rejects.toMatchObject({
      name: 'OAuthError',
      code: 'invalid_client',
      status: 401,
    })
  })
})
