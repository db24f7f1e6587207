import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { applyPlan } from './apply-plan.ts'
import type { Client } from './client.ts'
import { clients, findClient } from './client-table.ts'
import { readEntries } from './edit/entry-edit.ts'
import { thrownBy } from '../../tests/support/thrown-by.ts'
import { planUninstall } from './plan-uninstall.ts'
import {
  createInstallFixture,
  type InstallFixture,
  launchSample,
} from '../../tests/support/bridge/install/install-fixture.ts'

const now = Date.parse('2027-01-02T03:04:05Z') / 1000
const backupName = /\.drawbridge-backup-20270102-030405$/

let fixture: InstallFixture
beforeEach(() => void (fixture = createInstallFixture()))

/** Builds a realistic file of a client, with comments, another server and other settings. */
function filledFile({ format, keys }: Client): string {
  if (format === 'toml') return '# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "y" # c\n'
  return `// mine\n{\n  "theme": "x", // c\n  ${JSON.stringify(keys[0])}: {\n    // theirs\n    "other": { "command": "y" },\n  },\n}\n`
}

/** Builds a file with a foreign entry under our name. */
function takenFile({ format, keys }: Client): string {
  if (format === 'toml')
    return '[mcp_servers.app]\ncommand = "npx"\nargs = ["-y", "mcp-remote", "https://app.example.com/mcp"]\n'
  return `{\n  ${JSON.stringify(keys[0])}: {\n    "app": { "command": "npx", "args": ["-y", "mcp-remote", "https://app.example.com/mcp"] }\n  }\n}\n`
}

function entryIn(client: Client, path: string): unknown {
  return readEntries(readFileSync(path, 'utf8').replace(/^\uFEFF/, ''), client).get('app')
}

function uninstallPlan(client: Client, name?: string, serverUrl?: string): ReturnType<typeof planUninstall> {
  return planUninstall({
    client,
    path: fixture.file(client),
    name,
    serverUrl,
    launcher: '/opt/mcp-drawbridge/launcher.cjs',
  })
}

const everyClient = clients.map((client) => [client.id, client] as const)

