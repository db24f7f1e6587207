import { execFile } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { oldNode } from '../support/bridge/process/old-node.ts'
import { staged } from '../support/bridge/process/stage.ts'
import { until } from '../support/until.ts'

const run = promisify(execFile)
const bridgeFolder = fileURLToPath(new URL('../../bridge', import.meta.url))
const rootLicense = fileURLToPath(new URL('../../LICENSE', import.meta.url))

const node20 = oldNode()

/** What npm puts into a package that is made of a folder. */
async function pack(from: string, ...flags: string[]): Promise<{ filename: string; files: string[] }> {
  const { stdout } = await run('npm', ['pack', '--json', '--ignore-scripts', ...flags], { cwd: from })
  const [{ filename, files }] = JSON.parse(stdout) as [{ filename: string; files: { path: string }[] }]
  return { filename, files: files.map(({ path }) => path) }
}

let folder: string
let installed: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'drawbridge-package-'))
  const { filename } = await pack(bridgeFolder, '--pack-destination', folder)
  const target = join(folder, 'target')
  mkdirSync(target)
  writeFileSync(join(target, 'package.json'), '{"private":true}')
  // Offline: without optional packages there is nothing to fetch.
  const flags = ['--omit=optional', '--offline', '--no-audit', '--no-fund', '--ignore-scripts']
  await run('npm', ['install', join(folder, filename), ...flags], { cwd: target })
  installed = join(target, 'node_modules')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function files(): { path: string; bytes: number }[] {
  return readdirSync(installed, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ path: path.slice(installed.length + 1), bytes: statSync(path).size }))
}

const launcher = (): string => join(installed, 'mcp-drawbridge', 'launcher.cjs')
const packed = (name: string): string => readFileSync(join(installed, 'mcp-drawbridge', name), 'utf8')
const mayBePacked =
  /^(?:launcher\.cjs|package\.json|README\.md|LICENSE|dist\/(?:[\w-]+\.mjs(?:\.map)?|THIRD-PARTY-NOTICES\.txt))$/

