// A peer: oidc-provider with opaque tokens, rotation and everything in memory. argv: how many grants.
import type { RequestListener } from 'node:http'
import { type Adapter, type AdapterPayload, Provider } from 'oidc-provider'
import { listening, ready } from './listening.ts'

const clientId = 'bench'
let handle: RequestListener = (_request, response) => response.writeHead(503).end()
const port = await listening((request, response) => handle(request, response))

/** Its own store keeps only a thousand entries, which such a load evicts at once. */
function adapterOf(rows: Map<string, AdapterPayload>): Adapter {
  return {
    find: async (id) => rows.get(id),
    upsert: async (id, payload) => void rows.set(id, payload),
    async consume(id) {
      const row = rows.get(id)
      if (row) row['consumed'] = Math.floor(Date.now() / 1000)
    },
    destroy: async (id) => void rows.delete(id),
    async revokeByGrantId(grantId) {
      for (const [id, row] of rows) if (row.grantId === grantId) rows.delete(id)
    },
    findByUid: async () => undefined,
    findByUserCode: async () => undefined,
  }
}

const stores = new Map<string, Adapter>()
const month = 30 * 86_400
const provider = new Provider(`http://localhost:${port}`, {
  adapter(model) {
    const store = stores.get(model) ?? adapterOf(new Map())
    stores.set(model, store)
    return store
  },
  clients: [
    {
      client_id: clientId,
      redirect_uris: ['http://127.0.0.1:4711/callback'],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    },
  ],
  cookies: { keys: ['bench'] },
  features: { devInteractions: { enabled: false } },
  findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
  rotateRefreshToken: true,
  ttl: { AccessToken: 3600, Grant: month, RefreshToken: month },
})
const serve = provider.callback()
handle = (request, response) => void serve(request, response)

const client = await provider.Client.find(clientId)
if (!client) throw new Error('The client of the bench is missing.')
const refreshTokens: string[] = []
for (let index = 0; index < Number(process.argv[2]); index += 1) {
  const accountId = `user ${index}`
  const grant = new provider.Grant({ accountId, clientId })
  grant.addOIDCScope('offline_access')
  const [grantId, gty, scope] = [await grant.save(), 'authorization_code', 'offline_access']
  refreshTokens.push(await new provider.RefreshToken({ accountId, client, grantId, gty, scope }).save())
}
ready({ port, clientId, refreshTokens })
