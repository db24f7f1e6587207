import { execFile } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdirSync, readdirSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { read, root } from './deploy-files.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const run = promisify(execFile)
const instructions = read('Dockerfile')
  .replaceAll('\\\n', ' ')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
const stageStarts = instructions.flatMap((line, index) => (line.startsWith('FROM ') ? index : []))
const [buildStart = 0, finalStart = 0] = stageStarts
const build = instructions.slice(buildStart, finalStart)
const final = instructions.slice(finalStart)

/** Sources and target of `COPY`. */
const copies = (
  lines: readonly string[],
): { from: string | undefined; sources: string[]; target: string }[] =>
  lines
    .filter((line) => line.startsWith('COPY '))
    .map((line) => {
      const words = line.split(/\s+/).slice(1)
      const from = words[0]?.startsWith('--from=') ? words.shift()?.slice(7) : undefined
      return { from, sources: words.slice(0, -1), target: words.at(-1) ?? '' }
    })

it('the image builds in two stages, the last without sources and npm packages', () => {
  expect(stageStarts).toHaveLength(2)
  expect(copies(final).flatMap(({ sources }) => sources)).toEqual([
    '/src/server/launcher.cjs',
    '/src/server/dist/',
    'LICENSE',
  ])
  expect(final.join('\n')).not.toMatch(/npm |apt|curl/)
})

it('the image runs without privileges, stops by SIGTERM, and has a health check', () => {
  for (const line of ['USER 1000:1000', 'STOPSIGNAL SIGTERM', 'EXPOSE 8787', 'VOLUME /data'])
    expect(final).toContain(line)
  expect(final.some((line) => line.startsWith('HEALTHCHECK ') && line.includes('/healthz'))).toBe(true)
})

describe('the health check of the image', () => {
  const [, script = ''] =
    /^HEALTHCHECK .*?CMD (\[.*\])$/.exec(final.find((line) => line.startsWith('HEALTHCHECK ')) ?? '') ?? []
  const asked: string[] = []
  const server = createServer(({ url = '' }, response) => {
    asked.push(url)
    response.writeHead(url.endsWith('/healthz') ? 200 : 404).end()
  })
  let port = 0
  beforeAll(async () => {
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    ;({ port } = server.address() as AddressInfo)
  })
  afterAll(() => void server.close())

  it.each<[name: string, variables: (port: number) => Record<string, string>, path: string | undefined]>([
    ['PORT', (own) => ({ PORT: String(own) }), '/healthz'],
    ['LISTEN, which wins', (own) => ({ PORT: '1', DRAWBRIDGE_LISTEN: `0.0.0.0:${own}` }), '/healthz'],
    [
      'the path of BASE_URL',
      (own) => ({ PORT: String(own), DRAWBRIDGE_BASE_URL: 'https://app.example.com/mcp-server/' }),
      '/mcp-server/healthz',
    ],
    ['a port where nothing listens, and fails', () => ({ PORT: '1' }), undefined],
  ])('the health check of the image asks at %s', async (_name, variables, path) => {
    asked.length = 0
    const [, ...args] = JSON.parse(script) as string[]
    const end = run(process.execPath, args, { env: variables(port) })
    if (path === undefined) await expect(end).rejects.toMatchObject({ code: 1 })
    else await end
    expect(asked).toEqual(path === undefined ? [] : [path])
  })
})

it('the image is labelled with the version of the packages', () => {
  const labels = final.find((line) => line.startsWith('LABEL ')) ?? ''
  const { version } = JSON.parse(read('server/package.json')) as { version: string }
  const { name } = JSON.parse(read('server.json')) as { name: string }
  expect(labels).toContain(`io.modelcontextprotocol.server.name="${name}"`)
  expect(labels).toContain('org.opencontainers.image.licenses="MIT"')
  expect(final).toContain(`ARG VERSION=${version}`)
})

describe('the steps of the Dockerfile, run in a folder', () => {
  const folder = temporaryFolder(afterAll)
  const src = (): string => join(folder, 'src')
  const app = (): string => join(folder, 'app')

  beforeAll(async () => {
    for (const { sources, target } of copies(build)) {
      for (const source of sources) {
        expect(isInContext(source), `${source} is left out by .dockerignore`).toBe(true)
        const isFolder = target.endsWith('/') && !source.endsWith('/')
        const to = join(src(), target, isFolder ? (source.split('/').at(-1) ?? '') : '')
        mkdirSync(dirname(to), { recursive: true })
        cpSync(join(root, source), to, { recursive: true, filter: isKept })
      }
    }
    // In place of npm ci, which installs the same.
    for (const path of ['.', ...globSync('*/node_modules', { cwd: root }).map(dirname)]) {
      await run('cp', ['-al', join(root, path, 'node_modules'), join(src(), path, 'node_modules')])
    }
    const { PATH = '', HOME = '' } = process.env
    const steps = build.filter((line) => line.startsWith('RUN ')).map((line) => line.slice(4))
    expect(steps[0]).toMatch(/^npm ci /)
    for (const step of steps.slice(1)) await run('sh', ['-c', step], { cwd: src(), env: { PATH, HOME } })
    for (const { from, sources, target } of copies(final)) {
      for (const source of sources) {
        const path = from === undefined ? join(root, source) : join(folder, source)
        cpSync(path, join(folder, target, target.endsWith('/') && from === undefined ? source : ''), {
          recursive: true,
        })
      }
    }
  }, 60_000)

  it('the steps of the Dockerfile, run in a folder, make a program that starts from there alone', async () => {
    expect(readdirSync(app()).toSorted()).toEqual(['LICENSE', 'dist', 'launcher.cjs'])
    expect(existsSync(join(app(), 'node_modules'))).toBe(false)
    const { stdout } = await run(process.execPath, [join(app(), 'launcher.cjs'), '--version'])
    expect(stdout.trim()).toBe('0.1.0')
  })
})

/** What .dockerignore lets into the build: everything is out but what it names. */
const lines = read('.dockerignore').split('\n')
const named = lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1))

function isInContext(source: string): boolean {
  expect(lines).toContain('*')
  const path = source.replace(/\/$/, '')
  return named.some((each) => path === each || path.startsWith(`${each}/`))
}

function isKept(path: string): boolean {
  return !/(?:^|\/)(?:node_modules|dist|\.drawbridge)(?:\/|$)|\.test\.ts$/.test(path.slice(root.length))
}
