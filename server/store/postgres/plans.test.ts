import { afterAll, beforeAll, expect, it } from 'vitest'
import { start } from '../../../tests/support/server/core/grant-sample.ts'
import { type PostgresServer, startPostgres } from '../../../tests/support/server/postgres-server.ts'
import { openPostgresStore } from './postgres.ts'
import { useEverything } from '../../../tests/support/store-contract/every-operation.ts'

const many = 20_000
const fewer = 10_000

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres({ settings: { autovacuum: 'off' } })
})
afterAll(() => server.close())

const rowsRead = async (url: string): Promise<number> => {
  const [row] = await server.query(
    url,
    `SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables)
       + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes) AS read`,
  )
  return Number(row?.['read'])
}

/** Counts uses of the indexes that serve one query each. */
const specialLooks = async (url: string): Promise<number> => {
  const [row] = await server.query(
    url,
    `SELECT sum(idx_scan) AS looks FROM pg_stat_user_indexes WHERE indexrelname ~ '^grants_(user|client)'`,
  )
  return Number(row?.['looks'])
}
/** Lists and ends of {@link useEverything} that such an index serves. */
const specialQuestions = 8

const fill = `
  INSERT INTO grants (id, user_id, user_sub, client_id, resource, scope, created_at, expires_at) SELECT 'g' || i, 'u' || i % 1000, 's', 'c' || i % 20, 'r', 'mcp', ${start}, ${start} + i FROM generate_series(1, ${many}) i;
  INSERT INTO access_token SELECT 'a' || i, 'g' || i, 'mcp', ${start} + i, ${start} + i FROM generate_series(1, ${many}) i;
  INSERT INTO refresh_token (hash, grant_id, expires_at) SELECT 'r' || i, 'g' || i, ${start} + i FROM generate_series(1, ${many}) i;
  INSERT INTO provider_session (grant_id, sealing_key, sealed, issued_at, expires_at, version, taken_up)
    SELECT 'g' || i, 'k', 'k.x', 0, 0, 1, true FROM generate_series(1, ${many}) i;
  INSERT INTO provider_session (grant_id, sealing_key, sealed, issued_at, expires_at, version, sign_out_due_at, sign_out_since)
    SELECT 'o' || i, 'k', 'k.x', 0, 0, 1, ${start} + i, ${start} + i FROM generate_series(1, ${fewer}) i;
  INSERT INTO authorization_code SELECT 'c' || i, 'g' || i, 'u', 's', NULL, NULL, 'c', 'r', 'mcp', NULL, NULL, 0, 0, 'x', 'x', ${start} - 86400 + i, CASE WHEN i % 2 = 0 THEN 0 END, CASE WHEN i % 2 = 1 THEN ${start} + i END
    FROM generate_series(1, ${fewer}) i;
  INSERT INTO client SELECT 'c' || i, 'x', 'x', '[]', '[]', 'none', NULL, 0, 'registered', ${start} + i, false, '{}', '' FROM generate_series(1, ${fewer}) i;
  INSERT INTO device SELECT 'd' || i, 'u' || i, 'c', 'mcp', 'r', NULL, 0, ${start} + i FROM generate_series(1, ${fewer}) i;
  INSERT INTO attempt SELECT 'c' || i, 1, ${start} + i FROM generate_series(1, ${fewer}) i;
  INSERT INTO social_sign_in (id, binding_hash, sealing_key, sealed, expires_at)
    SELECT 'c' || i, 'b' || i, 'k', 'k.x', ${start} + i FROM generate_series(1, ${fewer}) i;
  INSERT INTO second_factor (id, binding_hash, sealing_key, sealed, expires_at) SELECT 'c' || i, 'x', 'k', 'k.x', ${start} + i FROM generate_series(1, ${fewer}) i;`

it.each([
  // Enough for the database to cache a plan.
  ['', 'planned while the tables were tiny', 6],
  ['&pooler=transaction', 'planned each time', 2],
])(
  'no table of 20,000 grants is read through in any operation%s: %s',
  async (parameters, _when, rounds) => {
    const url = await server.createDatabase()
    const store = openPostgresStore(`${url}?pool_max=1${parameters}`)
    const runs = 4 * rounds + 1
    // The worst start: statistics of tiny tables, and cached plans based on them.
    await useEverything(store, 'first')
    for (let round = 0; round < rounds; round += 1) await useEverything(store, `unknown ${round}`)
    await server.query(url, 'VACUUM ANALYZE')
    for (let round = 0; round < rounds; round += 1) await useEverything(store, `early ${round}`)
    await server.query(url, fill)
    for (let round = 0; round < rounds; round += 1) await useEverything(store, `late ${round}`)
    await server.query(url, 'ANALYZE')
    for (let round = 0; round < rounds; round += 1) await useEverything(store, `analyzed ${round}`)
    // The connection reports its counts when it ends.
    await store.close()
    await expect.poll(() => rowsRead(url)).toBeGreaterThan(0)
    // Unless disabled, tables of a few rows are rightly read as a whole.
    expect((await rowsRead(url)) / runs).toBeLessThan(fewer / 5)
    expect((await specialLooks(url)) / runs).toBeLessThanOrEqual(specialQuestions)
  },
  120_000,
)
