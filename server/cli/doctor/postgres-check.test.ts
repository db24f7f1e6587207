import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openPostgresStore } from '../../store/postgres/postgres.ts'
import { addGrant, grantSample } from '../../../tests/support/server/core/grant-sample.ts'
import { type PostgresServer, startPostgres } from '../../../tests/support/server/postgres-server.ts'
import type { Finding } from '@drawbridge/shared/terminal/finding.ts'
import { findingsOf } from '@drawbridge/shared/terminal/check.ts'
import { probePostgres, checkStore, postgresChecks, type PostgresFacts } from './store-check.ts'

let server: PostgresServer
beforeAll(async () => {
  server = await startPostgres()
})
afterAll(() => server.close())

function states(findings: readonly Finding[]): Record<string, string> {
  return Object.fromEntries(findings.map(({ name, state }) => [name, state]))
}

describe('doctor, on Postgres', () => {
  it('doctor leaves a database without our schema unchanged', async () => {
    const url = await server.createDatabase()
    const { findings, isRunning } = await checkStore(
      { store: { kind: 'postgres', url }, providerIssuer: 'https://provider' },
      { kids: ['k'], now: 0 },
    )
    expect(states(findings)).toEqual({
      store: 'ok',
      'store-schema': 'ok',
      'store-durability': 'ok',
    })
    expect(isRunning).toBeUndefined()
    expect(await server.query(url, `SELECT to_regclass('drawbridge_schema')::text AS made`)).toEqual([
      { made: null },
    ])
  })

  it('doctor names the keys that a database needs', async () => {
    const url = await server.createDatabase()
    const store = openPostgresStore(url)
    const sample = grantSample('a')
    await addGrant(store, { ...sample, session: { ...sample.session, sealed: 'lost.sealed' } })
    await store.close()
    const { findings } = await checkStore(
      { store: { kind: 'postgres', url }, providerIssuer: 'https://provider' },
      { kids: ['k'], now: 0 },
    )
    expect(states(findings)).toMatchObject({ 'store-schema': 'ok', 'sealing-keys': 'fail' })
  })

  it('doctor reads the schema that the address names', async () => {
    const url = await server.createDatabase()
    const store = openPostgresStore(`${url}?schema=apart`)
    const sample = grantSample('a')
    await addGrant(store, { ...sample, session: { ...sample.session, sealed: 'lost.sealed' } })
    await store.close()
    expect((await probePostgres(`${url}?schema=apart`)).schema).toBeGreaterThan(0)
    expect((await probePostgres(url)).schema).toBe(0)
    const { findings } = await checkStore(
      { store: { kind: 'postgres', url: `${url}?schema=apart` }, providerIssuer: 'https://provider' },
      { kids: ['k'], now: 0 },
    )
    expect(states(findings)).toMatchObject({ 'store-schema': 'ok', 'sealing-keys': 'fail' })
  })

  it('doctor fails an unusable database without printing the password', async () => {
    for (const url of [
      server.url('nothing'),
      server.url('postgres').replace(/:\d+\//, ':1/'),
      server.url('postgres').replace('drawbridge:', 'nobody:'),
    ]) {
      const { findings } = await checkStore(
        { store: { kind: 'postgres', url }, providerIssuer: 'https://provider' },
        { kids: [], now: 0 },
      )
      expect(states(findings)).toEqual({ store: 'fail' })
      expect(JSON.stringify(findings)).not.toMatch(/sesame/)
    }
  })

  it('doctor fails a database of another encoding, and one written by a newer version', async () => {
    const newer = await server.createDatabase()
    await server.query(
      newer,
      'CREATE TABLE drawbridge_schema (version integer NOT NULL); INSERT INTO drawbridge_schema VALUES (99)',
    )
    const ascii = new URL(await server.createDatabase())
    await server.query(
      server.url('postgres'),
      "CREATE DATABASE doctor_ascii ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0",
    )
    ascii.pathname = '/doctor_ascii'
    for (const [url, reason] of [
      [newer, /has schema 99, this version knows up to \d+/],
      [ascii.href, /has the encoding SQL_ASCII; UTF8 is required\.$/],
    ] as const) {
      const { findings } = await checkStore(
        { store: { kind: 'postgres', url }, providerIssuer: 'https://provider' },
        { kids: [], now: 0 },
      )
      expect(findings).toMatchObject([
        { name: 'store', state: 'fail', message: expect.stringMatching(reason) },
      ])
    }
  })

  it('doctor reads the settings of the database', async () => {
    const facts = await probePostgres(server.url('postgres'))
    expect(facts).toMatchObject({ synchronousCommit: 'on', isStandby: false, schema: 0 })
  })
})

const sound: PostgresFacts = {
  url: 'postgres://user:password@db.example.com:5432/drawbridge',
  server: '18.1',
  synchronousCommit: 'on',
  isStandby: false,
  schema: 1,
}

it.each<[what: string, changes: Partial<PostgresFacts>, name: string, state: string]>([
  ['sound', {}, 'store', 'ok'],
  ['a standby', { isStandby: true }, 'store', 'fail'],
  ['forgetful', { synchronousCommit: 'off' }, 'store-durability', 'fail'],
  ['synchronous to a local disk', { synchronousCommit: 'local' }, 'store-durability', 'ok'],
])('doctor reports Postgres: %s', (_, changes, name, state) => {
  const findings = findingsOf(postgresChecks, { ...sound, ...changes })
  expect(states(findings)[name]).toBe(state)
  expect(JSON.stringify(findings)).not.toContain('password')
})
