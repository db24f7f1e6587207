import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { root } from '../docs/command-block.ts'
import { createPerson } from '../e2e/person.ts'
import type { ServerAddress } from '../e2e/server-process.ts'
import { nodePeer } from '../peers/node/node-peers.ts'
import { freePort } from '../support/server/free-port.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'
import { install, pack, type Packed, run, strangerOf, type Workspace, workspaces } from './packed.ts'

interface Manifest {
  name: string
  version: string
  author: string
  bin: Record<string, string>
  engines: { node: string }
}

const folder = temporaryFolder(afterAll)
const packed: Partial<Record<Workspace, Packed>> = {}
const archives = (): string[] => workspaces.map((workspace) => packed[workspace]?.archive ?? '')
const installed = join(folder, 'installed')
const at = (workspace: Workspace, path: string): string =>
  join(installed, 'node_modules', names[workspace], path)
const names: Record<Workspace, string> = { server: 'drawbridge-server', bridge: 'mcp-drawbridge' }
const manifestOf = (workspace: Workspace): Manifest =>
  JSON.parse(readFileSync(at(workspace, 'package.json'), 'utf8')) as Manifest

beforeAll(async () => {
  for (const workspace of workspaces) packed[workspace] = await pack(workspace, folder)
  await install(archives(), installed)
}, 120_000)

describe.each(workspaces)('the package of the %s', (workspace) => {
  const paths = (): string[] => packed[workspace]?.files.map(({ path }) => path) ?? []

  it(`the package of the ${workspace} has the program, its documents and licences, and nothing else`, () => {
    const may = [
      /^(?:launcher\.cjs|package\.json|README\.md|LICENSE|dist\/THIRD-PARTY-NOTICES\.txt)$/,
      /^dist\/[\w-]+\.mjs(?:\.map)?$/,
      ...(workspace === 'server'
        ? [/^dist\/types\/(?:server|shared)\/[\w/-]+\.d\.ts$/, /^dist\/deploy\/[\w.-]+$/]
        : []),
    ]
    expect(paths().filter((path) => !may.some((each) => each.test(path)))).toEqual([])
    const must = ['LICENSE', 'README.md', 'dist/THIRD-PARTY-NOTICES.txt', 'dist/main.mjs', 'launcher.cjs']
    expect(paths()).toEqual(expect.arrayContaining(must))
    expect(readFileSync(at(workspace, 'LICENSE'), 'utf8')).toBe(readFileSync(join(root, 'LICENSE'), 'utf8'))
  })

  it(`the package of the ${workspace} is small, and brings no other package`, () => {
    const unpacked = packed[workspace]?.files.reduce((sum, { size }) => sum + size, 0) ?? Infinity
    // Half of it are maps.
    expect(unpacked).toBeLessThan((workspace === 'server' ? 9 : 4) * 1024 * 1024)
    expect(packed[workspace]?.size).toBeLessThan((workspace === 'server' ? 2.2 : 1) * 1024 * 1024)
    const all = readdirSync(join(installed, 'node_modules')).filter((name) => !name.startsWith('.'))
    expect(all.toSorted()).toEqual(Object.values(names).toSorted())
    expect(manifestOf(workspace)).not.toHaveProperty('dependencies')
  })

  it(`the package of the ${workspace} has maps whose sources are relative and no tests`, () => {
    const maps = paths().filter((path) => path.endsWith('.map'))
    expect(maps).not.toEqual([])
    for (const path of maps) {
      const map = JSON.parse(readFileSync(at(workspace, path), 'utf8')) as Record<string, unknown>
      expect(map, path).not.toHaveProperty('sourcesContent')
      for (const source of map['sources'] as string[]) {
        expect(source, path).toMatch(/^(?:\.\.\/|\0)/)
        expect(source, path).not.toMatch(/\.test\.|\/tests\/|file:/)
      }
    }
  })

  it(`the package of the ${workspace} holds no path of this computer, and no secret`, () => {
    for (const path of paths()) {
      const text = readFileSync(at(workspace, path), 'utf8')
      expect(text.includes(root), path).toBe(false)
      expect(text, path).not.toMatch(/\/home\/\w|\/root\/|\/work\/|file:\/\/\/(?:home|root|work)/)
      // Keys of a length that signs, tokens with a payload, and those of our own.
      expect(text, path).not.toMatch(/PRIVATE KEY-----\s*[\w+/=\\]{40}|"d":\s*"[\w-]{40}/)
      expect(text, path).not.toMatch(/eyJ[\w-]{20,}\.eyJ[\w-]{20,}\.|mcp[apr]t?_[\w-]{40}/)
    }
  })

  it(`the package of the ${workspace} has a command that can be executed, in line with its engines`, () => {
    const { bin, engines, author, version } = manifestOf(workspace)
    expect(Object.values(bin)).toEqual(['launcher.cjs'])
    expect(statSync(at(workspace, 'launcher.cjs')).mode & 0o111).toBe(0o111)
    const source = readFileSync(at(workspace, 'launcher.cjs'), 'utf8')
    expect(source.startsWith('#!/usr/bin/env node\n')).toBe(true)
    const [, major = '', minor = ''] = /needed = \[(\d+), (\d+)\]/.exec(source) ?? []
    expect(engines.node).toBe(`>=${major}.${minor}`)
    expect(readFileSync(at(workspace, 'README.md'), 'utf8')).toContain(`Node ${major}.${minor} or newer`)
    expect(readFileSync(at(workspace, 'LICENSE'), 'utf8')).toContain(author)
    expect(version).toBe((JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest).version)
  })
})

it('the package of the server has few types, those of the library', () => {
  const types = packed.server?.files.map(({ path }) => path).filter((path) => path.startsWith('dist/types/'))
  expect(types).toContain('dist/types/server/library.d.ts')
  expect(types?.length).toBeLessThanOrEqual(40)
})

const nodes: [version: string, path: string | undefined][] = [
  ['22.13.0', nodePeer('22.13.0')],
  ['24.22.3', nodePeer('24.22.3')],
  [process.versions.node, process.execPath],
]
for (const [version, path] of nodes) {
  if (path === undefined)
    console.log(`Skipped: no package is tried on Node ${version}; npm run peers installs it.`)
}

/** Sets up a server by `init`, and starts it by the command that `init` names. */
async function setUp(
  place: string,
  env: Record<string, string>,
): Promise<ServerAddress & { close(): Promise<unknown> }> {
  const [port, appPort] = [await freePort(), await freePort()]
  const baseUrl = `http://localhost:${port}`
  const appUrl = `http://localhost:${appPort}`
  const urls = ['--base-url', baseUrl, '--app-url', appUrl, '--listen', `127.0.0.1:${port}`]
  const words = ['--offline', 'drawbridge-server', 'init', '--provider', 'none', ...urls, '--yes', '--json']
  const { stdout } = await run('npx', words, { cwd: place, env })
  const { next } = JSON.parse(stdout) as { next: string }
  expect(next).toBe('npx drawbridge-server --env-file drawbridge.env')
  // Without npx, which passes no signal on.
  const [command = '', ...flags] = next.split(' ').slice(1)
  const child = spawn(join(place, 'node_modules/.bin', command), [...flags, '--json'], { cwd: place, env })
  onTestFinished(() => void child.kill('SIGKILL'))
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (said += String(chunk)))
  await until(
    () => said.includes('"event":"ready"'),
    () => `the ready line\n${said}`,
  )
  return {
    baseUrl,
    appUrl,
    mcpUrl: `${baseUrl}/mcp`,
    fetch: (input, init) => fetch(input, init),
    async close() {
      child.kill('SIGTERM')
      const [code] = (await once(child, 'exit')) as [unknown]
      return code
    },
  }
}

