import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, describe, expect, it, vi } from 'vitest'
import {
  issueAuthorizationCode,
  redeemAuthorizationCode,
} from '../../core/authorization/authorization-code.ts'
import { RefreshLimit, rotateRefreshToken } from '../../core/tokens/refresh-token.ts'
import { ScopeCatalogue } from '../../core/tokens/scope.ts'
import { createSealer, fixedKeyRing } from '../../core/seal.ts'
import { tokenKey } from '../../core/tokens/token-issue.ts'
import { countRows, useDatabaseFiles } from '../../../tests/support/server/database-file.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import {
  addGrant,
  grantSample,
  grantSeconds,
  rotationTerms,
  start,
  successorSample,
} from '../../../tests/support/server/core/grant-sample.ts'
import {
  authorizationRequest,
  challengeVerifier,
  publicClient,
  signInSample,
} from '../../../tests/support/server/core/sign-in-sample.ts'
import { openSqliteStore } from './sqlite.ts'
import { describeStore } from '../../../tests/support/store-contract/store-contract.ts'

const newFile = useDatabaseFiles()
afterEach(() => void vi.restoreAllMocks())

describeStore('sqlite', async () => {
  const path = newFile()
  const store = openSqliteStore(path)
  return {
    store,
    async reopen() {
      await store.close()
      return openSqliteStore(path)
    },
    openSecond: async () => openSqliteStore(path, { shared: true }),
  }
})

