import type { Store } from '../../core/store.ts'
import { createPostgresClients } from './clients.ts'
import { createPostgresCodes } from './codes.ts'
import { collectFromPostgres } from './collection.ts'
import { openPostgresDatabase } from './database.ts'
import { createPostgresDevices } from './devices.ts'
import { createPostgresGrantRecords } from './grant-records.ts'
import { endPostgresGrant, endRefusedPostgresSession } from './grants.ts'
import { createPostgresProviderSessions } from './provider-sessions.ts'
import { createPostgresSecondFactors } from './second-factors.ts'
import { createPostgresSignIns } from './sign-ins.ts'
import { createPostgresSignOuts } from './sign-outs.ts'
import { createPostgresTokens } from './tokens.ts'

/**
 * {@link Store} in the tables of one Postgres database, which any number of instances share. They are in the first
 * schema of the connection's `search_path`.
 *
 * Nothing is connected before the first use. Every change is one statement that commits by itself; where many callers
 * compete, that statement picks one of them, and the others read afterwards what it did. No lock is held between two
 * statements. Throws for an address that cannot be read; the parameters of its own are listed at `parsePostgresUrl`.
 */
export function openPostgresStore(url: string): Store {
  const database = openPostgresDatabase(url)
  return {
    ...createPostgresClients(database),
    ...createPostgresDevices(database),
    ...createPostgresGrantRecords(database),
    ...createPostgresSignIns(database),
    ...createPostgresSecondFactors(database),
    ...createPostgresCodes(database),
    ...createPostgresTokens(database),
    ...createPostgresProviderSessions(database),
    ...createPostgresSignOuts(database),
    endGrant: async (grantId, reason, now) => {
      await endPostgresGrant(database, grantId, reason, now)
    },
    endRefusedSession: (session, reason, now) => endRefusedPostgresSession(database, session, reason, now),
    collectExpired: (now, limit) => collectFromPostgres(database, now, limit),
    prepare: database.prepare,
    close: database.close,
  }
}