describe.each(everyClient)('install for %s', (_, client) => {
  const wanted = client.entry(launchSample)

  it('makes a file that is not there, and its folder', () => {
    const plan = fixture.plan(client)
    expect(plan.change).toBe('add')
    expect(applyPlan(plan, now)).toEqual({ backup: undefined })
    const path = fixture.file(client)
    expect(entryIn(client, path)).toEqual(wanted)
    const umask = process.umask()
    expect(statSync(path).mode % 0o1000).toBe(client.isPrivate ? 0o600 : 0o666 & ~umask)
    expect(readdirSync(dirname(path))).not.toContainEqual(expect.stringMatching(/tmp|backup/))
  })

  it('adds one entry to a file with comments and other servers, and takes it out again', () => {
    const before = filledFile(client)
    const path = fixture.file(client, before)
    chmodSync(path, 0o660)
    const plan = fixture.plan(client)
    expect(plan.diff).not.toMatch(/^-(?!.*"command": "y")/m)
    const { backup = '' } = applyPlan(plan, now)
    expect(backup).toMatch(backupName)
    expect(dirname(backup)).toBe(dirname(path))
    expect(readFileSync(backup, 'utf8')).toBe(before)
    expect([statSync(path), statSync(backup)].map(({ mode }) => mode % 0o1000)).toEqual([0o660, 0o600])
    expect(entryIn(client, path)).toEqual(wanted)
    const applied = applyPlan(uninstallPlan(client), now)
    expect(readFileSync(path, 'utf8')).toBe(before)
    expect(applied.backup).toMatch(/-2$/)
  })

  it('keeps one copy of the file, the newest, and no file that is none of ours', () => {
    const path = fixture.file(client, filledFile(client))
    const others = ['.drawbridge-backup-mine', '.bak', '.drawbridge-backup-20270101-000000.txt'].map(
      (end) => path + end,
    )
    for (const other of [
      ...others,
      `${path}.drawbridge-backup-20260101-000000`,
      `${path}.drawbridge-backup-20260101-000000-2`,
    ])
      writeFileSync(other, 'x')
    applyPlan(fixture.plan(client), now)
    const { backup = '' } = applyPlan(uninstallPlan(client), now + 60)
    expect(new Set(readdirSync(dirname(path)).map((name) => join(dirname(path), name)))).toEqual(
      new Set([path, backup, ...others]),
    )
  })

  it('keeps CRLF and the byte order mark', () => {
    const before = `\uFEFF${filledFile(client).replaceAll('\n', '\r\n')}`
    const path = fixture.file(client, before)
    applyPlan(fixture.plan(client), now)
    const after = readFileSync(path, 'utf8')
    expect(after.startsWith('\uFEFF')).toBe(true)
    expect(after).not.toMatch(/(?<!\r)\n/)
    expect(entryIn(client, path)).toEqual(wanted)
    applyPlan(uninstallPlan(client), now)
    expect(readFileSync(path, 'utf8')).toBe(before)
  })

  it('does nothing when the same entry is there', () => {
    fixture.file(client, filledFile(client))
    applyPlan(fixture.plan(client), now)
    const again = fixture.plan(client)
    expect([again.change, again.diff]).toEqual(['same', ''])
  })

  it('updates an entry of ours for the same server, and keeps what the user put into it', () => {
    const path = fixture.file(client, filledFile(client))
    applyPlan(fixture.plan(client), now)
    const text = readFileSync(path, 'utf8')
    const touched =
      client.format === 'toml'
        ? `${text}startup_timeout_sec = 60 # slow\n`
        : text.replace(/"app": \{/, '"app": {\n      "disabled": true,')
    writeFileSync(path, touched)
    const launch = { ...launchSample, command: '/opt/node-30/bin/node', env: { DRAWBRIDGE_HOME: '/srv' } }
    const plan = fixture.plan(client, { launch })
    expect(plan.change).toBe('update')
    applyPlan(plan, now)
    const extra = client.format === 'toml' ? { startup_timeout_sec: 60n } : { disabled: true }
    expect(entryIn(client, path)).toEqual({ ...client.entry(launch), ...extra })
  })

  it('calls an entry of ours for another server a replacement', () => {
    applyPlan(fixture.plan(client), now)
    const [launcher = ''] = launchSample.args
    const launch = { ...launchSample, args: [launcher, 'https://other.example.com/mcp'] }
    expect(fixture.plan(client, { launch }).change).toBe('replace')
  })

  it('treats a foreign entry as a replacement', () => {
    const path = fixture.file(client, takenFile(client))
    const plan = fixture.plan(client)
    expect(plan.change).toBe('replace')
    expect(plan.diff).toMatch(/^-.*mcp-remote/m)
    applyPlan(plan, now)
    expect(entryIn(client, path)).toEqual(wanted)
  })

  it('leaves a broken file alone and says where it is broken', () => {
    const text = client.format === 'toml' ? 'a = 1\nb = = 2\n' : '{\n  "a": 1,,\n}\n'
    const path = fixture.file(client, text)
    const error = thrownBy(() => fixture.plan(client))
    expect(error).toMatchObject({
      fault: 'unreadable',
      message: expect.stringMatching(/: line 2, column \d+: /) as string,
    })
    expect(error?.message).toContain(path)
    expect(readEntries(error?.snippet ?? '', client).get('app')).toEqual(wanted)
    expect(readFileSync(path, 'utf8')).toBe(text)
    expect(readdirSync(dirname(path))).toHaveLength(1)
  })

  it('leaves a read-only file alone', () => {
    const path = fixture.file(client, filledFile(client))
    chmodSync(path, 0o444)
    const plan = fixture.plan(client)
    expect(thrownBy(() => applyPlan(plan, now))?.fault).toBe('not_writable')
    expect(readFileSync(path, 'utf8')).toBe(filledFile(client))
    expect(readdirSync(dirname(path))).toHaveLength(1)
  })

  it('follows a symbolic link', () => {
    const path = fixture.file(client)
    const real = join(fixture.home, 'dotfiles', 'config')
    mkdirSync(dirname(path), { recursive: true })
    mkdirSync(dirname(real))
    writeFileSync(real, filledFile(client))
    symlinkSync(real, path)
    const { backup = '' } = applyPlan(fixture.plan(client), now)
    expect(dirname(backup)).toBe(dirname(real))
    expect(entryIn(client, real)).toEqual(wanted)
    expect(readFileSync(path, 'utf8')).toBe(readFileSync(real, 'utf8'))
  })
})

describe('what is around a file', () => {
  const cursor = findClient('cursor')

  it('is made by a link to a file that is not there', () => {
    const path = fixture.file(cursor)
    mkdirSync(dirname(path), { recursive: true })
    symlinkSync('../real.json', path)
    applyPlan(fixture.plan(cursor), now)
    expect(existsSync(join(fixture.home, 'real.json'))).toBe(true)
  })

  it('has both names of a file with two afterwards', () => {
    const path = fixture.file(cursor, '{}')
    const other = join(fixture.home, 'other.json')
    linkSync(path, other)
    applyPlan(fixture.plan(cursor), now)
    expect(readFileSync(other, 'utf8')).toContain('"app"')
  })

  it('has comments that its client does not take, and that is said', () => {
    const desktop = findClient('claude-desktop')
    fixture.file(desktop, '{ "a": 1 }')
    expect(fixture.plan(desktop).warnings).toEqual([])
    fixture.file(desktop, '{ "a": 1, /* c */ }')
    expect(fixture.plan(desktop).warnings).toEqual([
      expect.stringContaining('Claude Desktop does not read it'),
    ])
    fixture.file(cursor, '{ "a": 1, /* c */ }')
    expect(fixture.plan(cursor).warnings).toEqual([])
  })

  it.runIf(process.getuid?.() === 0)('keeps its owner when another user may write it', () => {
    const path = fixture.file(cursor, '{}')
    chownSync(path, 12_345, 12_345)
    applyPlan(fixture.plan(cursor), now)
    expect(statSync(path)).toMatchObject({ uid: 12_345, gid: 12_345 })
    expect(readFileSync(path, 'utf8')).toContain('"app"')
  })

  it('makes private folders for private files', () => {
    applyPlan(fixture.plan(findClient('codex')), now)
    expect(statSync(join(fixture.home, '.codex')).mode % 0o1000).toBe(0o700)
  })

  it.each([['{}'], [undefined]])(
    'was written by another program after it was %s: nothing is lost',
    (before) => {
      const path = fixture.file(cursor, before)
      const plan = fixture.plan(cursor)
      fixture.file(cursor, '{ "new": 1 }')
      expect(thrownBy(() => applyPlan(plan, now))?.fault).toBe('changed')
      expect(readFileSync(path, 'utf8')).toBe('{ "new": 1 }')
    },
  )

  it('is a folder', () => {
    mkdirSync(fixture.file(cursor), { recursive: true })
    const error = thrownBy(() => fixture.plan(cursor))
    expect(error?.fault).toBe('unreadable')
    expect(error?.snippet).toContain('"app"')
  })

  it('has a file where its folder should be', () => {
    writeFileSync(join(fixture.home, '.cursor'), '')
    expect(thrownBy(() => applyPlan(fixture.plan(cursor), now))).toMatchObject({
      fault: 'not_writable',
    })
  })

  it('is not UTF-8', () => {
    const path = fixture.file(cursor, '')
    writeFileSync(path, Buffer.from('{"é":1}', 'utf16le'))
    expect(thrownBy(() => fixture.plan(cursor))?.message).toContain('is not UTF-8')
  })

  it.each([
    ['[]', 'its content is not an object'],
    ['{"mcpServers":[]}', '"mcpServers" is not an object'],
    ['{"mcpServers":{},"mcpServers":{}}', '"mcpServers" is there twice'],
  ])('has another shape: %s', (text, message) => {
    fixture.file(cursor, text)
    expect(thrownBy(() => fixture.plan(cursor))).toMatchObject({
      fault: 'unreadable',
      message: expect.stringContaining(message) as string,
    })
  })

  it('has a form that is left to people', () => {
    fixture.file(findClient('codex'), 'mcp_servers = {}\n')
    const error = thrownBy(() => fixture.plan(findClient('codex')))
    expect(error).toMatchObject({ fault: 'unsupported', nextStep: 'Change the entry by hand.' })
    expect(error?.snippet).toMatch(/^\[mcp_servers\.app\]\ncommand = /)
  })
})

describe('variables of an entry', () => {
  const gemini = findClient('gemini')

  it('of the user stay, ours go when they are not set any more', () => {
    const withHome = { ...launchSample, env: { DRAWBRIDGE_HOME: '/srv' } }
    const path = fixture.file(gemini)
    applyPlan(fixture.plan(gemini, { launch: withHome }), now)
    writeFileSync(
      path,
      readFileSync(path, 'utf8').replace('"DRAWBRIDGE_HOME"', '"MINE": "1", "DRAWBRIDGE_HOME"'),
    )
    applyPlan(fixture.plan(gemini), now)
    expect(entryIn(gemini, path)).toMatchObject({ env: { MINE: '1' } })
    expect(readFileSync(path, 'utf8')).not.toContain('DRAWBRIDGE_HOME')
  })
})

describe('uninstall', () => {
  const cursor = findClient('cursor')
  const own = (url: string): unknown => ({ command: 'node', args: ['/x/mcp-drawbridge/launcher.cjs', url] })
  const write = (servers: Record<string, unknown>): string =>
    fixture.file(cursor, JSON.stringify({ mcpServers: servers }))

  it('takes the entry of a name, a server, or the only one', () => {
    const servers = { a: own('https://a.example/mcp'), b: own('https://b.example/mcp'), c: { command: 'c' } }
    write(servers)
    expect(uninstallPlan(cursor, 'a').name).toBe('a')
    expect(uninstallPlan(cursor, undefined, 'https://b.example/mcp').name).toBe('b')
    write({ a: servers.a, c: servers.c })
    expect(uninstallPlan(cursor).name).toBe('a')
  })

  it.each([
    ['of another program', 'c', undefined, 'taken', '"c" in '],
    ['that is not there', 'z', undefined, 'missing', 'no entry "z"'],
    ['for another server', undefined, 'https://z.example/mcp', 'missing', 'for https://z.example/mcp'],
    ['which one', undefined, undefined, 'usage', '2 entries of ours: a, b'],
  ])('refuses an entry %s', (_, name, url, fault, message) => {
    write({ a: own('https://a.example/mcp'), b: own('https://b.example/mcp'), c: { command: 'c' } })
    expect(thrownBy(() => uninstallPlan(cursor, name, url))).toMatchObject({
      fault,
      message: expect.stringContaining(message) as string,
    })
  })

  it('finds nothing where there is no file', () => {
    expect(thrownBy(() => uninstallPlan(cursor))?.fault).toBe('missing')
  })
})
