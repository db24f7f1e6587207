import type { Client, ClientStore } from '../../core/clients/client.ts'
import { maxUnusedClientSeconds, shownClientSeconds } from '../../core/clients/client-life.ts'
import { camelCased, type SqlDatabase } from './sql.ts'

/** Minimum interval between two writes that a client's login page was shown. */
const openedEverySeconds = 60

const columns = `id, kind, name, uri, redirect_uris, grant_types, auth_method, secret_hash, created_at, expires_at, details`
const selected = camelCased(columns)

const insertClient = `INSERT INTO client AS c (${columns}, network)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`

// A user may have signed in since the caller read the client: keep the extended expiry.
const keptEnd = (end: string): string =>
  `CASE WHEN c.kept AND c.expires_at > ${end} THEN c.expires_at ELSE ${end} END`

/** Assigns every column but the id; `valueOf` is the SQL of its new value. */
function changes(valueOf: (column: string, place: number) => string): string {
  const assignments = columns.split(', ').map((column, index) => {
    const value = valueOf(column, index + 1)
    return `${column} = ${column === 'expires_at' ? keptEnd(value) : value}`
  })
  return assignments.slice(1).join(', ')
}

const putClient = `${insertClient} ON CONFLICT (id) DO UPDATE SET ${changes((column) => `excluded.${column}`)}`

const replaceClient = `UPDATE client AS c
  SET ${changes((column, place) => (column === 'expires_at' ? `$${place}::bigint` : `$${place}`))}
  WHERE id = $1 RETURNING true AS known`

const selectClient = `SELECT ${selected} FROM client WHERE id = $1`

const listClients = `SELECT ${selected} FROM client WHERE id > $1 ORDER BY id LIMIT $2`

const selectService = `SELECT true AS known FROM client WHERE kind = 'service' LIMIT 1`

const removeClient = 'DELETE FROM client WHERE id = $1 RETURNING true AS gone'

const keepClient = `UPDATE client SET kept = true, expires_at = CASE WHEN expires_at > $2 THEN expires_at ELSE $2 END
  WHERE id = $1 AND expires_at IS NOT NULL AND (NOT kept OR expires_at < $2)`

const openClient = `UPDATE client SET opened_at = $2, expires_at = CASE
    WHEN expires_at IS NULL OR kind <> 'registered' THEN expires_at
    WHEN $2::bigint + ${shownClientSeconds} < created_at + ${maxUnusedClientSeconds} THEN $2::bigint + ${shownClientSeconds}
    ELSE created_at + ${maxUnusedClientSeconds} END
  WHERE id = $1 AND NOT kept AND opened_at <= $3`

/** Creates the clients in `database`, except for their trimming. */
export function createClients(database: SqlDatabase): Omit<ClientStore, 'trimClients'> {
  const store = async (statement: string, client: Client, ...more: string[]): Promise<boolean> =>
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
    hasService: async () => (await database.read(selectService, [])).length > 0,
    noteClientOpened: async (id, now) =>
      void (await database.write(openClient, [id, now, now - openedEverySeconds])),
  }
}

/** Members that no query filters by, in one JSON column. Undefined and false ones are omitted. */
type ClientDetails = Pick<Client, 'scope' | 'keys' | 'managementHash' | 'document' | 'tools'> & {
  introspects?: true
}

interface ClientRow extends Pick<Client, 'id' | 'kind' | 'authMethod' | 'createdAt'> {
  name: string | null
  uri: string | null
  redirectUris: string
  grantTypes: string
  secretHash: string | null
  expiresAt: number | null
  details: string
}

function clientValues(client: Client): (string | number | undefined)[] {
  const { scope, keys, managementHash, document, introspects, tools } = client
  return [
    client.id,
    client.kind,
    client.name,
    client.uri,
    JSON.stringify(client.redirectUris),
    JSON.stringify(client.grantTypes),
    client.authMethod,
    client.secretHash,
    client.createdAt,
    client.expiresAt,
    JSON.stringify({ scope, keys, managementHash, document, introspects: introspects || undefined, tools }),
  ]
}

function clientOf(row: ClientRow): Client {
  const { scope, keys, managementHash, document, introspects, tools } = JSON.parse(
    row.details,
  ) as ClientDetails
  return {
    id: row.id,
    kind: row.kind,
    name: row.name ?? undefined,
    uri: row.uri ?? undefined,
    redirectUris: JSON.parse(row.redirectUris) as string[],
    grantTypes: JSON.parse(row.grantTypes) as Client['grantTypes'],
    scope,
    authMethod: row.authMethod,
    secretHash: row.secretHash ?? undefined,
    keys,
    managementHash,
    // Undefined members were not written.
    document,
    introspects: introspects === true,
    ...(tools && { tools }),
    createdAt: row.createdAt,
    expiresAt: row.expiresAt ?? undefined,
  }
}
