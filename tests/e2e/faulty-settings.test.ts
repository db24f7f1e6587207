import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runAlone } from './command-process.ts'

let folder: string
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'drawbridge-faulty-'))
  write('garbage', 'not what belongs here: hunter2')
  write('clients.json', '[{}, { "client_id": "with blank" }]')
  write('syntax.mjs', 'export const tools = [')
  write('tools.mjs', 'export const tools = [{}, { name: "a b" }]')
  write('lively.mjs', 'setInterval(() => {}, 1000); export const tools = 1')
  write('kept/secret-keys', 'hunter2')
})
afterAll(() => rmSync(folder, { recursive: true }))

function write(name: string, content: string): void {
  const path = join(folder, name)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}

/** Returns the faults that a command prints on stderr; FOLDER in settings stands for the folder with the files above. */
async function faultsOf(
  settings: Readonly<Record<string, string>>,
  argv: readonly string[] = [],
): Promise<{ code: number | null; stdout: string; faults: string[] }> {
  const inFolder = (text: string): string => text.replaceAll('FOLDER', folder)
  const { code, stdout, stderr } = await runAlone(argv.map(inFolder), {
    settings: Object.fromEntries(Object.entries(settings).map(([name, value]) => [name, inFolder(value)])),
  })
  expect(stderr).not.toMatch(/^ +at /m)
  expect(stderr + stdout).not.toContain('hunter2')
  const faults = stderr.split('\n').filter((line) => line.startsWith('  - '))
  return { code, stdout, faults: faults.map((line) => line.slice(4)) }
}

describe('a file that a setting names and that cannot be used', () => {
  it('is told with every other fault at once, each by the name that it was given under', async () => {
    const { code, stdout, faults } = await faultsOf(
      {
        LISTEN: 'nowhere',
        STOER: 'memory:',
        STORE: 'sqlite:FOLDER',
        SECRET_KEYS: 'file:FOLDER/missing',
        TOOLS: 'FOLDER/tools.mjs',
      },
      ['--clients', 'FOLDER/clients.json'],
    )
    expect([code, stdout]).toEqual([2, ''])
    const count = (name: string): number => faults.filter((fault) => fault.startsWith(`${name}: `)).length
    expect({
      listen: count('DRAWBRIDGE_LISTEN'),
      stoer: count('DRAWBRIDGE_STOER'),
      store: count('DRAWBRIDGE_STORE'),
      secretKeys: count('DRAWBRIDGE_SECRET_KEYS'),
      clients: count('--clients'),
      all: faults.length - count('DRAWBRIDGE_TOOLS'),
    }).toEqual({ listen: 1, stoer: 1, store: 1, secretKeys: 1, clients: 2, all: 6 })
    expect(count('DRAWBRIDGE_TOOLS')).toBeGreaterThan(2)
  })

  it('is the generated key file too, where nothing names one', async () => {
    const { code, faults } = await faultsOf({ STORE: 'sqlite:FOLDER/kept/server.db' })
    expect([code, faults.length]).toEqual([2, 1])
    expect(faults[0]).toMatch(/^DRAWBRIDGE_SECRET_KEYS: .*kept\/secret-keys.*holds no key ring/)
  })

  it('ends the process also when the tools module has begun something that goes on', async () => {
    const { code, faults } = await faultsOf({ TOOLS: 'FOLDER/lively.mjs' })
    expect([code, faults.length]).toEqual([2, 1])
    expect(faults[0]).toMatch(/^DRAWBRIDGE_TOOLS: .*tools: must be an array/)
  })

  it.each<[command: string, names: readonly string[]]>([
    ['migrate', ['LOG', 'STORE']],
    ['keys list', ['LOG', 'STORE', 'SECRET_KEYS']],
    ['keys rotate', ['LOG', 'STORE', 'SECRET_KEYS']],
    ['clients list', ['LOG', 'STORE', 'CLIENTS']],
    ['clients add --name One', ['LOG', 'STORE']],
    ['grants list', ['LOG', 'STORE']],
  ])('is told by %s --json, as far as it uses them: %j', async (command, names) => {
    const { code, stdout, faults } = await faultsOf(
      {
        LOG: 'loud',
        STORE: 'sqlite:FOLDER',
        SECRET_KEYS: 'file:FOLDER/missing',
        CLIENTS: 'FOLDER/garbage',
        TOOLS: 'FOLDER/missing.mjs',
      },
      [...command.split(' '), '--json'],
    )
    expect(code).toBe(2)
    expect(faults.map((fault) => fault.split(':')[0])).toEqual(
      expect.arrayContaining(names.map((name) => `DRAWBRIDGE_${name}`)),
    )
    expect(faults).toHaveLength(names.length)
    expect(JSON.parse(stdout)).toMatchObject({ ok: false, errors: faults })
  })

  it('is told by doctor, beside the faults of other settings', async () => {
    const settings = {
      LOG: 'loud',
      STORE: 'sqlite:FOLDER',
      SECRET_KEYS: 'file:FOLDER/garbage',
      CLIENTS: 'FOLDER/garbage',
      TOOLS: 'FOLDER/tools.mjs',
    }
    const { code, stdout } = await faultsOf(settings, ['doctor', '--json'])
    expect(code).toBe(1)
    const { checks } = JSON.parse(stdout) as {
      checks: { state: string; name: string; message: string; fix?: string }[]
    }
    const failed = checks.filter(({ state }) => state === 'fail')
    for (const name of Object.keys(settings)) {
      expect(failed.filter(({ message }) => message.startsWith(`DRAWBRIDGE_${name}: `)).length, name).toBe(
        name === 'TOOLS' ? 4 : 1,
      )
    }
    expect(failed.filter(({ fix }) => fix === undefined)).toEqual([])
  })
})
