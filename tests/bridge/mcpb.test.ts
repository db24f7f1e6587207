import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { unzipSync } from 'fflate'
import { beforeEach, describe, expect, it } from 'vitest'
import manifestOfPackage from '../../bridge/package.json' with { type: 'json' }
import { type McpbSource, packMcpb } from '../../scripts/mcpb/mcpb-archive.ts'
import { desktopParts, fetchPackage, installedParts, lockedPackage } from '../../scripts/mcpb/native-part.ts'
import { type BridgeChild, talkTo } from '../support/bridge/process/bridge-child.ts'
import { oldNode } from '../support/bridge/process/old-node.ts'
import { startRemote } from '../support/remote/remote.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const bridge = fileURLToPath(new URL('../../bridge/', import.meta.url))
const root = fileURLToPath(new URL('../..', import.meta.url))
const modules = join(root, 'node_modules')

let folder: string
beforeEach(() => void (folder = temporaryFolder()))

function unpack(archive: Buffer, target: string): void {
  for (const [name, content] of Object.entries(unzipSync(archive))) {
    mkdirSync(dirname(join(target, name)), { recursive: true })
    writeFileSync(join(target, name), content)
  }
}

/** A bridge of two lines, and a keychain with parts for `systems`, each an os and a name. */
function source(systems: readonly (readonly [os: string, name: string])[]): McpbSource {
  const copy = join(folder, 'bridge')
  mkdirSync(join(copy, 'dist'), { recursive: true })
  for (const name of ['launcher.cjs', 'package.json']) cpSync(join(bridge, name), join(copy, name))
  writeFileSync(join(copy, 'dist', 'main.mjs'), "import './chunk.mjs'")
  writeFileSync(
    join(copy, 'dist', 'chunk.mjs'),
    'process.stdout.write(JSON.stringify(process.argv.slice(2)) + "\\n")',
  )
  writeFileSync(join(copy, 'LICENSE'), 'free')
  const folderOf = (name: string, manifest: object): string => {
    const made = join(folder, 'parts', name)
    mkdirSync(made, { recursive: true })
    writeFileSync(join(made, 'package.json'), JSON.stringify(manifest))
    for (const file of ['index.js', 'index.d.ts', 'README.md']) writeFileSync(join(made, file), '')
    return made
  }
  return {
    bridge: copy,
    keychain: folderOf('keytar', { name: '@napi-rs/keyring' }),
    parts: systems.map(([os, name]) =>
      folderOf(name, { name: `@napi-rs/keyring-${name}`, os: [os], cpu: ['x64'] }),
    ),
    licenseFile: join(copy, 'LICENSE'),
  }
}