describe('sqlite file', () => {
  it('a SQLite file is written ahead, and every commit synced', async () => {
    const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare')
    const store = openSqliteStore(newFile())
    const connection = prepare.mock.contexts.at(-1) as DatabaseSync | undefined
    expect(connection?.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' })
    expect(connection?.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 2 })
    await store.close()
  })

  it('a SQLite file is made with its folder, for its owner only', async () => {
    const path = join(newFile(), 'deeper', 'server.db')
    const store = openSqliteStore(path)
    await addGrant(store, grantSample('a'))
    for (const name of readdirSync(join(path, '..'))) {
      expect(`${name} ${(statSync(join(path, '..', name)).mode & 0o777).toString(8)}`).toBe(`${name} 600`)
    }
    expect(statSync(join(path, '..')).mode & 0o777).toBe(0o700)
    await store.close()
  })

  it('a SQLite file belongs to one server at a time: a second one fails, and may have it afterwards', async () => {
    const path = newFile()
    const first = openSqliteStore(path)
    expect(() => openSqliteStore(path)).toThrow(/Another Drawbridge uses .*Stop it first/s)
    await first.close()
    const second = openSqliteStore(path)
    await second.close()
  })

  it('a file that is not a database is named, and left unchanged', () => {
    const path = newFile()
    const text = 'These are not the bytes of a database. '.repeat(100)
    writeFileSync(path, text)
    expect(() => openSqliteStore(path)).toThrow(path)
    expect(() => openSqliteStore(path)).toThrow(/not a database/)
    expect(readFileSync(path, 'utf8')).toBe(text)
  })

  it('a folder that cannot be made is an error, not an endless loop', () => {
    expect(() => openSqliteStore('/proc/nothing/here/server.db')).toThrow(/ENOENT/)
    expect(() => openSqliteStore('/dev/null/server.db')).toThrow(/ENOTDIR|EEXIST/)
  })

  it('on opening the lease of a process that died is over, but its outcome stays unknown', async () => {
    const path = newFile()
    const first = openSqliteStore(path)
    const { grant } = await addGrant(first, grantSample('a'))
    const lease = { grantId: grant.id, version: 1, owner: 'dead', until: start + 15 }
    expect(await first.leaseProviderSession(lease, start)).toEqual({ kind: 'leased', attempt: 1 })
    await first.close()
    const second = openSqliteStore(path)
    await second.releaseProviderSession({ grantId: grant.id, owner: 'dead', outcomeKnown: true })
    expect(await second.leaseProviderSession({ ...lease, owner: 'new' }, start)).toEqual({
      kind: 'leased',
      attempt: 2,
    })
    await second.close()
  })

  it('on opening the lease of a command that is at work beside the server stays', async () => {
    const path = newFile()
    const first = openSqliteStore(path)
    const { grant } = await addGrant(first, grantSample('a'))
    const lease = { grantId: grant.id, version: 1, owner: 'keys-rotate-1', until: start + 15 }
    await first.leaseProviderSession(lease, start)
    await first.close()
    const second = openSqliteStore(path)
    expect(await second.leaseProviderSession({ ...lease, owner: 'server' }, start)).toEqual({ kind: 'held' })
    await second.close()
  })

  it('a successor that is sealed for one refresh token and stored for another does not open for either', async () => {
    const path = newFile()
    const store = openSqliteStore(path)
    const tokens = ['a', 'b'].map((name) => `mcpr_0000000${name.repeat(65)}`)
    const rotation = {
      store,
      runtime: createFakeRuntime(start),
      scopes: new ScopeCatalogue(),
      accessTokenTtlSeconds: 3600,
      refreshLimit: new RefreshLimit(3600),
      reportGrantEnd: () => {},
    }
    const client = publicClient()
    const refresh = (refreshToken = '') =>
      rotateRefreshToken({ client, refreshToken, scope: undefined, resources: [] }, rotation)
    for (const [index, token] of tokens.entries()) {
      const sample = grantSample(`${index}`, { clientId: client.id })
      await addGrant(store, { ...sample, tokens: { ...sample.tokens, refreshHash: tokenKey(token) } })
      await refresh(token)
      await refresh(token)
    }
    const file = new DatabaseSync(path)
    const rows = file
      .prepare('SELECT number, sealed_tokens FROM access_token WHERE sealed_tokens IS NOT NULL')
      .all()
    expect(rows).toHaveLength(2)
    for (const [index, { number }] of rows.entries()) {
      const other = rows[1 - index]?.['sealed_tokens'] ?? null
      file.prepare('UPDATE access_token SET sealed_tokens = ? WHERE number = ?').run(other, number ?? null)
    }
    file.close()
    for (const token of tokens) await expect(refresh(token)).rejects.toThrow('does not open')
    await store.close()
  })

  it('collecting leaves no row of a dead grant in any table but the outbox', async () => {
    const path = newFile()
    const store = openSqliteStore(path)
    for (let index = 0; index < 10; index += 1) {
      const { tokens } = await addGrant(store, grantSample(`old ${index}`))
      const options = rotationTerms(start)
      await store.rotateRefreshToken(tokens.refreshHash, successorSample(`old ${index} 2`), options)
    }
    await store.endGrant('grant old 3', 'code_reuse', start)
    const kept = grantSample('kept', { expiresAt: start + 2 * grantSeconds })
    await addGrant(store, kept)
    while ((await store.collectExpired(start + grantSeconds, 3)) > 0);
    expect(countRows(path)).toEqual({
      attempt: 0,
      attempt_steps: 0,
      client: 0,
      device: 0,
      social_sign_in: 0,
      second_factor: 0,
      authorization_code: 0,
      access_token: 0,
      refresh_token: 1,
      grants: 1,
      provider_renewal: 0,
      // Ten wait for their sign-out.
      provider_session: 11,
    })
    await store.close()
  })

  it('no grant gets the number of one that is gone: a forgotten token must not serve it', async () => {
    const store = openSqliteStore(newFile())
    const short = grantSample('short', { expiresAt: start + 100 })
    const { tokens } = await addGrant(store, { ...short, tokens: { ...short.tokens, refreshHash: 'r' } })
    while ((await store.collectExpired(start + 100, 500)) > 0);
    await addGrant(store, grantSample('next'))
    // By its token it lives for an hour, but its grant ended long before.
    expect(await store.findAccessToken(tokens.accessHash, start + 100)).toBeUndefined()
    await store.close()
  })

  describe('a refresh token that gets the number of one that is gone', () => {
    it('a refresh token with the number of a deleted one outlives the rest of the grant of the other', async () => {
      const store = openSqliteStore(newFile())
      await addGrant(store, grantSample('old'))
      // Code, access token and refresh token: the grant is left for the next round.
      expect(await store.collectExpired(start + grantSeconds, 3)).toBe(3)
      const { tokens } = await addGrant(store, grantSample('new', { expiresAt: start + 2 * grantSeconds }))
      await store.collectExpired(start + grantSeconds, 500)
      expect(await store.findRefreshToken(tokens.refreshHash)).toBeDefined()
      await store.close()
    })

    it('a refresh token with the number of a deleted one outlives the access token that the other brought', async () => {
      const store = openSqliteStore(newFile())
      const { grant, tokens: old } = await addGrant(store, grantSample('old'))
      await store.rotateRefreshToken(old.refreshHash, successorSample('old 2'), rotationTerms(start))
      await store.endGrant(grant.id, 'code_reuse', start)
      await store.collectExpired(start, 500)
      const { tokens } = await addGrant(store, grantSample('new'))
      const successor = { ...successorSample('new 2'), accessExpiresAt: start + 7200 }
      await store.rotateRefreshToken(tokens.refreshHash, successor, rotationTerms(start))
      await store.collectExpired(start + 3600, 500)
      expect(await store.findRefreshToken(tokens.refreshHash)).toMatchObject({ usedAt: start })
      await store.close()
    })
  })
})

