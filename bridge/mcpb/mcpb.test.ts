import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { crc32, inflateRawSync } from 'node:zlib'
import * as fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import manifestOfPackage from '../package.json' with { type: 'json' }
import { mcpbContent } from './mcpb-files.ts'
import { mcpbManifest } from './mcpb-manifest.ts'
import { zipArchive, type ZipEntry } from './zip-archive.ts'

const bridge = fileURLToPath(new URL('..', import.meta.url))

let folder: string
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'drawbridge-mcpb-')))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

interface ReadEntry {
  name: string
  content: Buffer
  mode: number
}

/** Reads an archive by its directory, as programs do, and checks it against the headers before the files. */
function readZip(archive: Buffer): ReadEntry[] {
  const end = archive.length - 22
  expect(archive.readUInt32LE(end)).toBe(0x06_05_4b_50)
  let at = archive.readUInt32LE(end + 16)
  expect(at + archive.readUInt32LE(end + 12)).toBe(end)
  return Array.from({ length: archive.readUInt16LE(end + 10) }, () => {
    expect(archive.readUInt32LE(at)).toBe(0x02_01_4b_50)
    const nameLength = archive.readUInt16LE(at + 28)
    const local = archive.readUInt32LE(at + 42)
    expect(archive.readUInt32LE(local)).toBe(0x04_03_4b_50)
    expect(archive.subarray(local + 4, local + 30)).toEqual(archive.subarray(at + 6, at + 32))
    const start = local + 30 + nameLength
    const data = archive.subarray(start, start + archive.readUInt32LE(at + 20))
    const content = archive.readUInt16LE(at + 10) === 8 ? inflateRawSync(data) : data
    expect(crc32(content)).toBe(archive.readUInt32LE(at + 16))
    expect(content).toHaveLength(archive.readUInt32LE(at + 24))
    const name = archive.subarray(at + 46, at + 46 + nameLength).toString()
    const mode = archive.readUInt32LE(at + 38) >>> 16
    at += 46 + nameLength
    return { name, content: Buffer.from(content), mode }
  })
}

function unpack(archive: Buffer, target: string): void {
  for (const { name, content, mode } of readZip(archive)) {
    mkdirSync(dirname(join(target, name)), { recursive: true })
    writeFileSync(join(target, name), content, { mode: mode % 0o1000 })
  }
}

describe('an archive', () => {
  it('of any files is read back', () => {
    const name = fc.stringMatching(/^[a-zé0-9]{1,8}(?:\/[a-z0-9.]{1,4}x){0,2}$/)
    const file = fc.record({ name, content: fc.uint8Array({ maxLength: 300 }), isExecutable: fc.boolean() })
    fc.assert(
      fc.property(fc.uniqueArray(file, { selector: (entry) => entry.name, maxLength: 5 }), (files) => {
        const entries = files.map((entry) => ({ ...entry, content: Buffer.from(entry.content) }))
        expect(readZip(zipArchive(entries))).toEqual(
          entries.map(({ name, content, isExecutable }) => {
            return { name, content, mode: isExecutable ? 0o100_755 : 0o100_644 }
          }),
        )
      }),
    )
  })

  it.each(['', '/a', 'a/', '../a', 'a/../b', './a', String.raw`a\b`, 'a//b'])('has no file %j', (name) => {
    expect(() => zipArchive([{ name, content: Buffer.alloc(0) }])).toThrow(RangeError)
  })

  it('of the same files is the same, and smaller than they are', () => {
    const entries: ZipEntry[] = [{ name: 'a', content: Buffer.alloc(10_000, 'x') }]
    expect(zipArchive(entries)).toEqual(zipArchive(entries))
    expect(zipArchive(entries).length).toBeLessThan(300)
  })

  it.each([
    ['unzip', (file: string) => ['-q', file, '-d', join(folder, 'out')]],
    [
      'python3',
      (file: string) => [
        '-c',
        'import sys,zipfile; z=zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; z.extractall(sys.argv[2])',
        file,
        join(folder, 'out'),
      ],
    ],
  ])('is taken by %s, where it is installed', (program, args) => {
    const file = join(folder, 'a.mcpb')
    writeFileSync(
      file,
      zipArchive([
        { name: 'stored', content: Buffer.from('a') },
        { name: 'deep/packed.txt', content: Buffer.alloc(1000, 'b'), isExecutable: true },
      ]),
    )
    try {
      execFileSync(program, args(file), { stdio: 'pipe' })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
      throw error
    }
    expect(readFileSync(join(folder, 'out', 'stored'), 'utf8')).toBe('a')
    expect(readFileSync(join(folder, 'out', 'deep', 'packed.txt'), 'utf8')).toBe('b'.repeat(1000))
    if (program === 'unzip')
      expect(statSync(join(folder, 'out', 'deep', 'packed.txt')).mode % 0o1000).toBe(0o755)
  })
})

