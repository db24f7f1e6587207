import { existsSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import { parseSecretKeys } from '../../config/store-address.ts'
import { createSealer, type KeyRing, type Sealer } from '../../core/seal.ts'
import type { Store } from '../../core/store.ts'
import { openKeyFile } from '../../store/secret-key-file.ts'
import { openSqliteStore } from '../../store/sqlite/sqlite.ts'
import {
  type CommandFixture,
  createCommandFixture,
  operate,
} from '../../../tests/support/server/command-fixture.ts'
import { createFakeRuntime, type FakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import {
  secondFactorSample,
  sessionSample,
  start,
  addSealedGrant,
} from '../../../tests/support/server/core/grant-sample.ts'
import { OperatorRefusal } from '../../core/operator/operation.ts'
import { ownCommands } from '../command-table.ts'
import { exitCode } from '../command.ts'

const entry = (kid: string): string => `${kid}:${Buffer.alloc(32, kid).toString('base64')}`

let folder: string
let ringPath: string
let runtime: FakeRuntime
/** The store of a server that is running. */
let store: Store
beforeEach(() => {
  folder = temporaryFolder()
  ringPath = join(folder, 'secret-keys')
  runtime = createFakeRuntime(start)
  store = openSqliteStore(join(folder, 'server.db'))
  writeRing('old')
})
afterEach(() => store.close())

function writeRing(...kids: string[]): void {
  writeFileSync(ringPath, kids.map(entry).join('\n'), { mode: 0o600 })
  setRingAge(7200)
}

/** How long ago the ring was changed last. */
function setRingAge(seconds: number): void {
  utimesSync(ringPath, start - seconds, start - seconds)
}

function commandLine(
  settings: Readonly<Record<string, string>> = {},
  options: { json?: boolean } = {},
): CommandFixture {
  return createCommandFixture(
    { STORE: `sqlite:${join(folder, 'server.db')}`, SECRET_KEYS: `file:${ringPath}`, ...settings },
    { ...options, runtime },
  )
}

/** The key ring of a running server. */
function serverRing(): KeyRing {
  return openKeyFile(ringPath, { parse: parseSecretKeys, now: runtime.now })
}

function sealerOf(ring: KeyRing = serverRing()): Sealer {
  return createSealer(ring, runtime.randomBytes)
}

const connect = (name: string, sealer: Sealer = sealerOf()): Promise<unknown> =>
  addSealedGrant(store, sealer, name)

const kidsInFile = (): string[] =>
  readFileSync(ringPath, 'utf8')
    .trim()
    .split('\n')
    .map((line) => line.split(':')[0] ?? '')

/** How a command that does not do its work says so. */
async function failureOf(work: Promise<unknown>): Promise<OperatorRefusal> {
  try {
    await work
  } catch (error) {
    if (error instanceof OperatorRefusal) return error
    throw error
  }
  throw new Error('The command did its work.')
}

describe('keys generate', () => {
  const generateKey = async (input: CommandFixture['input']): Promise<number | undefined> =>
    ownCommands.find(({ usage }) => usage === 'keys generate')?.run(input, [], {})

  it('keys generate prints one valid entry, and nothing else', async () => {
    const { input, said } = createCommandFixture({}, { runtime })
    expect(await generateKey(input)).toBe(exitCode.ok)
    const { stdout, stderr } = said()
    expect(stderr).toBe('')
    const [key] = parseSecretKeys(stdout.trim())
    expect(key?.kid).toMatch(/^k20270115-[0-9a-f]{6}$/)
    expect(new Set(key?.key).size).toBeGreaterThan(1)
  })

  it('keys generate needs no configuration', async () => {
    const { input, facts } = createCommandFixture({ BASE_URL: 'nonsense' }, { json: true })
    expect(await generateKey(input)).toBe(exitCode.ok)
    const { kid, entry } = facts()
    expect(entry).toMatch(new RegExp(`^${String(kid)}:`))
  })
})

describe('keys list', () => {
  const listKeys = (input: CommandFixture['input']): Promise<number> => operate('keys list', { input })

  it('keys list prints the role of each key, and how much depends on it', async () => {
    writeRing('new', 'old', 'idle')
    await connect('a', sealerOf({ keys: () => parseSecretKeys(entry('old')), refresh: () => {} }))
    await connect('b')
    await connect('c')
    const { input, said } = commandLine()
    expect(await listKeys(input)).toBe(exitCode.ok)
    expect(said()).toEqual({
      stdout: `key   sealed sessions  role
new   2                seals
old   1                opens
idle  0                opens  unused
`,
      stderr: '',
    })
  })

  it('keys list fails for a key that the store needs and the ring lacks', async () => {
    await connect('a', sealerOf({ keys: () => parseSecretKeys(entry('lost')), refresh: () => {} }))
    const { input, facts } = commandLine({}, { json: true })
    expect(await listKeys(input)).toBe(exitCode.failed)
    expect(facts()).toEqual({
      ok: false,
      keys: [
        { kid: 'old', role: 'seals', sessions: 0, in_use: false },
        { kid: 'lost', role: 'missing', sessions: 1, in_use: true },
      ],
    })
  })

  it('keys list closes its store when it is done, and when it is refused', async () => {
    const path = join(folder, 'other.db')
    await openSqliteStore(path).close()
    const settings = { STORE: `sqlite:${path}` }
    await listKeys(commandLine(settings).input)
    // SQLite removes it with the last connection.
    expect(existsSync(`${path}-wal`)).toBe(false)
    await failureOf(operate('keys remove', commandLine(settings), {}, { operands: ['none'] }))
    expect(existsSync(`${path}-wal`)).toBe(false)
  })

  it('keys list counts a sign-in in progress as a use', async () => {
    writeRing('new', 'old')
    await store.addSecondFactor({
      ...secondFactorSample('f'),
      sealed: 'old.request',
      session: sessionSample('f', 'new.session'),
    })
    const { input, said } = commandLine()
    await listKeys(input)
    expect(said().stdout).toMatch(/^old +0 +opens +used by sign-ins in progress$/m)
  })

  it('keys list accepts a ring in the environment', async () => {
    const { input, facts } = commandLine({ SECRET_KEYS: `${entry('a')},${entry('b')}` }, { json: true })
    expect(await listKeys(input)).toBe(exitCode.ok)
    expect(facts()['keys']).toHaveLength(2)
  })

  it('keys list refuses a store in memory, with a next step', async () => {
    const failure = await failureOf(listKeys(commandLine({ STORE: 'memory:' }).input))
    expect([failure.status, failure.nextStep !== '']).toEqual([400, true])
  })
})

describe('keys rotate', () => {
  const rotate = (line: CommandFixture): Promise<number> => operate('keys rotate', line)

  it('keys rotate adds a key, re-encrypts everything with it, and names removable keys', async () => {
    for (const name of ['a', 'b', 'c']) await connect(name)
    const line = commandLine()
    expect(await rotate(line)).toBe(exitCode.ok)
    const [added, ...others] = kidsInFile()
    expect(others).toEqual(['old'])
    expect(await store.listSealingKeys()).toEqual([added])
    const { stdout, stderr } = line.said()
    expect(stdout).toContain(`\n${String(added)}  3                seals`)
    expect(stdout).toMatch(/^old +0 +opens +unused$/m)
    expect(stderr).toContain(`Added ${String(added)}`)
    expect(stderr).toContain('drawbridge-server keys remove old')
    expect(stderr).toMatch(/after 2027-01-15T09:\d\dZ/)
    expect(stdout + stderr).not.toMatch(/[A-Za-z0-9+/]{40}/)
  })

  it('keys rotate leaves a session whose refresh was interrupted, and says so', async () => {
    await connect('a')
    await store.leaseProviderSession(
      { grantId: 'grant a', version: 1, owner: 'dead', until: start },
      start - 15,
    )
    const line = commandLine()
    expect(await rotate(line)).toBe(exitCode.ok)
    expect(runtime.now() - start).toBeLessThan(10)
    const { stderr } = line.said()
    expect(stderr).toContain('1 session left as found: the outcome of an earlier refresh is not known.')
    expect(stderr).not.toContain('keys remove')
  })

  it('keys rotate re-encrypts the others, then fails for sessions that no key opens', async () => {
    await connect('a', sealerOf({ keys: () => parseSecretKeys(entry('lost')), refresh: () => {} }))
    await connect('b')
    const line = commandLine({}, { json: true })
    expect(await rotate(line)).toBe(exitCode.failed)
    expect(line.facts()).toMatchObject({ ok: false, resealed: 1, unreadable: 1 })
  })

  it('keys rotate twice at once leaves everything encrypted with the first key', async () => {
    for (let n = 0; n < 20; n += 1) await connect(`${n}`)
    const both = [commandLine(), commandLine()]
    expect(await Promise.all(both.map((line) => rotate(line)))).toEqual([exitCode.ok, exitCode.ok])
    expect(kidsInFile()).toHaveLength(3)
    expect(await store.listSealingKeys()).toEqual([kidsInFile()[0]])
  })

  it('keys rotate stops when interrupted, and says how to continue', async () => {
    await connect('a')
    const line = commandLine()
    expect(await operate('keys rotate', line, {}, { isStopped: () => true })).toBe(exitCode.failed)
    expect(line.said().stderr).toContain('drawbridge-server keys rotate')
    expect(await store.listSealingKeys()).toEqual(['old'])
  })

  it('keys rotate uses the first key of a ring in the environment, and says how to add one', async () => {
    await connect('a')
    const both = commandLine({ SECRET_KEYS: `${entry('new')},${entry('old')}` })
    expect(await rotate(both)).toBe(exitCode.ok)
    expect(await store.listSealingKeys()).toEqual(['new'])
    expect(both.said().stderr).toContain('Take old out of DRAWBRIDGE_SECRET_KEYS after')
    const one = commandLine({ SECRET_KEYS: entry('new') })
    expect(await rotate(one)).toBe(exitCode.ok)
    expect(one.said().stderr).toContain('keys generate')
  })

  it('keys rotate changes the generated key file, and fails without it', async () => {
    const line = commandLine({ SECRET_KEYS: '' })
    expect(await rotate(line)).toBe(exitCode.ok)
    expect(kidsInFile()).toHaveLength(2)
    rmSync(ringPath)
    const failure = await failureOf(rotate(line))
    expect(failure.nextStep).toContain('drawbridge-server serve')
  })
})

describe('keys remove', () => {
  const remove = (line: CommandFixture, kids: string[]): Promise<number> =>
    operate('keys remove', line, {}, { operands: kids })
  beforeEach(() => writeRing('new', 'old', 'older'))

  it('keys remove removes unused keys, and keeps the mode of the file', async () => {
    const line = commandLine({}, { json: true })
    expect(await remove(line, ['old', 'older'])).toBe(exitCode.ok)
    expect(kidsInFile()).toEqual(['new'])
    expect(statSync(ringPath).mode & 0o777).toBe(0o600)
    expect(line.facts()).toEqual({ ok: true, removed: ['old', 'older'], keys: ['new'] })
  })

  it.each<[what: string, kids: string[], status: number, message: RegExp]>([
    ['the key that seals', ['new'], 409, /new is the key that seals/],
    ['one that is not there', ['none'], 404, /no key none in the ring/],
    ['one of several that is not there', ['old', 'none'], 404, /no key none/],
  ])('keys remove refuses %s', async (_, kids, status, message) => {
    const failure = await failureOf(remove(commandLine(), kids))
    expect(failure.status).toBe(status)
    expect(failure.message).toMatch(message)
    expect(kidsInFile()).toEqual(['new', 'old', 'older'])
  })

  it('keys remove refuses a key that a session needs', async () => {
    await connect('a', sealerOf({ keys: () => parseSecretKeys(entry('old')), refresh: () => {} }))
    const failure = await failureOf(remove(commandLine(), ['old']))
    expect(failure.message).toContain('still needs old')
    expect(failure.nextStep).toContain('drawbridge-server keys rotate')
    expect(await remove(commandLine(), ['older'])).toBe(exitCode.ok)
  })

  it('keys remove refuses within an hour of the last change, for open pages', async () => {
    setRingAge(3599)
    const failure = await failureOf(remove(commandLine(), ['old']))
    expect(failure.message).toContain('less than an hour ago')
    expect(failure.nextStep).toContain('2027-01-15T08:01Z')
    expect(kidsInFile()).toEqual(['new', 'old', 'older'])
    setRingAge(3600)
    expect(await remove(commandLine(), ['old'])).toBe(exitCode.ok)
  })

  it('keys remove refuses a ring in the environment', async () => {
    const failure = await failureOf(remove(commandLine({ SECRET_KEYS: entry('a') }), ['a']))
    expect(failure.status).toBe(400)
  })
})