describe.each(nodes)('the packages on Node %s', (version, node = '') => {
  it.skipIf(node === '')(
    `the packages on Node ${version} bring a client of the MCP SDK from npm install and init to a call`,
    { timeout: 180_000 },
    async () => {
      const place = join(temporaryFolder(), 'stranger')
      expect(await install(archives(), place, node)).not.toContain('EBADENGINE')
      const env = strangerOf(node, place)
      const commands = join(place, 'node_modules/.bin')
      for (const [command, name] of [
        ['drawbridge-server', 'drawbridge-server'],
        ['drawbridge', 'mcp-drawbridge'],
      ] as const) {
        const { stdout } = await run('npx', ['--offline', name, '--version'], { cwd: place, env })
        expect(stdout).toBe((await run(join(commands, command), ['--version'], { cwd: place, env })).stdout)
      }

      const server = await setUp(place, env)
      const transport = new StdioClientTransport({
        command: join(commands, 'drawbridge'),
        args: [server.mcpUrl, '--store', 'file', '--no-open'],
        env,
        stderr: 'pipe',
      })
      let said = ''
      transport.stderr?.on('data', (chunk: Buffer) => (said += chunk.toString()))
      const client = new Client({ name: 'stranger', version: '1.0.0' })
      try {
        await client.connect(transport)
        const linkOf = (): string | undefined => /https?:\S+response_type=code\S*(?=\s)/.exec(said)?.[0]
        await expect.poll(linkOf).toBeDefined()
        const person = await createPerson(server)
        expect((await fetch(await person.allow(linkOf() ?? ''))).status).toBe(200)
        const greeting = async (): Promise<string> =>
          JSON.stringify(await client.callTool({ name: 'greet', arguments: {} }).catch(String))
        await expect.poll(greeting).toContain(`Hello ${person.email}`)
      } finally {
        await client.close()
        expect(await server.close()).toBe(0)
      }
    },
  )
})

