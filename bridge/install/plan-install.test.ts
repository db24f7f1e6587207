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
import { basename, dirname, join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { ConfigError } from '@drawbridge/shared/settings/setting.ts'
import type { Client } from './client.ts'
import { clients, findClient } from './client-table.ts'
import { readConfigFile } from './config-file.ts'
import { InstallError } from './install-error.ts'
import { thrownBy } from '../../tests/support/thrown-by.ts'
import { planInstall, snippetOf } from './plan-install.ts'
import { planUninstall } from './plan-uninstall.ts'
import { readServerList } from './server-list.ts'
import {
  createInstallFixture,
  type InstallFixture,
  launchSample,
  writePlan,
} from '../../tests/support/bridge/install/install-fixture.ts'

let fixture: InstallFixture
beforeEach(() => void (fixture = createInstallFixture()))

/** Builds a realistic file of a client, with another server and other settings. */
function filledFile({ keys }: Client): string {
  const list = { other: { command: 'y', args: [] } }
  return `${JSON.stringify({ theme: 'x', [keys[0] ?? '']: list, last: [1] }, undefined, 2)}\n`
}

/** Builds a file with a foreign entry under our name. */
function takenFile({ keys }: Client): string {
  const app = { command: 'npx', args: ['-y', 'mcp-remote', 'https://app.example.com/mcp'] }
  return JSON.stringify({ [keys[0] ?? '']: { app } }, undefined, 2)
}

function entryIn(client: Client, path: string): unknown {
  return readServerList(client, readConfigFile(path)).entries?.get('app')
}

function uninstallPlan(client: Client, name?: string, serverUrl?: string): ReturnType<typeof planUninstall> {
  const launcher = '/opt/mcp-drawbridge/launcher.cjs'
  return planUninstall(fixture.target(client), { name, serverUrl, launcher })
}

const jsonClients = clients
  .filter(({ format }) => format !== 'toml')
  .map((client) => [client.id, client] as const)

describe.each(jsonClients)('install for %s', (_, client) => {
  const wanted = client.entry(launchSample)

  it('install creates a missing file and its folder', () => {
    const plan = fixture.plan(client)
    expect(plan.change).toBe('add')
    expect(writePlan(plan)).toBeUndefined()
    const path = fixture.file(client)
    expect(entryIn(client, path)).toEqual(wanted)
    expect(statSync(path).mode % 0o1000).toBe(0o600)
    expect(readdirSync(dirname(path))).not.toContainEqual(expect.stringMatching(/tmp|backup/))
  })

  it('install adds one entry to a file with other servers, and removes it again', () => {
    const before = filledFile(client)
    const path = fixture.file(client, before)
    chmodSync(path, 0o660)
    const backup = writePlan(fixture.plan(client)) ?? ''
    expect(backup).toBe(`${path}.drawbridge-backup`)
    expect(readFileSync(backup, 'utf8')).toBe(before)
    expect([statSync(path), statSync(backup)].map(({ mode }) => mode % 0o1000)).toEqual([0o660, 0o600])
    expect(entryIn(client, path)).toEqual(wanted)
    writePlan(uninstallPlan(client))
    expect(readFileSync(path, 'utf8')).toBe(before)
  })

  it('install keeps the file before its last change as a backup, and no older one', () => {
    const path = fixture.file(client, filledFile(client))
    writePlan(fixture.plan(client))
    const before = readFileSync(path, 'utf8')
    const backup = writePlan(uninstallPlan(client)) ?? ''
    expect(readFileSync(backup, 'utf8')).toBe(before)
    expect(new Set(readdirSync(dirname(path)))).toEqual(new Set([path, backup].map((name) => basename(name))))
  })

  it('install keeps CRLF and the byte order mark', () => {
    const before = `\uFEFF${filledFile(client).replaceAll('\n', '\r\n')}`
    const path = fixture.file(client, before)
    writePlan(fixture.plan(client))
    const after = readFileSync(path, 'utf8')
    expect(after.startsWith('\uFEFF')).toBe(true)
    expect(after).not.toMatch(/(?<!\r)\n/)
    expect(entryIn(client, path)).toEqual(wanted)
    writePlan(uninstallPlan(client))
    expect(readFileSync(path, 'utf8')).toBe(before)
  })

  it('install changes nothing if the same entry is there', () => {
    fixture.file(client, filledFile(client))
    writePlan(fixture.plan(client))
    expect(fixture.plan(client).change).toBe('same')
  })

  it('install updates an entry of ours for the same server, and keeps what the user put into it', () => {
    const path = fixture.file(client, filledFile(client))
    writePlan(fixture.plan(client))
    const touched = readFileSync(path, 'utf8').replace(/"app": \{/, '"app": {\n      "disabled": true,')
    writeFileSync(path, touched)
    const launch = { ...launchSample, command: '/opt/node-30/bin/node', env: { DRAWBRIDGE_HOME: '/srv' } }
    const plan = fixture.plan(client, { launch })
    expect(plan.change).toBe('update')
    writePlan(plan)
    expect(entryIn(client, path)).toEqual({ ...client.entry(launch), disabled: true })
  })

  it('install treats an entry of ours for another server as another entry', () => {
    writePlan(fixture.plan(client))
    const [launcher = ''] = launchSample.args
    const launch = { ...launchSample, args: [launcher, 'https://other.example.com/mcp'] }
    expect(fixture.plan(client, { launch }).change).toBe('replace')
  })

  it('install treats a foreign entry as a replacement', () => {
    const path = fixture.file(client, takenFile(client))
    const plan = fixture.plan(client)
    expect(plan.change).toBe('replace')
    writePlan(plan)
    expect(entryIn(client, path)).toEqual(wanted)
  })

  it('install leaves an invalid file alone', () => {
    const text = '{\n  "a": 1,,\n}\n'
    const path = fixture.file(client, text)
    expect(thrownBy(() => fixture.plan(client))?.message).toBe(
      `${path} is left as it is: it is not valid JSON.`,
    )
    expect(readFileSync(path, 'utf8')).toBe(text)
    expect(readdirSync(dirname(path))).toHaveLength(1)
  })

  it('install leaves a read-only file alone', () => {
    const path = fixture.file(client, filledFile(client))
    chmodSync(path, 0o444)
    const plan = fixture.plan(client)
    expect(thrownBy(() => writePlan(plan))?.message).toContain('cannot be written (it is read-only)')
    expect(readFileSync(path, 'utf8')).toBe(filledFile(client))
    expect(readdirSync(dirname(path))).toHaveLength(1)
  })

  it('install follows a symbolic link', () => {
    const path = fixture.file(client)
    const real = join(fixture.home, 'dotfiles', 'config')
    mkdirSync(dirname(path), { recursive: true })
    mkdirSync(dirname(real))
    writeFileSync(real, filledFile(client))
    symlinkSync(real, path)
    expect(dirname(writePlan(fixture.plan(client)) ?? '')).toBe(dirname(real))
    expect(entryIn(client, real)).toEqual(wanted)
    expect(readFileSync(path, 'utf8')).toBe(readFileSync(real, 'utf8'))
  })
})

const codex = findClient('codex')

it('install for codex leaves the file to the user, as it is TOML', () => {
  fixture.file(codex, '[mcp_servers.app]\n')
  expect(fixture.plan(codex)).toMatchObject({
    change: 'add',
    command: undefined,
    write: 'it is TOML, which is not edited here',
  })
  expect(thrownBy(() => uninstallPlan(codex, 'app'))).toMatchObject({
    nextStep: 'Remove the table [mcp_servers.app] from it by hand.',
  })
})

it('install for codex has a table to paste, with a path of Windows and variables', () => {
  const launch = {
    command: String.raw`C:\node.exe`,
    args: ['a"b', '\u007F'],
    env: { DRAWBRIDGE_HOME: 'D:\\' },
  }
  expect(snippetOf(codex, 'app', codex.entry(launch))).toBe(
    String.raw`[mcp_servers.app]
command = "C:\\node.exe"
args = ["a\"b", "\u007F"]
env = { DRAWBRIDGE_HOME = "D:\\" }`,
  )
})

describe('the file of a client', () => {
  const cursor = findClient('cursor')

  it('the file of a client is created through a symbolic link to a missing file', () => {
    const path = fixture.file(cursor)
    mkdirSync(dirname(path), { recursive: true })
    symlinkSync('../real.json', path)
    writePlan(fixture.plan(cursor))
    expect(existsSync(join(fixture.home, 'real.json'))).toBe(true)
  })

  it('the file of a client keeps its other hard links', () => {
    const path = fixture.file(cursor, '{}')
    const other = join(fixture.home, 'other.json')
    linkSync(path, other)
    writePlan(fixture.plan(cursor))
    expect(readFileSync(other, 'utf8')).toContain('"app"')
  })

  it.runIf(process.getuid?.() === 0)('the file of a client keeps its owner when written as root', () => {
    const path = fixture.file(cursor, '{}')
    chownSync(path, 12_345, 12_345)
    writePlan(fixture.plan(cursor))
    expect(statSync(path)).toMatchObject({ uid: 12_345, gid: 12_345 })
    expect(readFileSync(path, 'utf8')).toContain('"app"')
  })

  it('the file of a client is private in a private folder if both were missing', () => {
    const client = findClient('claude-code')
    const folder = join(fixture.home, 'private')
    const { system } = fixture.target(client)
    const environment = { CLAUDE_CONFIG_DIR: folder }
    const target = { client, scope: 'user', system: { ...system, environment } } as const
    writePlan(planInstall(target, 'app', launchSample))
    expect([folder, join(folder, '.claude.json')].map((path) => statSync(path).mode % 0o1000)).toEqual([
      0o700, 0o600,
    ])
  })

  it.each([['{}'], [undefined]])(
    'the file of a client is not written if another program has changed it since it was %s',
    (before) => {
      const path = fixture.file(cursor, before)
      const plan = fixture.plan(cursor)
      fixture.file(cursor, '{ "new": 1 }')
      expect(thrownBy(() => writePlan(plan))?.message).toContain('Another program has changed')
      expect(readFileSync(path, 'utf8')).toBe('{ "new": 1 }')
    },
  )

  it('the file of a client is not written if it is a folder', () => {
    mkdirSync(fixture.file(cursor), { recursive: true })
    expect(thrownBy(() => fixture.plan(cursor))?.message).toContain('is not a file.')
  })

  it('the file of a client is not written if its folder is a file', () => {
    writeFileSync(join(fixture.home, '.cursor'), '')
    expect(thrownBy(() => writePlan(fixture.plan(cursor)))?.message).toContain('cannot be written')
  })

  it('the file of a client is not written if it is not UTF-8', () => {
    const path = fixture.file(cursor, '')
    writeFileSync(path, Buffer.from('{"é":1}', 'utf16le'))
    expect(thrownBy(() => fixture.plan(cursor))?.message).toContain('is not UTF-8')
  })

  it.each([
    ['[]', 'its content is not an object'],
    ['{"mcpServers":[]}', '"mcpServers" is not an object'],
  ])('the file of a client is not written if its content is %s', (text, message) => {
    fixture.file(cursor, text)
    expect(thrownBy(() => fixture.plan(cursor))?.message).toContain(message)
  })
})

const gemini = findClient('gemini')

it('the variables of an entry keep the user’s own, and lose ours when it is no longer set', () => {
  const withHome = { ...launchSample, env: { DRAWBRIDGE_HOME: '/srv' } }
  const path = fixture.file(gemini)
  writePlan(fixture.plan(gemini, { launch: withHome }))
  writeFileSync(
    path,
    readFileSync(path, 'utf8').replace('"DRAWBRIDGE_HOME"', '"MINE": "1", "DRAWBRIDGE_HOME"'),
  )
  writePlan(fixture.plan(gemini))
  expect(entryIn(gemini, path)).toMatchObject({ env: { MINE: '1' } })
  expect(readFileSync(path, 'utf8')).not.toContain('DRAWBRIDGE_HOME')
})

describe('uninstall', () => {
  const cursor = findClient('cursor')
  const own = (url: string): unknown => ({ command: 'node', args: ['/x/mcp-drawbridge/launcher.cjs', url] })
  const write = (servers: Record<string, unknown>): string =>
    fixture.file(cursor, JSON.stringify({ mcpServers: servers }))

  it('uninstall removes the entry of a name or a server, or the only one', () => {
    const servers = { a: own('https://a.example/mcp'), b: own('https://b.example/mcp'), c: { command: 'c' } }
    write(servers)
    expect(uninstallPlan(cursor, 'a').name).toBe('a')
    expect(uninstallPlan(cursor, undefined, 'https://b.example/mcp').name).toBe('b')
    write({ a: servers.a, c: servers.c })
    expect(uninstallPlan(cursor).name).toBe('a')
  })

  it.each([
    ['for another program', 'c', undefined, InstallError, '"c" in '],
    ['that does not exist', 'z', undefined, InstallError, 'No entry "z"'],
    ['for another server', undefined, 'https://z.example/mcp', InstallError, 'for https://z.example/mcp'],
    ['that is one of two', undefined, undefined, ConfigError, '2 entries of ours: a, b'],
  ])('uninstall refuses an entry %s', (_, name, url, kind, message) => {
    write({ a: own('https://a.example/mcp'), b: own('https://b.example/mcp'), c: { command: 'c' } })
    const error = thrownBy(() => uninstallPlan(cursor, name, url))
    expect(error).toBeInstanceOf(kind)
    expect(error?.message).toContain(message)
  })

  it('uninstall refuses if the file does not exist', () => {
    expect(thrownBy(() => uninstallPlan(cursor))?.message).toContain('No entry of ours')
  })
})