describe('the package, installed without optional dependencies', () => {
  it('the package has no dependencies, and at most 100 files and 4 MB', () => {
    const all = files().filter(({ path }) => path !== '.package-lock.json')
    expect(readdirSync(installed).filter((name) => !name.startsWith('.'))).toEqual(['mcp-drawbridge'])
    expect(all.length).toBeLessThanOrEqual(100)
    expect(all.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(4 * 1024 * 1024)
  })

  it('the package has the bundle, its documents and a manifest, and no source, test or path of this computer', () => {
    const paths = files()
      .map(({ path }) => path.replace('mcp-drawbridge/', ''))
      .filter((path) => path !== '.package-lock.json')
    expect(paths).toEqual(
      expect.arrayContaining(['launcher.cjs', 'package.json', 'README.md', 'LICENSE', 'dist/main.mjs']),
    )
    expect(paths.filter((path) => !mayBePacked.test(path))).toEqual([])
    expect(paths).toContain('dist/THIRD-PARTY-NOTICES.txt')
    expect(packed('LICENSE')).toBe(readFileSync(rootLicense, 'utf8'))
    for (const { path } of files()) {
      expect(readFileSync(join(installed, path), 'utf8').includes(bridgeFolder), path).toBe(false)
    }
  })

  it('the package leaves out files that other builds put beside the bundle', async () => {
    const copy = join(folder, 'copy')
    for (const name of ['launcher.cjs', 'package.json', 'README.md', 'LICENSE', 'dist']) {
      cpSync(join(bridgeFolder, name), join(copy, name), { recursive: true })
    }
    for (const name of ['dist/drawbridge.mcpb', 'dist/main.css.map', 'main.ts', 'x.test.ts']) {
      writeFileSync(join(copy, name), '')
    }
    const { files: paths } = await pack(copy, '--dry-run')
    expect(paths).toContain('dist/main.mjs')
    expect(paths.filter((path) => !mayBePacked.test(path))).toEqual([])
  })

  it.each([process.execPath, ...(node20 === undefined ? [] : [node20])])(
    'the package runs as a command, also by npx, on %s',
    async (node) => {
      const environment = { ...process.env, PATH: `${dirname(node)}:/usr/bin:/bin` }
      const programs: [string, string[]][] = [
        [join(installed, '.bin', 'drawbridge'), []],
        ['npx', ['--offline', 'drawbridge']],
        ['npx', ['--offline', 'mcp-drawbridge']],
      ]
      for (const [program, first] of programs) {
        const { stdout } = await run(program, [...first, '--version'], {
          cwd: dirname(installed),
          env: environment,
        })
        expect(stdout).toBe(`${(JSON.parse(packed('package.json')) as { version: string }).version}\n`)
      }
    },
  )
})

describe('the README of the package', () => {
  const commandLine = async (...words: string[]): Promise<string> =>
    (await run(process.execPath, [launcher(), ...words], { env: { HOME: folder } })).stdout

  it('the README of the package names the Node that it needs', () => {
    const { engines } = JSON.parse(packed('package.json')) as { engines: { node: string } }
    expect(packed('README.md')).toContain(`Node ${engines.node.replace('>=', '')} or newer`)
  })

  it('the README of the package names only commands and flags that exist', async () => {
    const readme = packed('README.md')
    const commands = [...new Set([...readme.matchAll(/drawbridge ([a-z]+) /g)].map(([, name = '']) => name))]
    expect(commands).toEqual(expect.arrayContaining(['login', 'logout', 'doctor', 'install', 'uninstall']))
    const helps = await Promise.all(commands.map((name) => commandLine(name, '--help')))
    const known = `${helps.join('\n')}\n${await commandLine('--help')}`
    for (const [flag] of readme.matchAll(/(?<=[ `])--[a-z][a-z-]+/g)) {
      // A flag of npm.
      if (flag !== '--global') expect(known).toMatch(new RegExp(`(?<![\\w-])${flag}(?![\\w-])`))
    }
  })

  it.each<[words: string, exit: number]>([
    ['doctor http://127.0.0.1:1/mcp', 4],
    ['install cursor https://mcp.example.com/mcp --dry-run', 0],
    ['token https://mcp.example.com/mcp', 3],
  ])('the README of the package is true of --json and exit codes: %s', async (words, exit) => {
    const child = run(process.execPath, [launcher(), ...words.split(' '), '--json'], {
      env: { HOME: folder },
    })
    child.child.stdin?.end()
    const { code, stdout } = await child.then(
      (ended) => ({ code: 0, stdout: ended.stdout }),
      (error: unknown) => error as { code: number; stdout: string },
    )
    expect(stdout.trimEnd().split('\n')).toHaveLength(1)
    expect(JSON.parse(stdout)).toMatchObject({ ok: exit === 0 })
    expect(code).toBe(exit)
  })

  it('the README of the package names every supported client, and no other', async () => {
    const { clients } = JSON.parse(await commandLine('install', '--json')) as { clients: { id: string }[] }
    const [, list = ''] = /`install` knows\s([^.]*)\./.exec(packed('README.md')) ?? []
    expect(list.split(/,\s|\sand\s/)).toEqual(clients.map(({ id }) => id))
  })

  it('the README of the package shows readable client entries with its own name', () => {
    const blocks = [...packed('README.md').matchAll(/```json\n([^`]*)```/g)].map(([, text = '']) => text)
    expect(blocks).not.toEqual([])
    for (const block of blocks) {
      expect(JSON.parse(block)).toMatchObject({
        mcpServers: {
          notes: { command: 'npx', args: ['-y', 'mcp-drawbridge', expect.any(String) as string] },
        },
      })
    }
  })
})

describe.skipIf(node20 === undefined)('the package on Node 20', () => {
  it.each(['legacy', 'modern'] as const)(
    'the package on Node 20 carries a legacy client to a %s server',
    (era) =>
      staged(async (stage) => {
        const remote = await stage.remote({ era })
        const bridge = stage.bridge(remote.url, { node: node20 ?? '', launcher: launcher() })
        expect(await bridge.initialize()).toHaveProperty('result.serverInfo.name', 'remote')
        expect(await bridge.ask('tools/list')).toHaveProperty('result.tools')
        expect(await bridge.call('progress', { n: 2 })).toBe('done')
        bridge.endInput()
        expect(await bridge.over).toMatchObject({ code: 0, signal: null })
        expect(bridge.stderr()).not.toMatch(/warning/i)
      })(),
  )

  it(
    'the package on Node 20 signs in, without a keychain',
    staged(async (stage) => {
      const remote = await stage.remote({ auth: true, approval: 'wait' })
      const bridge = stage.bridge(remote.url, {
        node: node20 ?? '',
        launcher: launcher(),
        flags: ['--store', 'file'],
      })
      expect(await bridge.initialize()).toHaveProperty('result.serverInfo')
      await until(() => bridge.stderr().includes('response_type=code'), 'the link')
      const link = /https?:\S+response_type=code\S*/.exec(bridge.stderr())?.[0] ?? ''
      remote.set({ approval: 'auto' })
      const back = await fetch(link)
      expect(back.status).toBe(200)
      const call = (): Promise<unknown> => bridge.call('echo', { text: 'signed in' })
      await expect.poll(call, { timeout: 20_000 }).toBe('signed in')
    }),
  )
})