const node20 = nodePeer('20.19.0')
if (node20 === undefined) console.log('Skipped: no package is tried on Node 20; npm run peers installs it.')

describe.skipIf(node20 === undefined)('the packages on Node 20.19.0', () => {
  it('npx of the server on Node 20 says which Node it needs, and npm warns of it at the installation', async () => {
    const place = join(temporaryFolder(), 'stranger')
    const said = await install(archives(), place, node20)
    expect(said).toMatch(/EBADENGINE[^]*drawbridge-server/)
    expect(said).not.toMatch(/EBADENGINE[^]*mcp-drawbridge/)
    const started = run('npx', ['--offline', 'drawbridge-server'], {
      cwd: place,
      env: strangerOf(node20 ?? '', place),
    })
    await expect(started).rejects.toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(
        'drawbridge-server needs Node 22.13 or newer; this is Node 20.19.0 at',
      ) as string,
    })
  })

  it('npx of the bridge on Node 20 runs', async () => {
    const place = join(temporaryFolder(), 'stranger')
    await install(archives(), place, node20)
    const env = strangerOf(node20 ?? '', place)
    const { stdout, stderr } = await run('npx', ['--offline', 'mcp-drawbridge', '--version'], {
      cwd: place,
      env,
    })
    expect([stdout, stderr]).toEqual([`${manifestOf('bridge').version}\n`, ''])
  })
})

describe('the types of the library', () => {
  const program = `
import { ConfigError, createDrawbridge, ToolModuleError, type Drawbridge, type Settings, type ToolModule } from 'drawbridge-server'
const settings: Settings = { baseUrl: 'https://mcp.example.com', store: 'memory:' }
const tools: ToolModule = { tools: [{ name: 'hello', call: (_input, { user }) => 'Hello ' + (user?.email ?? '') }] }
const drawbridge: Drawbridge = createDrawbridge(settings, { tools })
export const handle = (request: Request): Promise<Response> => drawbridge.fetch(request, { address: '192.0.2.1' })
export const problemsOf = (error: unknown): readonly string[] => (error instanceof ConfigError ? error.problems : [])
export const isOfTools = (error: unknown): boolean => error instanceof ToolModuleError
// @ts-expect-error
createDrawbridge({ baseURL: 'https://mcp.example.com' })
// @ts-expect-error
createDrawbridge({ baseUrl: 1 })
// @ts-expect-error
drawbridge.fetch('https://mcp.example.com')
`
  const sdkProgram = `
import type { McpServer } from '@modelcontextprotocol/server'
import type { ToolModule } from 'drawbridge-server'
const addTo = (server: McpServer): void => void server.registerResource('a', 'a:a', {}, () => ({ contents: [] }))
export const tools: ToolModule = { register: (server) => addTo(server) }
// @ts-expect-error
export const wrong: ToolModule = { register: (server) => server.nope() }
// @ts-expect-error
export const noResult: ToolModule = { tools: [{ name: 'a', call: () => ({ content: 'text' }) }] }
`

  /** Puts packages of the repository beside the installed ones. */
  function lend(place: string, ...lent: string[]): void {
    for (const name of lent) {
      mkdirSync(join(place, 'node_modules', name, '..'), { recursive: true })
      symlinkSync(join(root, 'node_modules', name), join(place, 'node_modules', name))
    }
  }

  /** Compiles one file in a folder, as strictly as possible; returns the errors. */
  async function compile(
    place: string,
    text: string,
    given: { module: string; moduleResolution: string },
  ): Promise<string> {
    writeFileSync(join(place, 'app.ts'), text)
    const compilerOptions = {
      ...given,
      target: 'es2023',
      lib: ['es2023'],
      types: ['node'],
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: false,
      noEmit: true,
    }
    writeFileSync(join(place, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['app.ts'] }))
    const tsc = join(root, 'node_modules/typescript/bin/tsc')
    return run(process.execPath, [tsc, '-p', place], { cwd: place }).then(
      ({ stdout }) => stdout,
      (error: unknown) => (error as { stdout: string }).stdout,
    )
  }

  it.each([
    { module: 'node16', moduleResolution: 'node16' },
    { module: 'nodenext', moduleResolution: 'nodenext' },
    { module: 'esnext', moduleResolution: 'bundler' },
  ])('the types of the library resolve under $moduleResolution, without the MCP SDK', async (given) => {
    const place = join(installed, given.moduleResolution)
    lend(place, '@types/node', 'undici-types')
    expect(await compile(place, program, given)).toBe('')
  })

  it('the types of the library are those of the MCP SDK where it is installed', async () => {
    const given = { module: 'nodenext', moduleResolution: 'nodenext' }
    const place = join(temporaryFolder(), 'consumer')
    await install(archives(), place)
    lend(place, '@modelcontextprotocol/server', '@types/node', 'undici-types')
    expect(await compile(place, sdkProgram, given)).toBe('')
  })
})
