import type { DatabaseSync } from 'node:sqlite'
import type { ClientStore } from '../../core/clients/client.ts'
import { clientColumns, clientOf, type ClientRow, clientValues, openedEverySeconds } from '../row.ts'
import { deleteExpired, type SqlitePart } from './part.ts'
import type { SqliteWork } from './work.ts'

// Matches the index, which covers the query. Without the function the expiry index would be used instead.
const unused = `kind = 'registered' AND kept = 0 AND coalesce(expires_at, 0) > 0`

/** Creates the clients in `database`. */
export function createSqliteClients(
  database: DatabaseSync,
  { read, write }: SqliteWork,
): SqlitePart<ClientStore> {
  const sql = prepareStatements(database)

  return {
    operations: {
      addClient: (client, network = '') => write(() => void sql.insert.run(...clientValues(client), network)),
      findClient: (id) =>
        read(() => {
          const row = sql.select.get(id)
          return row && clientOf(row as unknown as ClientRow)
        }),
      replaceClient: (client) =>
        write(() => {
          const known = sql.select.get(client.id) !== undefined
          if (known) sql.put.run(...clientValues(client), '')
          return known
        }),
      putClient: (client) => write(() => void sql.put.run(...clientValues(client), '')),
      removeClient: (id) => write(() => sql.remove.run(id).changes === 1),
      keepClient: (id, until) => write(() => void sql.keep.run(until, id, until)),
      listClients: ({ after, limit }) =>
        read(() => sql.list.all(after, limit).map((row) => clientOf(row as unknown as ClientRow))),
      noteClientOpened: (id, now) => write(() => void sql.open.run(now, id, now - openedEverySeconds)),
      async trimClients(max, limit, openedBefore) {
        const excess = (): number => {
          const row = sql.countUnused.get(max + limit)
          return (row?.['count'] as number) - max
        }
        // Usually there is nothing to do, which needs no transaction.
        if ((await read(excess)) <= 0) return 0
        return write(() => Number(sql.trim.run(openedBefore, Math.max(0, excess())).changes))
      },
    },
    collect: deleteExpired(database, { table: 'client', key: 'id', end: 'expires_at' }),
  }
}

function prepareStatements(database: DatabaseSync) {
  const insert = `INSERT INTO client (${clientColumns}, network) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
  return {
    insert: database.prepare(insert),
    // A user may have signed in since the caller read the client: keep the extended expiry.
    put: database.prepare(
      `${insert} ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, name = excluded.name, uri = excluded.uri,
         redirect_uris = excluded.redirect_uris, grant_types = excluded.grant_types,
         auth_method = excluded.auth_method, secret_hash = excluded.secret_hash, created_at = excluded.created_at,
         expires_at = CASE WHEN kept = 1 AND expires_at > excluded.expires_at
           THEN expires_at ELSE excluded.expires_at END,
         details = excluded.details`,
    ),
    select: database.prepare(`SELECT ${clientColumns} FROM client WHERE id = ?`),
    remove: database.prepare('DELETE FROM client WHERE id = ?'),
    keep: database.prepare(
      `UPDATE client SET kept = 1, expires_at = max(expires_at, ?)
       WHERE id = ? AND expires_at IS NOT NULL AND (kept = 0 OR expires_at < ?)`,
    ),
    list: database.prepare(`SELECT ${clientColumns} FROM client WHERE id > ? ORDER BY id LIMIT ?`),
    countUnused: database.prepare(
      `SELECT count(*) AS count FROM (SELECT 1 FROM client WHERE ${unused} LIMIT ?)`,
    ),
    open: database.prepare('UPDATE client SET opened_at = ? WHERE id = ? AND kept = 0 AND opened_at <= ?'),
    // Ranks older registrations, and those of networks that have more, higher.
    trim: database.prepare(
      `DELETE FROM client WHERE id IN (
         SELECT id FROM (
           SELECT id, created_at, opened_at,
             row_number() OVER (PARTITION BY network ORDER BY created_at DESC) AS place
           FROM client WHERE ${unused})
         WHERE opened_at < ? ORDER BY place DESC, created_at LIMIT ?)`,
    ),
  }
}
