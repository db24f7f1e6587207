import type { DatabaseSync } from 'node:sqlite'
import type { Client, ClientStore } from '../core/client.ts'
import type { SqliteWork } from './sqlite-work.ts'

/** Clients in `database`. */
export function createSqliteClients(database: DatabaseSync, { read, write }: SqliteWork): ClientStore {
  const insert = database.prepare(
    `INSERT INTO client (id, name, uri, redirect_uris, grant_types, auth_method, secret_hash, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const select = database.prepare('SELECT * FROM client WHERE id = ?')
  return {
    addClient: (client) =>
      write(
        () =>
          void insert.run(
            client.id,
            client.name ?? null,
            client.uri ?? null,
            JSON.stringify(client.redirectUris),
            JSON.stringify(client.grantTypes),
            client.authMethod,
            client.secretHash ?? null,
            client.createdAt,
          ),
      ),
    findClient: (id) =>
      read(() => {
        const row = select.get(id)
        return row && clientOf(row as unknown as ClientRow)
      }),
  }
}

interface ClientRow {
  id: string
  name: string | null
  uri: string | null
  redirect_uris: string
  grant_types: string
  auth_method: string
  secret_hash: string | null
  created_at: number
}

function clientOf(row: ClientRow): Client {
  return {
    id: row.id,
    kind: 'registered',
    name: row.name ?? undefined,
    uri: row.uri ?? undefined,
    redirectUris: JSON.parse(row.redirect_uris) as string[],
    grantTypes: JSON.parse(row.grant_types) as Client['grantTypes'],
    authMethod: row.auth_method as Client['authMethod'],
    secretHash: row.secret_hash ?? undefined,
    createdAt: row.created_at,
  }
}
