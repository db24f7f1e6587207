import { execFile, execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { staged, until } from './support/stage.ts'

const run = promisify(execFile)
const bridgeFolder = fileURLToPath(new URL('../../bridge', import.meta.url))
const systemNode = '/usr/bin/node'

/** The lowest Node that the package promises to run on, if it is here. */
function oldNode(): string | undefined {
  if (!existsSync(systemNode)) return undefined
  return execFileSync(systemNode, ['--version']).toString().startsWith('v20.') ? systemNode : undefined
}

const node20 = oldNode()

let folder: string
let installed: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'drawbridge-package-'))
  const packed = await run('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', folder], {
    cwd: bridgeFolder,
  })
  const [{ filename }] = JSON.parse(packed.stdout) as [{ filename: string }]
  const target = join(folder, 'target')
  mkdirSync(target)
  writeFileSync(join(target, 'package.json'), '{"private":true}')
  // Offline: without what is optional there is nothing to fetch.
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

describe('the package, installed without what is optional', () => {
  it('is itself alone, at most 60 files and 4 MB', () => {
    const all = files().filter(({ path }) => path !== '.package-lock.json')
    expect(readdirSync(installed).filter((name) => !name.startsWith('.'))).toEqual(['mcp-drawbridge'])
    expect(all.length).toBeLessThanOrEqual(60)
    expect(all.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(4 * 1024 * 1024)
  })

  it('has the bundle and a manifest in it, and no source, test or path of this computer', () => {
    const paths = files().map(({ path }) => path.replace('mcp-drawbridge/', ''))
    expect(paths).toEqual(expect.arrayContaining(['launcher.cjs', 'package.json', 'dist/main.mjs']))
    expect(paths.filter((path) => /\.ts$|\.map$|test/.test(path))).toEqual([])
    for (const { path } of files()) {
      expect(readFileSync(join(installed, path), 'utf8').includes(bridgeFolder), path).toBe(false)
    }
  })

  it('is a command', async () => {
    const { stdout } = await run(join(installed, '.bin', 'drawbridge'), ['--version'])
    expect(stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  it.each(['18.20.4', '10.24.1'])(
    'says on Node %s what it needs, in place of a syntax error',
    async (version) => {
      const disguise = join(folder, 'disguise.cjs')
      writeFileSync(
        disguise,
        `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`,
      )
      const failed = await run(process.execPath, [
        '-r',
        disguise,
        launcher(),
        'https://mcp.example.com/mcp',
      ]).catch((error: unknown) => error as { code: number; stdout: string; stderr: string })
      expect(failed).toMatchObject({ code: 1, stdout: '' })
      expect(failed.stderr).toContain(`drawbridge needs Node 20.19 or newer; this is Node ${version} at `)
      expect(failed.stderr.trimEnd().split('\n').at(-1)).toContain('absolute path')
    },
  )
})

describe.skipIf(node20 === undefined)('the package on Node 20', () => {
  it.each([
    ['legacy', 'legacy'],
    ['legacy', 'modern'],
    ['modern', 'legacy'],
    ['modern', 'modern'],
  ] as const)('carries a %s client to a %s server', (client, era) =>
    staged(async (stage) => {
      const remote = await stage.remote({ era })
      const bridge = stage.bridge(remote.url, { node: node20 ?? '', launcher: launcher() })
      if (client === 'modern') {
        bridge.speakModern()
        await bridge.ask('server/discover')
      } else expect(await bridge.initialize()).toHaveProperty('result.serverInfo.name', 'remote')
      expect(await bridge.ask('tools/list')).toHaveProperty('result.tools')
      expect(await bridge.call('echo', { text: 'from twenty' })).toBe('from twenty')
      expect(await bridge.call('progress', { n: 2 })).toBe('done')
      bridge.endInput()
      expect(await bridge.over).toMatchObject({ code: 0, signal: null })
      expect(bridge.stderr()).not.toMatch(/warning/i)
    })(),
  )

  it(
    'signs in, without a keychain',
    staged(async (stage) => {
      const remote = await stage.remote({ auth: true, approval: 'wait' })
      const bridge = stage.bridge(remote.url, {
        node: node20 ?? '',
        launcher: launcher(),
        flags: ['--store', 'file', '--auth-wait', '20s'],
      })
      const opened = bridge.initialize()
      await until('the link', () => bridge.stderr().includes('response_type=code'))
      const link = /https?:\S+response_type=code\S*/.exec(bridge.stderr())?.[0] ?? ''
      remote.set({ approval: 'auto' })
      const back = await fetch(link)
      expect(back.status).toBe(200)
      expect(await opened).toHaveProperty('result.serverInfo.name', 'remote')
      expect(await bridge.call('echo', { text: 'signed in' })).toBe('signed in')
    }),
  )

  it.each([
    [['--version'], 0],
    [['--help'], 0],
    [['status'], 3],
    [['install', '--list'], 0],
  ])('runs %j', (words, expected) =>
    staged(async (stage) => {
      const { code, stderr } = await stage.command(words, { node: node20 ?? '', launcher: launcher() })
      expect(code).toBe(expected)
      expect(stderr).not.toMatch(/ at \w|Error:/)
    })(),
  )
})
