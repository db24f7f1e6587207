import type { ClientStore } from '../../core/client.ts'
import { type ClientRow, clientOf } from '../row.ts'
import type { PostgresDatabase, Statement } from './database.ts'

const insertClient: Statement = {
  name: 'insert_client',
  text: `INSERT INTO client (id, name, uri, redirect_uris, grant_types, auth_method, secret_hash, created_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
}

const selectClient: Statement = {
  name: 'select_client',
  text: `SELECT name, uri, redirect_uris, grant_types, auth_method, secret_hash, created_at FROM client WHERE id = $1`,
}

/** Clients of the Postgres store. */
export function createPostgresClients(database: PostgresDatabase): ClientStore {
  return {
    async addClient(client) {
      await database.write(insertClient, [
        client.id,
        client.name,
        client.uri,
        JSON.stringify(client.redirectUris),
        JSON.stringify(client.grantTypes),
        client.authMethod,
        client.secretHash,
        client.createdAt,
      ])
    },
    async findClient(id) {
      const [row] = await database.read<ClientRow>(selectClient, [id])
      return row && clientOf(id, row)
    },
  }
}
