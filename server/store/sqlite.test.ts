import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { issueAuthorizationCode, redeemAuthorizationCode } from '../core/authorization-code.ts'
import { rotateRefreshToken } from '../core/refresh-token.ts'
import { createSealer } from '../core/seal.ts'
import { createFakeRuntime } from '../testing/fake-runtime.ts'
import { addGrant, grantSample, grantSeconds, start, successorSample } from '../testing/grant-sample.ts'
import {
  authorizationRequest,
  challengeVerifier,
  publicClient,
  signInSample,
} from '../testing/sign-in-sample.ts'
import { openSqliteStore } from './sqlite.ts'
import { describeStore } from './store-contract.ts'

const folders: string[] = []
const children: ChildProcess[] = []
afterEach(() => {
  vi.restoreAllMocks()
  for (const child of children.splice(0)) child.kill('SIGKILL')
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

/** The contract is about answers, so it may run where a sync costs nothing; durability is tested on a real disk. */
const fastDisk = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()

function newFile(disk = tmpdir()): string {
  const folder = mkdtempSync(join(disk, 'drawbridge-store-'))
  folders.push(folder)
  return join(folder, 'server.db')
}

describeStore('sqlite', async () => {
  const path = newFile(fastDisk)
  const store = openSqliteStore(path)
  return {
    store,
    async reopen() {
      await store.close()
      return openSqliteStore(path)
    },
  }
})

/** Rows of every table, read past the store. */
function rowCounts(path: string): Record<string, number> {
  const database = new DatabaseSync(path, { readOnly: true })
  const tables = database.prepare(`SELECT name FROM sqlite_schema WHERE type = 'table'`).all() as {
    name: string
  }[]
  const counts = tables.map(({ name }) => {
    const { count } = database.prepare(`SELECT count(*) AS count FROM ${name}`).get() as { count: number }
    return [name, count] as const
  })
  database.close()
  return Object.fromEntries(counts)
}

describe('sqlite file', () => {
  it('writes ahead and syncs every commit', async () => {
    const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare')
    const store = openSqliteStore(newFile(fastDisk))
    const connection = prepare.mock.contexts.at(-1) as DatabaseSync | undefined
    expect(connection?.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' })
    expect(connection?.prepare('PRAGMA synchronous').get()).toEqual({ synchronous: 2 })
    await store.close()
  })

  it('is made with its folder, for its owner only', async () => {
    const path = join(newFile(), 'deeper', 'server.db')
    const store = openSqliteStore(path)
    await addGrant(store, grantSample('a'))
    for (const name of readdirSync(join(path, '..'))) {
      expect(`${name} ${(statSync(join(path, '..', name)).mode & 0o777).toString(8)}`).toBe(`${name} 600`)
    }
    expect(statSync(join(path, '..')).mode & 0o777).toBe(0o700)
    await store.close()
  })

  it('is of one process at a time: a second one is told, and may have it afterwards', async () => {
    const path = newFile()
    const first = openSqliteStore(path)
    expect(() => openSqliteStore(path)).toThrow(/Another Drawbridge uses .*Stop it first/s)
    await first.close()
    const second = openSqliteStore(path)
    await second.close()
  })

  it('an open one can still be read, as a backup does', async () => {
    const path = newFile()
    const store = openSqliteStore(path)
    await addGrant(store, grantSample('a'))
    const reader = new DatabaseSync(path, { readOnly: true })
    expect(reader.prepare('SELECT count(*) AS grants FROM grants').get()).toEqual({ grants: 1 })
    reader.close()
    await store.close()
  })

  it('a file that is no database is named, and left as it is', () => {
    const path = newFile()
    writeFileSync(path, 'these are not the bytes of a database at all')
    expect(() => openSqliteStore(path)).toThrow(path)
    expect(readFileSync(path, 'utf8')).toBe('these are not the bytes of a database at all')
  })

  it('a folder that cannot be made is an error, not an endless loop', () => {
    expect(() => openSqliteStore('/proc/nothing/here/server.db')).toThrow(/ENOENT/)
    expect(() => openSqliteStore('/dev/null/server.db')).toThrow(/ENOTDIR|EEXIST/)
  })

  it('leases of a process that died are cleared on opening', async () => {
    const path = newFile(fastDisk)
    const first = openSqliteStore(path)
    const { grant } = await addGrant(first, grantSample('a'))
    const lease = { grantId: grant.id, version: 1, owner: 'dead', until: start + 15 }
    expect(await first.leaseProviderSession(lease, start)).toBe(true)
    await first.close()
    const second = openSqliteStore(path)
    expect(await second.leaseProviderSession({ ...lease, owner: 'new' }, start)).toBe(true)
    await second.close()
  })

  it('a replay and a reuse are told apart across a restart', async () => {
    const path = newFile(fastDisk)
    const first = openSqliteStore(path)
    const { tokens } = await addGrant(first, grantSample('a'))
    const options = { now: start, replaySeconds: 120 }
    await first.rotateRefreshToken(tokens.refreshHash, successorSample('a 2'), options)
    await first.close()
    const second = openSqliteStore(path)
    const again = (now: number) =>
      second.rotateRefreshToken(tokens.refreshHash, successorSample('x'), { ...options, now })
    expect(await again(start + 120)).toEqual({ kind: 'replayed', sealedTokens: 'sealed pair a 2' })
    expect(await again(start + 121)).toEqual({ kind: 'reused' })
    await second.close()
  })

  it('collecting leaves no row of a dead grant in any table', async () => {
    const path = newFile(fastDisk)
    const store = openSqliteStore(path)
    for (let index = 0; index < 10; index += 1) await addGrant(store, grantSample(`old ${index}`))
    const kept = grantSample('kept', { expiresAt: start + 2 * grantSeconds })
    await addGrant(store, kept)
    while ((await store.collectExpired(start + grantSeconds, 3)) > 0);
    expect(rowCounts(path)).toEqual({
      client: 0,
      social_sign_in: 0,
      authorization_code: 0,
      access_token: 0,
      refresh_token: 1,
      grants: 1,
      provider_session: 1,
    })
    await store.close()
  })

  it('a used code keeps nothing that could still be opened', async () => {
    const path = newFile(fastDisk)
    const store = openSqliteStore(path)
    await addGrant(store, grantSample('a'))
    const database = new DatabaseSync(path, { readOnly: true })
    expect(database.prepare('SELECT session_sealed FROM authorization_code').all()).toEqual([
      { session_sealed: null },
    ])
    database.close()
    await store.close()
  })
})

describe('sqlite schema', () => {
  const userVersion = (path: string): unknown => {
    const database = new DatabaseSync(path, { readOnly: true })
    const row = database.prepare('PRAGMA user_version').get()
    database.close()
    return row
  }

  it('an empty file is brought from version 0 to the newest', async () => {
    const path = newFile(fastDisk)
    writeFileSync(path, '')
    const store = openSqliteStore(path)
    await addGrant(store, grantSample('a'))
    await store.close()
    expect(userVersion(path)).toEqual({ user_version: 1 })
  })

  it('opening again migrates nothing', async () => {
    const path = newFile(fastDisk)
    await openSqliteStore(path).close()
    const before = rowCounts(path)
    await openSqliteStore(path).close()
    expect(rowCounts(path)).toEqual(before)
  })

  it('a migration that fails leaves the file as it was', () => {
    const path = newFile(fastDisk)
    const database = new DatabaseSync(path)
    database.exec('CREATE TABLE provider_session (mine TEXT)')
    database.close()
    expect(() => openSqliteStore(path)).toThrow(/provider_session/)
    expect(userVersion(path)).toEqual({ user_version: 0 })
    expect(rowCounts(path)).toEqual({ provider_session: 0 })
  })

  it('a newer schema is refused and untouched', () => {
    const path = newFile(fastDisk)
    const database = new DatabaseSync(path)
    database.exec('CREATE TABLE future (x TEXT); PRAGMA user_version = 99')
    database.close()
    expect(() => openSqliteStore(path)).toThrow(/schema 99, this version knows up to 1/)
    expect(rowCounts(path)).toEqual({ future: 0 })
  })

  it('a file that is no database is refused and untouched', () => {
    const path = newFile(fastDisk)
    const text = 'This is not a database. '.repeat(100)
    writeFileSync(path, text)
    expect(() => openSqliteStore(path)).toThrow(/not a database/)
    expect(readFileSync(path, 'utf8')).toBe(text)
  })
})

describe('a killed process', () => {
  // Writes rotations one after the other and says each one that has resolved.
  const writer = (path: string): string => `
    import { writeSync } from 'node:fs'
    import { openSqliteStore } from ${JSON.stringify(new URL('sqlite.ts', import.meta.url).href)}
    import { addGrant, grantSample, successorSample } from ${JSON.stringify(new URL('../testing/grant-sample.ts', import.meta.url).href)}
    const store = openSqliteStore(${JSON.stringify(path)})
    for (let index = 0; ; index += 1) {
      const { tokens } = await addGrant(store, grantSample(String(index)))
      const successor = successorSample(index + ' 2')
      await store.rotateRefreshToken(tokens.refreshHash, successor, { now: ${start}, replaySeconds: 120 })
      writeSync(1, index + '\\n')
    }`

  it('loses nothing that it has acknowledged', async () => {
    const path = newFile()
    const script = join(path, '..', 'writer.ts')
    writeFileSync(script, writer(path))
    const child = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] })
    children.push(child)
    let said = ''
    for await (const chunk of child.stdout) {
      said += String(chunk)
      if (said.split('\n').length > 30 && !child.killed) child.kill('SIGKILL')
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    expect(child.signalCode).toBe('SIGKILL')

    const acknowledged = said.split('\n').slice(0, -1)
    expect(acknowledged.length).toBeGreaterThanOrEqual(30)
    const store = openSqliteStore(path)
    for (const name of acknowledged) {
      const { grant, session, tokens } = grantSample(name)
      expect(await store.findProviderSession(grant.id)).toEqual(session)
      expect(await store.findAccessToken(`access ${name} 2`, start)).toMatchObject({ grant })
      const again = { now: start, replaySeconds: 120 }
      expect(await store.rotateRefreshToken(tokens.refreshHash, successorSample('x'), again)).toEqual({
        kind: 'replayed',
        sealedTokens: `sealed pair ${name} 2`,
      })
    }
    await store.close()
    const database = new DatabaseSync(path)
    expect(database.prepare('PRAGMA integrity_check').all()).toEqual([{ integrity_check: 'ok' }])
    database.close()
  })
})

describe('secrets at rest', () => {
  it('no code, token or provider token is in the files: hashes and sealed values only', async () => {
    const path = newFile(fastDisk)
    const store = openSqliteStore(path)
    const runtime = createFakeRuntime(start)
    const key = runtime.randomBytes(32)
    const ports = {
      store,
      sealer: createSealer([{ kid: 'k', key }], runtime.randomBytes),
      runtime,
      providerIssuer: 'https://provider',
      reportGrantEnd: () => {},
      sessionTtlSeconds: grantSeconds,
      accessTokenTtlSeconds: 3600,
    }
    const client = publicClient()
    await store.addClient({ ...client, secretHash: undefined })
    const code = await issueAuthorizationCode(authorizationRequest(), signInSample(), ports)
    const unused = await issueAuthorizationCode(authorizationRequest(), signInSample('unused'), ports)
    const redemption = {
      client,
      code,
      codeVerifier: challengeVerifier,
      redirectUri: undefined,
      resources: [],
    }
    const first = await redeemAuthorizationCode(redemption, ports)
    const refresh = { client, refreshToken: first.refresh_token ?? '', scope: undefined, resources: [] }
    const second = await rotateRefreshToken(refresh, ports)
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
      // Half of a token is enough to look for: rows may be split over pages.
      for (const secret of secrets) expect(bytes.includes(secret.slice(0, 16))).toBe(false)
      for (const secret of secrets) expect(bytes.includes(secret.slice(-16))).toBe(false)
    }
  })
})
