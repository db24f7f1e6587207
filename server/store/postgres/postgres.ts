import type { Store } from '../../core/store.ts'
import { createAttemptSteps } from '../sql/attempt-rows.ts'
import { createClients } from '../sql/clients.ts'
import { createCodeReads } from '../sql/codes.ts'
import { createDevices } from '../sql/devices.ts'
import { createGrantReads } from '../sql/grants.ts'
import {
  createProviderSessions,
  sessionColumns,
  signOutOf,
  type SignOutRow,
} from '../sql/provider-sessions.ts'
import { createSignIns, writeProbe } from '../sql/sign-ins.ts'
import { createPostgresCodes } from './postgres-codes.ts'
import { collectFromPostgres } from './postgres-collection.ts'
import { openPostgresDatabase } from './postgres-database.ts'
import { createPostgresGrants } from './postgres-grants.ts'
import { createPostgresSecondFactors } from './postgres-second-factors.ts'
import { createPostgresTokens } from './postgres-tokens.ts'

/**
 * Opens the {@link Store} in the tables of one Postgres database, which any number of instances share, in the schema that the
 * address names, or the first of the connection's `search_path`.
 *
 * Connects on first use. Every change is one statement that commits by itself; among concurrent callers that statement picks one,
 * and the others then read what it did. Holds no lock between two statements. Throws for an invalid address; `parsePostgresUrl`
 * lists its additional parameters.
 */
export function openPostgresStore(url: string): Store {
  const database = openPostgresDatabase(url)
  const signIns = createSignIns(database)
  return {
    ...createAttemptSteps(database),
    ...createClients(database),
    ...createDevices(database),
    ...signIns,
    ...createGrantReads(database),
    ...createCodeReads(database),
    ...createProviderSessions(database),
    ...createPostgresGrants(database),
    ...createPostgresSecondFactors(database),
    ...createPostgresCodes(database),
    ...createPostgresTokens(database),
    trimClients: async (...values) => (await database.write(trimClients, values)).length,
    claimSignOuts: async ({ limit, until }, now) =>
      (await database.write<SignOutRow>(claimSignOuts, [limit, now, until])).map(signOutOf),
    collectExpired: (now, limit) => collectFromPostgres(database, now, limit),
    prepare: database.prepare,
    proveWritable: () => writeProbe(signIns),
    close: database.close,
  }
}

// Matches the index: only this exact condition uses it.
const unused = `kind = 'registered' AND NOT kept AND expires_at IS NOT NULL`

// Ranks older registrations, and registrations of networks that have more, higher. Concurrent trims pick the same rows and find them gone:
// together they do not delete too many. Only whether a row is kept is checked again, or the index would be read for the rest.
const trimClients = `WITH excess AS MATERIALIZED (
    SELECT greatest(count(*) - $1, 0) AS count
    FROM (SELECT 1 FROM client WHERE ${unused} ORDER BY created_at LIMIT $1::bigint + $2::bigint) AS found
  )
  DELETE FROM client WHERE NOT kept AND id = ANY (ARRAY(
    SELECT id FROM (
      SELECT id, created_at, opened_at,
        row_number() OVER (PARTITION BY network ORDER BY created_at DESC, id) AS place
      FROM client WHERE ${unused}) AS placed
    WHERE opened_at < $3 ORDER BY place DESC, created_at, id LIMIT (SELECT count FROM excess)))
  RETURNING true AS gone`

// Skips rows that another worker is claiming instead of waiting.
const claimSignOuts = `WITH due AS MATERIALIZED (
    SELECT grant_id, sign_out_due_at FROM provider_session WHERE sign_out_due_at <= $2
    ORDER BY sign_out_due_at LIMIT $1 FOR UPDATE SKIP LOCKED
  ), claimed AS (
    UPDATE provider_session s SET sign_out_due_at = $3, sign_out_attempts = s.sign_out_attempts + 1
    FROM due d
    WHERE s.grant_id = d.grant_id AND s.grant_id = ANY (ARRAY(SELECT grant_id FROM due))
    RETURNING s.grant_id, s.sealed, s.issued_at, s.expires_at, s.version, s.sign_out_attempts, s.sign_out_since,
      d.sign_out_due_at AS was_due_at
  )
  SELECT ${sessionColumns}, sign_out_attempts AS attempts, sign_out_since AS since
  FROM claimed ORDER BY was_due_at, grant_id`