describe('the manifest', () => {
  interface Manifest extends Record<string, unknown> {
    server: { entry_point: string; mcp_config: { command: string; args: string[]; env: object } }
    user_config: Record<
      string,
      { type: string; title: string; description: string; required: boolean; default?: string }
    >
  }
  let manifest: Manifest
  beforeEach(() => {
    const files = unzipSync(packMcpb(source([['win32', 'win32-x64-msvc']])).archive)
    manifest = JSON.parse(Buffer.from(files['manifest.json'] ?? []).toString()) as Manifest
  })

  it('the manifest has the members that the format requires, and no unknown ones', () => {
    expect(Object.keys(manifest).sort()).toEqual(
      'author compatibility description display_name keywords license long_description manifest_version name prompts_generated server tools_generated user_config version'.split(
        ' ',
      ),
    )
    expect(manifest).toMatchObject({
      manifest_version: '0.3',
      name: 'drawbridge',
      version: manifestOfPackage.version,
      author: { name: expect.any(String) as string },
    })
    expect(Object.keys(manifest.server).sort()).toEqual(['entry_point', 'mcp_config', 'type'])
    expect(Object.keys(manifest.server.mcp_config).sort()).toEqual(['args', 'command', 'env'])
  })

  it('the manifest asks for everything it uses, with defaults for values that may stay empty', () => {
    const used = JSON.stringify(manifest.server).match(/(?<=\$\{user_config\.)\w+/g)
    expect(used?.sort()).toEqual(Object.keys(manifest.user_config).sort())
    for (const question of Object.values(manifest.user_config)) {
      expect(question).toMatchObject({
        type: 'string',
        title: expect.any(String) as string,
        description: expect.any(String) as string,
      })
      expect(question.required || question.default !== undefined).toBe(true)
    }
  })

  it('the manifest is for the given platforms, and names the systems to users', () => {
    expect(manifest).toMatchObject({
      compatibility: { platforms: ['win32'], runtimes: manifestOfPackage.engines },
    })
    expect(manifest['long_description']).toContain('Made for win32-x64-msvc.')
  })
})

it('the archive can be read by unzip, which makes the script executable that clients start', () => {
  const file = join(folder, 'a.mcpb')
  writeFileSync(file, packMcpb(source([['linux', 'linux-x64-gnu']])).archive)
  try {
    execFileSync('unzip', ['-q', file, '-d', join(folder, 'out')], { stdio: 'pipe' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  expect(readFileSync(join(folder, 'out', 'dist', 'main.mjs'), 'utf8')).toBe("import './chunk.mjs'")
  const modes = ['launcher.cjs', 'LICENSE'].map((name) => statSync(join(folder, 'out', name)).mode % 0o1000)
  expect(modes).toEqual([0o755, 0o644])
})

describe('native parts of the keychain', () => {
  const lockfile = readFileSync(join(root, 'package-lock.json'), 'utf8')

  it('the lockfile has native parts for every system of desktop clients, all of one version', () => {
    const { version } = lockedPackage(lockfile, 'keytar')
    for (const name of desktopParts) {
      expect(lockedPackage(lockfile, name)).toMatchObject({ version, integrity: /^sha512-/ })
    }
    expect(() => lockedPackage(lockfile, '@napi-rs/keyring-plan9')).toThrow('npm install')
  })

  it('native parts are unpacked only if they match the lockfile', () => {
    const source = join(folder, 'source')
    mkdirSync(source)
    writeFileSync(join(source, 'package.json'), '{"name":"part","version":"1.0.0"}')
    writeFileSync(join(source, 'part.node'), 'native')
    const archive = join(folder, 'archive')
    mkdirSync(archive)
    execFileSync('npm', ['pack', source, '--loglevel=error', '--pack-destination', archive], {
      stdio: 'pipe',
    })
    const bytes = readFileSync(join(archive, 'part-1.0.0.tgz'))
    const locked = {
      name: 'part',
      version: '1.0.0',
      integrity: `sha512-${createHash('sha512').update(bytes).digest('base64')}`,
    }
    const target = join(folder, 'fetched')
    mkdirSync(target)
    const content = fetchPackage(locked, target, source)
    expect(readFileSync(join(content, 'part.node'), 'utf8')).toBe('native')
    rmSync(target, { recursive: true })
    mkdirSync(target)
    writeFileSync(join(source, 'part.node'), 'changed')
    expect(() => fetchPackage(locked, target, source)).toThrow('is not what package-lock.json names')
    expect(readdirSync(target, { recursive: true }).filter((file) => String(file).endsWith('.node'))).toEqual(
      [],
    )
  })
})

/** Starts an unpacked extension as a client does, with the answers of a person put in. */
function startExtension(
  target: string,
  answers: Record<string, string>,
  node: string = process.execPath,
): BridgeChild {
  const { server } = JSON.parse(readFileSync(join(target, 'manifest.json'), 'utf8')) as {
    server: { mcp_config: { command: string; args: string[] } }
  }
  expect(server.mcp_config.command).toBe('node')
  const args = server.mcp_config.args.map((argument) =>
    argument
      .replace('${__dirname}', target)
      .replaceAll(/\$\{user_config\.(\w+)\}/g, (_, key: string) => answers[key] ?? ''),
  )
  return talkTo(spawn(node, args, { env: { HOME: folder, PATH: process.env['PATH'] } }))
}

describe('the extension', () => {
  it('the extension starts from its unpacked folder, with the user’s answers', async () => {
    const of = source([['linux', 'linux-x64-gnu']])
    writeFileSync(join(of.bridge, 'dist', 'drawbridge.mcpb'), 'the last one')
    const { archive } = packMcpb(of)
    expect(packMcpb(of).archive).toEqual(archive)
    expect(Object.keys(unzipSync(archive))).toEqual([
      'manifest.json',
      'LICENSE',
      'dist/chunk.mjs',
      'dist/main.mjs',
      'launcher.cjs',
      'node_modules/@napi-rs/keyring-linux-x64-gnu/index.js',
      'node_modules/@napi-rs/keyring-linux-x64-gnu/package.json',
      'node_modules/keytar/index.js',
      'node_modules/keytar/package.json',
      'package.json',
    ])
    const target = join(folder, 'out with blank')
    unpack(archive, target)
    const started = startExtension(target, { server_url: 'https://a.example/mcp', profile: 'work' })
    await started.close()
    expect(started.strayLines).toEqual(['["https://a.example/mcp","--profile","work"]'])
  })

  it.each([
    [[['linux', 'linux-x64-gnu']], ['linux']],
    [
      [
        ['win32', 'win32-x64-msvc'],
        ['darwin', 'darwin-arm64'],
        ['darwin', 'darwin-x64'],
      ],
      ['darwin', 'win32'],
    ],
  ] as const)(
    'the extension with the parts %j says that it is for %j, and for nothing else',
    (systems, platforms) => {
      const content = packMcpb(source(systems))
      expect(content.platforms).toEqual(platforms)
      expect(content.systems).toEqual(systems.map(([, name]) => name).sort())
      const [[name, first] = []] = Object.entries(unzipSync(content.archive))
      expect(name).toBe('manifest.json')
      const manifest: unknown = JSON.parse(Buffer.from(first ?? []).toString())
      expect(manifest).toMatchObject({ compatibility: { platforms } })
    },
  )

  it('the build of the extension refuses a bridge that is not built, and an extension for no system', () => {
    const of = source([['linux', 'linux-x64-gnu']])
    expect(() => packMcpb({ ...of, parts: [] })).toThrow('npm ci')
    rmSync(join(of.bridge, 'dist', 'main.mjs'))
    expect(() => packMcpb(of)).toThrow('npm run build')
  })

  const parts = installedParts(modules)
  const isBuilt = existsSync(join(bridge, 'dist', 'main.mjs'))

  it
    .skipIf(!isBuilt || parts.length === 0)
    .each([process.execPath, oldNode()].filter((node) => node !== undefined))(
    'the extension carries a client as it is built, on %s',
    async (node) => {
      const target = join(folder, 'out')
      const { archive, systems } = packMcpb({
        bridge,
        keychain: join(modules, 'keytar'),
        parts,
        licenseFile: join(root, 'LICENSE'),
      })
      unpack(archive, target)
      expect(JSON.parse(readFileSync(join(target, 'manifest.json'), 'utf8'))).toMatchObject({
        version: manifestOfPackage.version,
        compatibility: { platforms: [process.platform] },
      })
      expect(systems.every((system) => system.startsWith(`${process.platform}-${process.arch}`))).toBe(true)
      const probe = 'process.stdout.write(typeof require("keytar").AsyncEntry)'
      expect(execFileSync(node, ['-e', probe], { cwd: target }).toString()).toBe('function')
      const remote = await startRemote({ era: 'legacy' })
      const answers = { server_url: remote.url, profile: 'default' }
      const started = startExtension(target, answers, node)
      try {
        expect(await started.initialize()).toMatchObject({ result: { serverInfo: { name: 'remote' } } })
      } finally {
        await started.close()
        await remote.close()
      }
    },
  )
})
