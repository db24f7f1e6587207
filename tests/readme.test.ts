import { execFile, spawn } from 'node:child_process'
import { existsSync, globSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import manifest from '../package.json' with { type: 'json' }
import { createPerson } from './e2e/person.ts'
import { registerPlainClient } from './e2e/plain-client.ts'
import { freePort } from './support/server/free-port.ts'
import { type ServerProcess, startServer } from './e2e/server-process.ts'
import { until } from './support/until.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (name: string): string => readFileSync(join(root, name), 'utf8')
const documents = [
  'README.md',
  'ARCHITECTURE.md',
  'SECURITY.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  ...globSync('docs/**/*.md', { cwd: root }),
]

/** The first fenced block of a page that contains `text`. */
function block(text: string, page = 'README.md'): string {
  const found = [...read(page).matchAll(/```\w*\n(.*?)```/gs)]
    .map(([, body = '']) => body)
    .find((body) => body.includes(text))
  if (found === undefined) throw new Error(`${page} has no block with ${text}.`)
  return found
}

describe('the README', () => {
  let server: ServerProcess
  beforeAll(async () => {
    server = await startServer()
  })
  afterAll(() => server.close())

  it('the README is short', () => {
    expect(read('README.md').split('\n').length).toBeLessThanOrEqual(151)
  })

  it('the README shows the real output of the server', () => {
    const printed = block('is ready').replaceAll(/\s+/g, ' ')
    const help = read('server/cli/ready-text.ts')
    for (const line of [
      '1. Create an account',
      '2. Add to an MCP client',
      'and sign in once on the page that it opens.',
    ]) {
      expect(printed).toContain(line)
      expect(help).toContain(line)
    }
  })

  it('the README names existing scripts only', () => {
    const named = documents.flatMap((name) => [
      ...read(name).matchAll(/`npm (?:run (?<run>[a-z]+)|(?<own>start|test))\b(?! -w)/g),
    ])
    const scripts = named.map(({ groups }) => groups?.['run'] ?? groups?.['own'] ?? '')
    expect(scripts.length).toBeGreaterThan(5)
    for (const script of scripts) expect(manifest.scripts).toHaveProperty(script)
  })

  it.each(documents)('%s links only to files that exist', (name) => {
    const links = [...read(name).matchAll(/\]\(([^)#]+)\)/g)]
    for (const [, target = ''] of links) {
      if (!target.startsWith('http')) expect(existsSync(join(root, dirname(name), target)), target).toBe(true)
    }
  })

  it.each(documents)('%s links only to headings that exist', (name) => {
    for (const [, target = '', anchor = ''] of read(name).matchAll(/\]\(([^)#:]*)#([^)]+)\)/g)) {
      const page = target === '' ? name : join(dirname(name), target)
      expect(anchorsOf(page), `${page}#${anchor}`).toContain(anchor)
    }
  })

  it('the curl line of the README lists the tools', async () => {
    const { access_token: token } = await (
      await registerPlainClient(server)
    ).connect(await createPerson(server))
    const command = block('tools/list').replace('http://localhost:8787', server.baseUrl)
    const { stdout } = await promisify(execFile)('sh', ['-c', command], {
      env: { PATH: process.env['PATH'] ?? '', DRAWBRIDGE_TOKEN: token },
    })
    expect(JSON.parse(stdout)).toMatchObject({ id: 1, result: { tools: { length: 4 } } })
  })

  it('the program of docs/library.md mounts the server, and the web app beside it', async () => {
    const folder = mkdtempSync(join(root, 'node_modules', '.cache-readme-'))
    const [port, appPort] = [await freePort(), await freePort()]
    const program = block('createDrawbridge', 'docs/library.md')
      .replaceAll('3000', String(port))
      .replaceAll('8788', String(appPort))
      .replace("store: '", `appUrl: 'http://localhost:${appPort}', store: '`)
    writeFileSync(join(folder, 'mount.mjs'), program)
    const child = spawn(process.execPath, ['mount.mjs'], { cwd: folder, stdio: 'ignore' })
    try {
      const base = `http://localhost:${port}`
      await until(
        () =>
          fetch(base).then(
            (response) => response.ok,
            () => false,
          ),
        'the mounted server',
      )
      const metadata = await fetch(`${base}/.well-known/oauth-authorization-server`)
      expect(await metadata.json()).toMatchObject({ issuer: base })
      expect((await fetch(`${base}/mcp`)).status).toBe(401)
      expect((await fetch(`http://localhost:${appPort}/`)).status).toBe(200)
      expect(readdirSync(join(folder, 'data'))).toContain('server.db')
    } finally {
      child.kill('SIGKILL')
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
    }
  })

  it('docs/dependencies.md gives a reason for every dependency', () => {
    const page = read('docs/dependencies.md')
    const workspaces = [manifest, ...['server', 'shared', 'bridge'].map((name) => readManifest(name))]
    const packages = new Set(workspaces.flatMap(({ devDependencies }) => Object.keys(devDependencies)))
    for (const name of packages) {
      if (!name.startsWith('@types/') && !name.startsWith('@drawbridge/'))
        expect(page).toContain(`\`${name}\``)
    }
  })
})

/** Anchors that GitHub gives to the headings of a page. */
function anchorsOf(page: string): string[] {
  return [...read(page).matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) =>
    heading
      .replaceAll(/\[(.+?)\]\(.+?\)/g, '$1')
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

function readManifest(workspace: string): { devDependencies: Record<string, string> } {
  return JSON.parse(read(`${workspace}/package.json`)) as {
    devDependencies: Record<string, string>
  }
}
