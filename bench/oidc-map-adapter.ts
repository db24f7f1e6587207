import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider'

/**
 * Stores oidc-provider's data in Maps. Its own store keeps only a thousand entries, which such a load evicts at once.
 */
export function createMapAdapter(): AdapterFactory {
  const stores = new Map<string, Map<string, AdapterPayload>>()
  return (model): Adapter => {
    const rows = stores.get(model) ?? new Map<string, AdapterPayload>()
    stores.set(model, rows)
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
}