describe('a database shared with a server', () => {
  it('a shared database keeps the leases of the server', async () => {
    const path = newFile()
    const server = openSqliteStore(path)
    const { grant } = await addGrant(server, grantSample('a'))
    const lease = { grantId: grant.id, version: 1, owner: 'server', until: start + 15 }
    await server.leaseProviderSession(lease, start)
    const command = openSqliteStore(path, { shared: true })
    expect(await command.leaseProviderSession({ ...lease, owner: 'command' }, start)).toEqual({
      kind: 'held',
    })
    await command.close()
    await server.close()
  })

  it('a shared database is not created if missing', () => {
    const path = newFile()
    expect(() => openSqliteStore(path, { shared: true })).toThrow(`There is no database at ${path}.`)
    expect(readdirSync(join(path, '..'))).toEqual([])
  })

  it.each([
    ['no schema yet', 0, /schema 0, this version needs \d+\. Start the server, or run/],
    ['a newer schema', 99, /schema 99, this version knows up to \d+/],
  ])('a shared database of %s is refused and unchanged', (_what, version, message) => {
    const path = newFile()
    const database = new DatabaseSync(path)
    database.exec(`CREATE TABLE mine (x TEXT); PRAGMA user_version = ${version}`)
    database.close()
    expect(() => openSqliteStore(path, { shared: true })).toThrow(message)
    expect(countRows(path)).toEqual({ mine: 0 })
  })
})

it('no code, token or provider token is in the files: hashes and sealed values only', async () => {
  const path = newFile()
  const store = openSqliteStore(path)
  const runtime = createFakeRuntime(start)
  const key = runtime.randomBytes(32)
  const ports = {
    store,
    sealer: createSealer(fixedKeyRing([{ kid: 'k', key }]), runtime.randomBytes),
    runtime,
    scopes: new ScopeCatalogue(),
    providerIssuer: 'https://provider',
    reportGrantEnd: () => {},
    sessionTtlSeconds: grantSeconds,
    accessTokenTtlSeconds: 3600,
    refreshLimit: new RefreshLimit(3600),
  }
  const client = publicClient()
  await store.addClient({ ...client, secretHash: undefined })
  const { code } = await issueAuthorizationCode(authorizationRequest(), signInSample(), ports)
  const { code: unused } = await issueAuthorizationCode(authorizationRequest(), signInSample('unused'), ports)
  const redemption = {
    client,
    code,
    codeVerifier: challengeVerifier,
    redirectUri: undefined,
    resources: [],
  }
  const { response: first } = await redeemAuthorizationCode(redemption, ports)
  const refresh = { client, refreshToken: first.refresh_token ?? '', scope: undefined, resources: [] }
  const { response: second } = await rotateRefreshToken(refresh, ports)
  const secrets = [
    code,
    unused,
    challengeVerifier,
    first.access_token,
    refresh.refreshToken,
    second.access_token,
    second.refresh_token ?? '',
    signInSample().session.accessToken,
    signInSample().session.refreshToken,
    signInSample('unused').session.refreshToken,
  ]
  const files = (): Buffer =>
    Buffer.concat(readdirSync(join(path, '..')).map((name) => readFileSync(join(path, '..', name))))
  const open = files()
  await store.close()
  const closed = files()
  for (const bytes of [open, closed]) {
    expect(bytes.includes(authorizationRequest().clientId)).toBe(true)
    expect(bytes.includes(Buffer.from(key))).toBe(false)
    // Searching for half of a token suffices: rows may be split over pages.
    for (const secret of secrets) expect(bytes.includes(secret.slice(0, 16))).toBe(false)
    for (const secret of secrets) expect(bytes.includes(secret.slice(-16))).toBe(false)
  }
})
