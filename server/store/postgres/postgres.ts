import type { Store } from '../../core/store.ts'
import { createPostgresClients } from './clients.ts'
import { createPostgresCodes } from './codes.ts'
import { collectFromPostgres } from './collection.ts'
import { openPostgresDatabase } from './database.ts'
import { createPostgresDevices } from './devices.ts'
import { createPostgresGrants } from './grants.ts'
import { createPostgresProviderSessions, createPostgresSignOuts } from './provider-sessions.ts'
import { createPostgresSecondFactors } from './second-factors.ts'
import { createPostgresSignIns } from './sign-ins.ts'
import { createPostgresTokens } from './tokens.ts'

/**
 * Opens the {@link Store} in the tables of one Postgres database, which any number of instances share, in the first schema of the
 * connection's `search_path`.
 *
 * Connects on first use. Every change is one statement that commits by itself; among concurrent callers that statement picks one,
 * and the others then read what it did. Holds no lock between two statements. Throws for an invalid address; `parsePostgresUrl`
 * lists its additional parameters.
 */
export function openPostgresStore(url: string): Store {
  const database = openPostgresDatabase(url)
  return {
    ...createPostgresClients(database),
    ...createPostgresDevices(database),
    ...createPostgresGrants(database),
    ...createPostgresSignIns(database),
    ...createPostgresSecondFactors(database),
    ...createPostgresCodes(database),
    ...createPostgresTokens(database),
    ...createPostgresProviderSessions(database),
    ...createPostgresSignOuts(database),
    collectExpired: (now, limit) => collectFromPostgres(database, now, limit),
    prepare: database.prepare,
    close: database.close,
  }
}
