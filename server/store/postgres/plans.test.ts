import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Store } from '../../core/store.ts'
import {
  addGrant,
  grantSample,
  nextSession,
  rotationTerms,
  secondFactorSample,
  start,
  successorSample,
} from '../../../tests/support/server/core/grant-sample.ts'
import { type PostgresServer, startPostgres } from '../../../tests/support/server/postgres-server.ts'
import { openPostgresStore } from './postgres.ts'
import { clientSample } from '../../../tests/support/store-contract/clients.ts'
import { deviceSample } from '../../../tests/support/store-contract/devices.ts'
import { socialSignInSample } from '../../../tests/support/store-contract/social-sign-ins.ts'

const many = 100_000
const fewer = 10_000
/** Enough for the database to cache a plan. */
const rounds = 8

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres({ settings: { autovacuum: 'off' } })
})
afterAll(() => server.close())

/** Runs every operation at least once; all its names start with `name`. */
async function useEverything(store: Store, name: string): Promise<void> {
  const replay = rotationTerms(start)
  await store.addClient({ ...clientSample, id: name })
  await store.findClient(name)
  await store.putClient({ ...clientSample, id: name })
  await store.replaceClient({ ...clientSample, id: name })
  await store.keepClient(name, start + 100_000)
  await store.listClients({ after: name, limit: 3 })
  // Compares all unused registrations, once a minute and only when there are too many.
  if (name === 'first') await store.trimClients(100, 4, start)
  await store.removeClient(`none ${name}`)
  await store.addDevice(deviceSample(name))
  await store.findDevice(`user code ${name}`, start)
  await store.pollDevice(`device ${name}`, 5, start)
  await store.decideDevice(`device ${name}`, 'approved', start)
  await store.addSocialSignIn(socialSignInSample(name, name), 5)
  await store.listSocialSignIns(name, start)
  await store.removeSocialSignIn(name)
  for (const [id, signOut] of [
    ['f', true],
    ['g', false],
  ] as const) {
    await store.addSecondFactor(secondFactorSample(`${id} ${name}`))
    for (let attempt = 0; attempt < 2; attempt += 1) {
      await store.attemptSecondFactor({ id: `${id} ${name}`, bindingHash: 'binding', most: 1 }, start)
    }
    await store.removeSecondFactor(`${id} ${name}`, signOut, start)
  }
  await store.countAttempt(name, 60, start)
  const { code, grant, session, tokens } = await addGrant(store, grantSample(name))
  await store.findAuthorizationCode(code.codeHash)
  const waiting = grantSample(`waits ${name}`)
  await store.addAuthorizationCode(waiting.code, waiting.session)
  await store.listUnredeemedCodes({ userId: waiting.grant.user.id }, { now: start, limit: 3 })
  await store.listUnredeemedCodes({ clientId: waiting.grant.clientId }, { now: start, limit: 3 })
  await store.listUnredeemedCodes(undefined, { now: start, limit: 3 })
  await store.expireCode(waiting.code.codeHash, start)
  await store.redeemAuthorizationCode(code.codeHash, tokens, start)
  await store.findAccessToken(tokens.accessHash, start)
  await store.removeAccessToken(`none ${name}`)
  await store.findRefreshToken(tokens.refreshHash)
  await store.rotateRefreshToken(tokens.refreshHash, successorSample(`${name} 2`), replay)
  await store.rotateRefreshToken(tokens.refreshHash, successorSample(`${name} 3`), replay)
  await store.findGrantByFamily(`family ${name}`)
  await store.recordFirstUse(`access ${name} 2`, start)
  await store.findProviderSession(grant.id)
  const owner = { grantId: grant.id, owner: 'one' }
  await store.leaseProviderSession({ ...owner, version: 1, until: start + 15 }, start)
  await store.releaseProviderSession({ ...owner, outcomeKnown: true, refusedAt: start })
  await store.recordProviderRenewal(`issuer ${name}`, start)
  await store.findProviderRenewal(`issuer ${name}`)
  await store.saveProviderSession(nextSession(session))
  const twoAddresses = { addresses: ['192.0.2.1', '192.0.2.2'], at: start } as const
  await store.recordGrantUses([
    { grantId: grant.id, usedAt: start, address: '192.0.2.1', tool: 'whoami', twoAddresses },
  ])
  await store.findGrant(grant.id)
  for (const number of [7, 100_007]) {
    const page = { after: 'g', limit: 3 }
    await store.listGrants(undefined, page)
    await store.listGrants({ userId: `u${number}` }, page)
    await store.listGrants({ clientId: `c${number}` }, page)
    await store.endGrants({ userId: `u${number}` }, 'revoked_by_user', { now: start, limit: 3 })
    await store.endGrants({ clientId: `c${number}` }, 'client_removed', { now: start, limit: 3 })
  }
  await store.endRefusedSession({ grantId: grant.id, version: 9 }, 'provider_session_ended', start)
  await store.endGrant(grant.id, 'code_reuse', start)
  await store.postponeSignOut(grant.id, start + 1)
  await store.removeSignOut(grant.id)
  await store.claimSignOuts({ limit: 3, until: start + 60 }, start + 5)
  await store.listSealingKeys()
  await store.listSessionsSealedWith('k', { after: '', limit: 3 })
  // A few of each table.
  for (let round = 0; round < 8; round += 1) await store.collectExpired(start + 10, 4)
}

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
  INSERT INTO grants SELECT 'g' || i, 'u' || i % 1000, 's', NULL, NULL, 'c' || i % 20, 'r', 'mcp', ${start}, ${start} + i FROM generate_series(1, ${many}) i;
  INSERT INTO access_token SELECT 'a' || i, 'g' || i, 'mcp', ${start} + i, ${start} + i FROM generate_series(1, ${many}) i;
  INSERT INTO refresh_token (hash, grant_id, expires_at) SELECT 'r' || i, 'g' || i, ${start} + i FROM generate_series(1, ${many}) i;
  INSERT INTO provider_session (grant_id, sealing_key, sealed, issued_at, expires_at, version, taken_up)
    SELECT 'g' || i, 'k', 'k.x', 0, 0, 1, true FROM generate_series(1, ${many}) i;
  INSERT INTO provider_session (grant_id, sealing_key, sealed, issued_at, expires_at, version, sign_out_due_at, sign_out_since)
    SELECT 'o' || i, 'k', 'k.x', 0, 0, 1, ${start} + i, ${start} + i FROM generate_series(1, ${fewer}) i;
  INSERT INTO authorization_code SELECT 'c' || i, 'g' || i, 'u', 's', NULL, NULL, 'c', 'r', 'mcp', 0, 0, 'x', 'x', ${start} - 86400 + i, CASE WHEN i % 2 = 0 THEN 0 END, CASE WHEN i % 2 = 1 THEN ${start} + i END
    FROM generate_series(1, ${fewer}) i;
  INSERT INTO client SELECT 'c' || i, 'x', 'x', '[]', '[]', 'none', NULL, 0, 'registered', ${start} + i, false, '{}', '' FROM generate_series(1, ${fewer}) i;
  INSERT INTO device SELECT 'd' || i, 'u' || i, 'c', 'mcp', 'r', NULL, 0, ${start} + i FROM generate_series(1, ${fewer}) i;
  INSERT INTO attempt SELECT 'c' || i, 1, ${start} + i FROM generate_series(1, ${fewer}) i;
  INSERT INTO social_sign_in (id, binding, sealing_key, sealed, expires_at)
    SELECT 'c' || i, 'b' || i, 'k', 'k.x', ${start} + i FROM generate_series(1, ${fewer}) i;
  INSERT INTO second_factor SELECT 'c' || i, 'x', 'k', 'k.x', ${start} + i FROM generate_series(1, ${fewer}) i;`

it.each([
  ['', 'planned while the tables were tiny'],
  ['&pooler=transaction', 'planned each time'],
])(
  'no operation reads its way through a table of 100,000 grants%s: %s',
  async (parameters) => {
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
