import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { checkIntegrity, useDatabaseFiles } from '../../../tests/support/server/database-file.ts'
import { addGrant, grantSample, start } from '../../../tests/support/server/core/grant-sample.ts'
import { deviceSample } from '../../../tests/support/store-contract/devices.ts'
import { sqliteMigrations } from './migrations.ts'
import { openSqliteStore } from './sqlite.ts'

const newFile = useDatabaseFiles()
const daySeconds = 86_400
/** Later than the clock of whoever runs this: the end of a client is counted from the later of both. */
const later = 4_000_000_000

/** A database as the second version left it, with these clients, each with grants that end then. */
function createSecondVersion(
  clients: Record<string, { createdAt: number; grantsEnd: readonly number[] }>,
): string {
  const path = newFile()
  const database = new DatabaseSync(path)
  database.exec(`PRAGMA journal_mode = WAL; ${sqliteMigrations.slice(0, 2).join('')} PRAGMA user_version = 2`)
  const insertClient = database.prepare(
    `INSERT INTO client (id, name, uri, redirect_uris, grant_types, auth_method, secret_hash, created_at)
     VALUES (?, 'Old', NULL, '["http://127.0.0.1/"]', '["authorization_code"]', 'none', NULL, ?)`,
  )
  const insertGrant = database.prepare(
    `INSERT INTO grants (id, user_id, user_sub, client_id, resource, scope, created_at, expires_at)
     VALUES (?, 'p#u', 'u', ?, 'r', 'mcp', ?, ?)`,
  )
  for (const [id, { createdAt, grantsEnd }] of Object.entries(clients)) {
    insertClient.run(id, createdAt)
    for (const [index, end] of grantsEnd.entries()) insertGrant.run(`${id} ${index}`, id, createdAt, end)
  }
  database.close()
  return path
}

describe('sqlite schema, from version 2 to 3', () => {
  it('clients live on: registered, with nothing that they did not have', async () => {
    const path = createSecondVersion({ a: { createdAt: later, grantsEnd: [] } })
    const store = openSqliteStore(path)
    expect(await store.findClient('a')).toStrictEqual({
      id: 'a',
      kind: 'registered',
      name: 'Old',
      uri: undefined,
      redirectUris: ['http://127.0.0.1/'],
      grantTypes: ['authorization_code'],
      scope: undefined,
      authMethod: 'none',
      secretHash: undefined,
      keys: undefined,
      managementHash: undefined,
      document: undefined,
      introspects: false,
      createdAt: later,
      expiresAt: later + 90 * daySeconds,
    })
    await store.close()
    expect(checkIntegrity(path)).toBe('ok')
  })

  it('a client with grants ends 90 days after the last of them and counts as used, the others do not', async () => {
    const path = createSecondVersion({
      used: { createdAt: later, grantsEnd: [later + 30 * daySeconds, later + 40 * daySeconds, later] },
      ended: { createdAt: later, grantsEnd: [start] },
      unused: { createdAt: later, grantsEnd: [] },
    })
    const store = openSqliteStore(path)
    expect((await store.findClient('used'))?.expiresAt).toBe(later + 130 * daySeconds)
    expect((await store.findClient('ended'))?.expiresAt).toBe(later + 90 * daySeconds)
    expect(await store.trimClients(0, 10, later)).toBe(1)
    expect((await store.listClients({ after: '', limit: 10 })).map(({ id }) => id)).toEqual(['ended', 'used'])
    await store.close()
  })

  it('a client that was registered long ago has 90 days from now, in case its grants are collected', async () => {
    const now = Math.floor(Date.now() / 1000)
    const store = openSqliteStore(createSecondVersion({ a: { createdAt: 0, grantsEnd: [] } }))
    const end = (await store.findClient('a'))?.expiresAt ?? 0
    expect(end).toBeGreaterThanOrEqual(now + 90 * daySeconds)
    expect(end).toBeLessThan(now + 91 * daySeconds)
    await store.close()
  })

  it('grants live on, never used, and take part in everything new', async () => {
    const path = createSecondVersion({ a: { createdAt: start, grantsEnd: [later, later] } })
    const store = openSqliteStore(path)
    const page = { after: '', limit: 10 }
    expect(
      (await store.listGrants({ clientId: 'a' }, page)).map(({ grant, lastUse, end }) => ({
        id: grant.id,
        lastUse,
        end,
      })),
    ).toEqual([
      { id: 'a 0', lastUse: undefined, end: undefined },
      { id: 'a 1', lastUse: undefined, end: undefined },
    ])
    await store.recordGrantUses([{ grantId: 'a 1', usedAt: start, address: undefined }])
    await store.addDevice(deviceSample('d'))
    await addGrant(store, grantSample('new', { clientId: 'a' }))
    const ended = await store.endGrants({ clientId: 'a' }, 'client_removed', { now: start, limit: 10 })
    expect(ended.map(({ id }) => id).sort()).toEqual(['a 0', 'a 1', 'grant new'])
    await store.close()
  })

  it('is all or nothing: a process that dies on the way leaves version 2', () => {
    const path = createSecondVersion({ a: { createdAt: start, grantsEnd: [later] } })
    const database = new DatabaseSync(path)
    database.exec('CREATE TABLE device (mine TEXT)')
    database.close()
    expect(() => openSqliteStore(path)).toThrow(/device/)
    const again = new DatabaseSync(path)
    expect(again.prepare('PRAGMA user_version').get()).toEqual({ user_version: 2 })
    expect(again.prepare(`SELECT count(*) AS count FROM pragma_table_info('client')`).get()).toEqual({
      count: 8,
    })
    again.close()
  })
})
