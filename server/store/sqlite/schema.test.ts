import { writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import type { GrantEndReason } from '../../core/session/grant.ts'
import {
  checkIntegrity,
  countRows,
  inspectDatabase,
  useDatabaseFiles,
} from '../../../tests/support/server/database-file.ts'
import {
  addGrant,
  dueSignOuts,
  type GrantSample,
  grantSample,
  grantSeconds,
  rotationTerms,
  start,
  successorSample,
} from '../../../tests/support/server/core/grant-sample.ts'
import { openSqliteStore } from './sqlite.ts'
import { sqliteMigrations } from './migrations.ts'
import { clientSample } from '../../../tests/support/store-contract/clients.ts'

const newFile = useDatabaseFiles()

const userVersion = (path: string): unknown =>
  inspectDatabase(path, (database) => database.prepare('PRAGMA user_version').get()?.['user_version'])

describe('sqlite schema', () => {
  it('an empty file is brought from version 0 to the newest', async () => {
    const path = newFile()
    writeFileSync(path, '')
    const store = openSqliteStore(path)
    await addGrant(store, grantSample('a'))
    await store.close()
    expect(userVersion(path)).toBe(sqliteMigrations.length)
  })

  it('opening again migrates nothing', async () => {
    const path = newFile()
    await openSqliteStore(path).close()
    const before = countRows(path)
    await openSqliteStore(path).close()
    expect(countRows(path)).toEqual(before)
  })

  it('a migration that fails leaves the file as it was', () => {
    const path = newFile()
    const database = new DatabaseSync(path)
    database.exec('CREATE TABLE provider_session (mine TEXT)')
    database.close()
    expect(() => openSqliteStore(path)).toThrow(/provider_session/)
    expect(userVersion(path)).toBe(0)
    expect(countRows(path)).toEqual({ provider_session: 0 })
  })

  it('a newer schema is refused and untouched', () => {
    const path = newFile()
    const database = new DatabaseSync(path)
    database.exec('CREATE TABLE future (x TEXT); PRAGMA user_version = 99')
    database.close()
    expect(() => openSqliteStore(path)).toThrow(
      `schema 99, this version knows up to ${sqliteMigrations.length}`,
    )
    expect(countRows(path)).toEqual({ future: 0 })
  })
})

/** A database as the first version left it. */
interface FirstVersion {
  path: string
  database: DatabaseSync
  insert(table: string, row: Record<string, string | number | null>): void
  /** A grant with its session and a chain of refresh tokens, all but the last one used a minute after another. */
  addGrant(sample: GrantSample, chain: readonly string[], end?: { at: number; reason: GrantEndReason }): void
}

function createFirstVersion(): FirstVersion {
  const path = newFile()
  const database = new DatabaseSync(path)
  database.exec(`PRAGMA journal_mode = WAL; ${sqliteMigrations[0]} PRAGMA user_version = 1`)

  const insert: FirstVersion['insert'] = (table, row) => {
    const columns = Object.keys(row)
    const places = columns.map(() => '?').join(', ')
    database
      .prepare(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${places})`)
      .run(...Object.values(row))
  }

  return {
    path,
    database,
    insert,
    addGrant({ grant, session, tokens }, chain, end) {
      insert('grants', {
        id: grant.id,
        user_id: grant.user.id,
        user_sub: grant.user.sub,
        user_email: grant.user.email ?? null,
        user_name: grant.user.name ?? null,
        client_id: grant.clientId,
        resource: grant.resource,
        scope: grant.scope,
        created_at: grant.createdAt,
        expires_at: grant.expiresAt,
        ended_at: end?.at ?? null,
        end_reason: end?.reason ?? null,
      })
      insert('provider_session', {
        grant_id: grant.id,
        sealed: session.sealed,
        issued_at: session.issuedAt,
        expires_at: session.expiresAt,
        version: session.version,
      })
      insert('access_token', {
        hash: tokens.accessHash,
        grant_id: grant.id,
        scope: tokens.scope,
        expires_at: tokens.accessExpiresAt,
      })
      for (const [index, hash] of chain.entries()) {
        const used = index < chain.length - 1
        insert('refresh_token', {
          hash,
          grant_id: grant.id,
          used_at: used ? start + index * 60 : null,
          sealed_tokens: used ? `sealed pair ${index}` : null,
          expires_at: grant.expiresAt,
        })
      }
    },
  }
}

describe('sqlite schema, from version 1 to 2', () => {
  it('everything lives on: clients, codes, tokens, sessions, sign-ins on their way', async () => {
    const old = createFirstVersion()
    const a = grantSample('a')
    const b = grantSample('b', { user: { id: 'p#b', sub: 'b', email: undefined, name: 'b\0é👩‍🚀' } })
    const unused = grantSample('unused')
    // In no order, neither of time nor of name.
    old.addGrant(b, ['r z', 'r a', 'r m'])
    old.addGrant(a, ['refresh a 1'])
    old.insert('client', {
      id: clientSample.id,
      name: clientSample.name ?? null,
      uri: clientSample.uri ?? null,
      redirect_uris: JSON.stringify(clientSample.redirectUris),
      grant_types: JSON.stringify(clientSample.grantTypes),
      auth_method: clientSample.authMethod,
      secret_hash: clientSample.secretHash ?? null,
      created_at: clientSample.createdAt,
    })
    old.insert('social_sign_in', {
      id: 's',
      binding_hash: 'binding',
      sealed: 'k.sealed',
      expires_at: start + 600,
    })
    old.insert('authorization_code', {
      code_hash: unused.code.codeHash,
      grant_json: JSON.stringify(unused.grant),
      redirect_uri: unused.code.redirectUri,
      code_challenge: unused.code.codeChallenge,
      expires_at: unused.code.expiresAt,
      session_sealed: unused.session.sealed,
      session_issued_at: unused.session.issuedAt,
      session_expires_at: unused.session.expiresAt,
      session_version: unused.session.version,
    })
    old.database.close()

    const store = openSqliteStore(old.path)
    expect(await store.findClient(clientSample.id)).toMatchObject({
      name: clientSample.name,
      uri: clientSample.uri,
      redirectUris: clientSample.redirectUris,
      grantTypes: clientSample.grantTypes,
      authMethod: clientSample.authMethod,
      secretHash: clientSample.secretHash,
      createdAt: clientSample.createdAt,
    })
    expect(await store.listSocialSignIns('binding', start)).toHaveLength(1)
    for (const { grant, session, tokens } of [a, b]) {
      expect(await store.findAccessToken(tokens.accessHash, start)).toEqual({
        grant,
        scope: tokens.scope,
        expiresAt: tokens.accessExpiresAt,
        awaitsFirstUse: false,
        providerSession: session,
      })
      expect(await store.findProviderSession(grant.id)).toEqual(session)
    }
    const rotate = (hash: string, name: string, now: number) =>
      store.rotateRefreshToken(hash, successorSample(name), rotationTerms(now))
    expect(await rotate('refresh a 1', 'a 2', start)).toEqual({ kind: 'rotated' })
    expect(await rotate('r a', 'x', start + 180)).toMatchObject({
      kind: 'replayed',
      sealedTokens: 'sealed pair 1',
    })
    expect(await rotate('r m', 'b 4', start + 180)).toEqual({ kind: 'rotated' })
    expect(await rotate('r z', 'x', start + 180)).toEqual({ kind: 'reused' })
    expect((await store.findRefreshToken('refresh b 4'))?.endReason).toBe('refresh_token_reuse')
    for (const of of [{ userId: unused.grant.user.id }, { clientId: unused.grant.clientId }]) {
      expect(await store.listUnredeemedCodes(of, { now: start, limit: 5 })).toEqual([unused.code])
    }
    expect(await store.redeemAuthorizationCode(unused.code.codeHash, unused.tokens, start)).toEqual({
      kind: 'redeemed',
    })
    await store.close()
    expect(userVersion(old.path)).toBe(sqliteMigrations.length)
    expect(checkIntegrity(old.path)).toBe('ok')
  })

  it('an ended grant keeps its reason, not its session: that is due for sign-out, unless the provider ended it', async () => {
    const old = createFirstVersion()
    const reused = grantSample('reused')
    const refused = grantSample('refused')
    const live = grantSample('live')
    old.addGrant(reused, ['refresh reused 1'], { at: start + 7, reason: 'refresh_token_reuse' })
    old.addGrant(refused, ['refresh refused 1'], { at: start + 8, reason: 'provider_session_ended' })
    old.addGrant(live, ['refresh live 1'])
    old.database.close()

    const store = openSqliteStore(old.path)
    expect(await store.claimSignOuts({ limit: 10, until: start + 7 }, start + 7)).toEqual([
      { session: reused.session, attempts: 1, since: start + 7 },
    ])
    expect(await dueSignOuts(store, start + grantSeconds)).toEqual([reused.session])
    for (const { grant, tokens } of [reused, refused]) {
      expect(await store.findAccessToken(tokens.accessHash, start)).toBeUndefined()
      expect(await store.findProviderSession(grant.id)).toBeUndefined()
    }
    expect((await store.findRefreshToken('refresh reused 1'))?.endReason).toBe('refresh_token_reuse')
    expect((await store.findRefreshToken('refresh refused 1'))?.endReason).toBe('provider_session_ended')
    expect(await store.findProviderSession(live.grant.id)).toEqual(live.session)
    expect(countRows(old.path)).toMatchObject({ grants: 3, provider_session: 1, sign_out: 1 })
    await store.close()
  })

  it('a lease of the process that was replaced is over, with an unknown outcome', async () => {
    const old = createFirstVersion()
    const { grant, session, tokens } = grantSample('a')
    old.addGrant({ grant, session, tokens, code: grantSample('a').code }, ['refresh a 1'])
    old.database.exec(`UPDATE provider_session SET lease_owner = 'dead', lease_until = ${start + 15}`)
    old.database.close()
    const store = openSqliteStore(old.path)
    const lease = { grantId: grant.id, version: 1, owner: 'new', until: start + 15 }
    expect(await store.leaseProviderSession(lease, start)).toEqual({ kind: 'leased', attempt: 2 })
    await store.close()
  })

  it('whole chains of refresh tokens go with their grants, also those rotated since', async () => {
    const old = createFirstVersion()
    for (const name of ['a', 'b', 'c']) {
      const chain = Array.from({ length: 5 }, (_, index) => `${name} ${(index * 7) % 5}`)
      old.addGrant(grantSample(name), chain)
    }
    // Its grant was deleted before it, as the first version could do.
    old.database.exec(`INSERT INTO refresh_token VALUES ('orphan', 'gone', NULL, NULL, ${start})`)
    old.database.close()
    const store = openSqliteStore(old.path)
    const options = rotationTerms(start + 300)
    expect(await store.rotateRefreshToken('b 3', successorSample('b 6'), options)).toEqual({
      kind: 'rotated',
    })
    expect(countRows(old.path)).toMatchObject({ refresh_token: 16 })
    while ((await store.collectExpired(start + grantSeconds, 4)) > 0);
    expect(countRows(old.path)).toMatchObject({ refresh_token: 0, grants: 0, provider_session: 0 })
    await store.close()
  })

  it('is all or nothing: a process that dies on the way leaves version 1', () => {
    const old = createFirstVersion()
    old.addGrant(grantSample('a'), ['refresh a 1'])
    old.database.exec('CREATE TABLE sign_out (mine TEXT)')
    old.database.close()
    const before = countRows(old.path)
    expect(() => openSqliteStore(old.path)).toThrow(/sign_out/)
    expect(userVersion(old.path)).toBe(1)
    expect(countRows(old.path)).toEqual(before)
  })
})

describe('sqlite schema, from version 6 to 7', () => {
  it('grants keep their last use and replays, and can be used with a tool and from two addresses', async () => {
    const path = newFile()
    const database = new DatabaseSync(path)
    database.exec(
      `PRAGMA journal_mode = WAL; ${sqliteMigrations.slice(0, 6).join('')} PRAGMA user_version = 6`,
    )
    database.exec(
      `INSERT INTO grants (id, user_id, user_sub, client_id, resource, scope, created_at, expires_at, last_used_at,
         last_address, replay_count, replayed_at, replay_first_address, replay_address)
       VALUES ('a', 'p#u', 'u', 'c', 'r', 'mcp', ${start}, ${start + 99}, ${start + 5}, '192.0.2.1', 2, ${start + 4},
         '192.0.2.2', '192.0.2.3'), ('b', 'p#u', 'u', 'c', 'r', 'mcp', ${start}, ${start + 99}, NULL, NULL, NULL, NULL,
         NULL, NULL)`,
    )
    database.close()
    const store = openSqliteStore(path)
    const replays = { count: 2, lastAt: start + 4, addresses: ['192.0.2.2', '192.0.2.3'] }
    expect(await store.findGrant('a')).toMatchObject({
      lastUse: { usedAt: start + 5, address: '192.0.2.1', tool: undefined },
      twoAddresses: undefined,
      replays,
    })
    expect(await store.findGrant('b')).toMatchObject({ lastUse: undefined, twoAddresses: undefined })
    const lastUse = { usedAt: start + 6, address: '192.0.2.2', tool: 'list_notes' }
    const twoAddresses = { addresses: ['192.0.2.1', '192.0.2.2'], at: start + 6 } as const
    await store.recordGrantUses([{ grantId: 'a', ...lastUse, twoAddresses }])
    expect(await store.findGrant('a')).toMatchObject({ lastUse, twoAddresses, replays })
    await store.close()
    expect(userVersion(path)).toBe(sqliteMigrations.length)
    expect(checkIntegrity(path)).toBe('ok')
  })
})