describe('the manifest', () => {
  const manifest = mcpbManifest({ version: '1.2.3', description: 'd', license: 'MIT', node: '>=20.19' }) as {
    server: { entry_point: string; mcp_config: { command: string; args: string[]; env: object } }
    user_config: Record<
      string,
      { type: string; title: string; description: string; required: boolean; default?: string }
    >
  } & Record<string, unknown>

  it('has what the format asks for, and nothing it does not know', () => {
    expect(Object.keys(manifest).sort()).toEqual(
      'author compatibility description display_name keywords license long_description manifest_version name prompts_generated server tools_generated user_config version'.split(
        ' ',
      ),
    )
    expect(manifest).toMatchObject({
      manifest_version: '0.3',
      name: 'drawbridge',
      version: '1.2.3',
      author: { name: expect.any(String) as string },
    })
    expect(Object.keys(manifest.server).sort()).toEqual(['entry_point', 'mcp_config', 'type'])
    expect(Object.keys(manifest.server.mcp_config).sort()).toEqual(['args', 'command', 'env'])
  })

  it('asks for everything it uses, and answers what may stay empty', () => {
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

  it('starts the launcher', () => {
    expect(manifest.server.mcp_config.args[0]).toBe(`\${__dirname}/${manifest.server.entry_point}`)
  })
})

/** Starts an unpacked extension as a client does, with the answers of a person put in. */
function startExtension(target: string, answers: Record<string, string>): ChildProcess {
  const { server } = JSON.parse(readFileSync(join(target, 'manifest.json'), 'utf8')) as {
    server: { mcp_config: { args: string[] } }
  }
  const args = server.mcp_config.args.map((argument) =>
    argument
      .replace('${__dirname}', target)
      .replaceAll(/\$\{user_config\.(\w+)\}/g, (_, key: string) => answers[key] ?? ''),
  )
  return spawn(process.execPath, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { HOME: folder, PATH: process.env['PATH'] },
  })
}

async function firstLine(child: ChildProcess): Promise<string> {
  if (!child.stdout) throw new Error('no stdout')
  for await (const line of createInterface({ input: child.stdout })) return line
  throw new Error('the extension ended without a word')
}

const initialize = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
})

describe('the extension', () => {
  function source(): string {
    const copy = join(folder, 'bridge')
    mkdirSync(join(copy, 'dist'), { recursive: true })
    for (const name of ['launcher.cjs', 'package.json']) cpSync(join(bridge, name), join(copy, name))
    writeFileSync(join(copy, 'LICENSE'), 'free')
    return copy
  }

  it('starts from where it is unpacked, with the answers of the person', async () => {
    const copy = source()
    writeFileSync(join(copy, 'dist', 'main.mjs'), "import './chunk.mjs'")
    writeFileSync(
      join(copy, 'dist', 'chunk.mjs'),
      'process.stdout.write(JSON.stringify(process.argv.slice(2)) + "\\n")',
    )
    writeFileSync(join(copy, 'dist', 'drawbridge.mcpb'), 'the last one')
    const { entries, keychains } = mcpbContent({
      bridge: copy,
      modules: undefined,
      licenseFile: join(copy, 'LICENSE'),
    })
    expect(entries.map(({ name }) => name)).toEqual([
      'manifest.json',
      'LICENSE',
      'dist/chunk.mjs',
      'dist/main.mjs',
      'launcher.cjs',
      'package.json',
    ])
    expect(keychains).toEqual([])
    const target = join(folder, 'out with blank')
    unpack(zipArchive(entries), target)
    const child = startExtension(target, { server_url: 'https://a.example/mcp', profile: 'work' })
    expect(JSON.parse(await firstLine(child))).toEqual(['https://a.example/mcp', '--profile', 'work'])
  })

  it('brings the keychain of the platforms that are installed', () => {
    const copy = source()
    writeFileSync(join(copy, 'dist', 'main.mjs'), '')
    const modules = join(folder, 'node_modules')
    for (const name of ['keytar', '@napi-rs/keyring-linux-x64-gnu', '@napi-rs/other']) {
      mkdirSync(join(modules, name), { recursive: true })
      for (const file of ['index.js', 'index.d.ts', 'README.md']) writeFileSync(join(modules, name, file), '')
    }
    const { entries, keychains } = mcpbContent({ bridge: copy, modules, licenseFile: join(copy, 'LICENSE') })
    expect(keychains).toEqual(['linux-x64-gnu'])
    expect(entries.map(({ name }) => name).filter((name) => name.startsWith('node_modules'))).toEqual([
      'node_modules/@napi-rs/keyring-linux-x64-gnu/index.js',
      'node_modules/keytar/index.js',
    ])
  })

  it('is not made of a bridge that is not built', () => {
    const copy = source()
    expect(() =>
      mcpbContent({ bridge: copy, modules: undefined, licenseFile: join(copy, 'LICENSE') }),
    ).toThrow('npm run build')
  })

  it.skipIf(!existsSync(join(bridge, 'dist', 'main.mjs')))('carries a client, as it is built', async () => {
    const modules = fileURLToPath(new URL('../../node_modules', import.meta.url))
    const licenseFile = fileURLToPath(new URL('../../LICENSE', import.meta.url))
    const { entries } = mcpbContent({ bridge, modules, licenseFile })
    unpack(zipArchive(entries), join(folder, 'out'))
    const { version } = JSON.parse(readFileSync(join(folder, 'out', 'manifest.json'), 'utf8')) as {
      version: string
    }
    expect(version).toBe(manifestOfPackage.version)
    const server = createServer(answerAsServer).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const child = startExtension(join(folder, 'out'), {
      server_url: `http://127.0.0.1:${port}/mcp`,
      profile: 'default',
    })
    try {
      child.stdin?.write(`${initialize}\n`)
      expect(JSON.parse(await firstLine(child))).toMatchObject({
        id: 1,
        result: { serverInfo: { name: 'far' } },
      })
    } finally {
      child.kill('SIGKILL')
      server.closeAllConnections()
      server.close()
    }
  })
})

/** A server of the revision 2025-11-25 without sessions, which knows one method. */
function answerAsServer(request: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    if (request.method !== 'POST') return response.writeHead(405).end()
    const { id, method } = JSON.parse(Buffer.concat(chunks).toString()) as { id?: number; method: string }
    if (id === undefined) return response.writeHead(202).end()
    const result = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      serverInfo: { name: 'far', version: '1' },
    }
    const answer = method === 'initialize' ? { result } : { error: { code: -32_601, message: 'unknown' } }
    return response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
  })
}
