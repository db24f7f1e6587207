import { describe, expect, it } from 'vitest'
import type { Client } from '../../../server/core/clients/client.ts'
import { start } from '../server/core/grant-sample.ts'
import type { StoreInstances } from './instances.ts'

/** A registered client with every possible member, more than a real one has. */
export const clientSample: Client = {
  id: 'mcpc_1',
  kind: 'registered',
  name: 'A client',
  uri: 'https://client.example/',
  redirectUris: ['http://127.0.0.1/callback', 'https://client.example/callback?a=1'],
  grantTypes: ['authorization_code', 'refresh_token'],
  scope: 'mcp notes:read',
  authMethod: 'client_secret_basic',
  secretHash: 'hash',
  keys: { kind: 'jwks', keys: [{ kty: 'EC', crv: 'P-256', x: 'x', y: 'y' }] },
  managementHash: 'management hash',
  document: { fetchedAt: start, freshUntil: start + 60 },
  introspects: true,
  createdAt: start,
  expiresAt: start + 86_400,
}

/** A client without optional members. */
export const bareClient: Client = {
  ...clientSample,
  name: undefined,
  uri: undefined,
  grantTypes: ['authorization_code'],
  scope: undefined,
  authMethod: 'none',
  secretHash: undefined,
  keys: undefined,
  managementHash: undefined,
  document: undefined,
  introspects: false,
  expiresAt: undefined,
}

/** Store contract: clients. */
export function describeClients({ store }: StoreInstances): void {
  describe('clients', () => {
    it.each<[string, Client]>([
      ['with everything', clientSample],
      ['with nothing that it need not have', bareClient],
      ['of the configuration', { ...bareClient, kind: 'configured', introspects: true }],
      [
        'of a document, with the address of its keys',
        {
          ...bareClient,
          kind: 'metadata_document',
          keys: { kind: 'jwks_uri', uri: 'https://client.example/jwks' },
          document: { fetchedAt: start, freshUntil: start + 60 },
        },
      ],
    ])('the store gives back a client %s unchanged', async (_what, client) => {
      await store().addClient(client)
      expect(await store().findClient(client.id)).toStrictEqual(client)
    })
  })
}
