import { describe, expect, it } from 'vitest'
import type { Client } from '../../core/client.ts'
import { start } from '../../testing/grant-sample.ts'
import type { StoreInstances } from './instances.ts'
import { awkwardTexts, longText } from './texts.ts'

/** A registered client with everything that one can have. */
export const clientSample: Client = {
  id: 'mcpc_1',
  kind: 'registered',
  name: 'A client',
  uri: 'https://client.example/',
  redirectUris: ['http://127.0.0.1/callback', 'https://client.example/callback?a=1'],
  grantTypes: ['authorization_code', 'refresh_token'],
  authMethod: 'client_secret_basic',
  secretHash: 'hash',
  createdAt: start,
}

/** The part of the store contract about clients. */
export function describeClients({ store, race }: StoreInstances): void {
  describe('clients', () => {
    it('gives back what was added', async () => {
      await store().addClient(clientSample)
      expect(await store().findClient(clientSample.id)).toEqual(clientSample)
    })

    it('gives back a public client without name and link', async () => {
      const bare: Client = {
        ...clientSample,
        name: undefined,
        uri: undefined,
        grantTypes: ['authorization_code'],
        authMethod: 'none',
        secretHash: undefined,
      }
      await store().addClient(bare)
      expect(await store().findClient(bare.id)).toEqual(bare)
    })

    it.each(['', 'MCPC_1', 'mcpc_1 ', 'mcpc_1\0', 'mcpc_%', '__proto__', 'constructor', longText])(
      'does not know %j',
      async (id) => {
        await store().addClient(clientSample)
        expect(await store().findClient(id)).toBeUndefined()
      },
    )

    it('fifty registrations at once are fifty clients', async () => {
      await race((each, index) => each.addClient({ ...clientSample, id: `client ${index}` }))
      const found = await race((each, index) => each.findClient(`client ${49 - index}`))
      expect(found.map((client) => client?.id)).toEqual(found.map((_, index) => `client ${49 - index}`))
    })

    it.each(awkwardTexts)('keeps %s', async (_what, text) => {
      const awkward = {
        ...clientSample,
        id: `id ${text}`,
        name: `name ${text}`,
        uri: text,
        redirectUris: [`https://a/${text}`],
      }
      await store().addClient(awkward)
      await store().addClient(clientSample)
      expect(await store().findClient(awkward.id)).toEqual(awkward)
      expect(await store().findClient(clientSample.id)).toEqual(clientSample)
    })

    it('keeps a million characters', async () => {
      const long = { ...clientSample, name: longText, redirectUris: [longText, 'https://a/'] }
      await store().addClient(long)
      expect(await store().findClient(long.id)).toEqual(long)
    })
  })
}
