import type { DatabaseSync } from 'node:sqlite'
import type { ClientStore } from '../../core/client.ts'
import { type ClientRow, clientOf } from '../row.ts'
import type { SqliteWork } from './work.ts'

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
        return row && clientOf(id, row as unknown as ClientRow)
      }),
  }
}
