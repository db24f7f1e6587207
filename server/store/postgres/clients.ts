import type { Client, ClientStore } from '../../core/clients/client.ts'
import { clientColumns, clientOf, type ClientRow, clientValues, openedEverySeconds } from '../row.ts'
import type { PostgresDatabase, Statement } from './database.ts'

// Matches the index: only this exact condition uses it.
const unused = `kind = 'registered' AND NOT kept AND expires_at IS NOT NULL`

const insertClient: Statement = {
  name: 'insert_client',
  text: `INSERT INTO client AS c (${clientColumns}, network)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
}

// A user may have signed in since the caller read the client: keep the extended expiry.
const keptEnd = (end: string): string =>
  `CASE WHEN c.kept AND c.expires_at > ${end} THEN c.expires_at ELSE ${end} END`

const putClient: Statement = {
  name: 'put_client',
  text: `${insertClient.text}
    ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, name = excluded.name, uri = excluded.uri,
      redirect_uris = excluded.redirect_uris, grant_types = excluded.grant_types, auth_method = excluded.auth_method,
      secret_hash = excluded.secret_hash, created_at = excluded.created_at,
      expires_at = ${keptEnd('excluded.expires_at')}, details = excluded.details`,
}

const replaceClient: Statement = {
  name: 'replace_client',
  text: `UPDATE client AS c SET kind = $2, name = $3, uri = $4, redirect_uris = $5, grant_types = $6, auth_method = $7,
      secret_hash = $8, created_at = $9, expires_at = ${keptEnd('$10::bigint')}, details = $11
    WHERE id = $1 RETURNING true AS known`,
}

const selectClient: Statement = {
  name: 'select_client',
  text: `SELECT ${clientColumns} FROM client WHERE id = $1`,
}

const listClients: Statement = {
  name: 'list_clients',
  text: `SELECT ${clientColumns} FROM client WHERE id > $1 ORDER BY id LIMIT $2`,
}

const removeClient: Statement = {
  name: 'remove_client',
  text: 'DELETE FROM client WHERE id = $1 RETURNING true AS gone',
}

const keepClient: Statement = {
  name: 'keep_client',
  text: `UPDATE client SET kept = true, expires_at = greatest(expires_at, $2)
    WHERE id = $1 AND expires_at IS NOT NULL AND (NOT kept OR expires_at < $2)`,
}

const openClient: Statement = {
  name: 'open_client',
  text: 'UPDATE client SET opened_at = $2 WHERE id = $1 AND NOT kept AND opened_at <= $3',
}

// Ranks older registrations, and those of networks that have more, higher. Concurrent trims pick the same rows and find them gone:
// together they do not delete too many. Only whether a row is kept is checked again, or the index would be read for the rest.
const trimClients: Statement = {
  name: 'trim_clients',
  text: `WITH excess AS MATERIALIZED (
      SELECT greatest(count(*) - $1, 0) AS count
      FROM (SELECT 1 FROM client WHERE ${unused} ORDER BY created_at LIMIT $1::bigint + $2::bigint) AS found
    )
    DELETE FROM client WHERE NOT kept AND id = ANY (ARRAY(
      SELECT id FROM (
        SELECT id, created_at, opened_at,
          row_number() OVER (PARTITION BY network ORDER BY created_at DESC, id) AS place
        FROM client WHERE ${unused}) AS placed
      WHERE opened_at < $3 ORDER BY place DESC, created_at, id LIMIT (SELECT count FROM excess)))
    RETURNING true AS gone`,
}

/** Creates the clients of the Postgres store. */
export function createPostgresClients(database: PostgresDatabase): ClientStore {
  const store = async (statement: Statement, client: Client, ...more: string[]): Promise<boolean> =>
    (await database.write(statement, [...clientValues(client), ...more])).length === 1

  return {
    addClient: async (client, network = '') => void (await store(insertClient, client, network)),
    async findClient(id) {
      const [row] = await database.read<ClientRow>(selectClient, [id])
      return row && clientOf(row)
    },
    replaceClient: (client) => store(replaceClient, client),
    putClient: async (client) => void (await store(putClient, client, '')),
    removeClient: async (id) => (await database.write(removeClient, [id])).length === 1,
    keepClient: async (id, until) => void (await database.write(keepClient, [id, until])),
    listClients: async ({ after, limit }) =>
      (await database.read<ClientRow>(listClients, [after, limit])).map(clientOf),
    noteClientOpened: async (id, now) =>
      void (await database.write(openClient, [id, now, now - openedEverySeconds])),
    trimClients: async (...given) => (await database.write(trimClients, given)).length,
  }
}
