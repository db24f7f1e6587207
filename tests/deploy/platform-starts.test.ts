import { execFile, spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { parseEnv, promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { launcher, type ServerProcess, startServer } from '../e2e/server-process.ts'
import { blocksOf } from '../docs/command-block.ts'
import { freePort } from '../support/server/free-port.ts'
import { type PostgresServer, startPostgres } from '../support/server/postgres-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { until } from '../support/until.ts'
import { read, readYaml, root } from './deploy-files.ts'
import { commandsWith, type Platform, platforms } from './platform.ts'

const run = promisify(execFile)
const host = 'mcp.example.com'

const greet = `export const tools = [{ name: 'greet', call: (_, { user }) => user.email }]\n`

/** The folder of the page, and the root of the image made from it. */
const home = temporaryFolder(afterAll)
const folder = join(home, 'my-mcp')
const image = join(home, 'image')
const inImage = (path: string): string => join(image, path)

let provider: ServerProcess
let postgres: PostgresServer
/** Variables of the Dockerfile. */
let imageVariables: Record<string, string>

const { PATH = '' } = process.env

beforeAll(async () => {
  ;[provider, postgres] = await Promise.all([startServer(), startPostgres()])
  writeFileSync(join(home, 'my-tools.mjs'), greet)
  // The build and its packages are there.
  const [, ...commands] = commandsWith('npm pack -w server')
  const script = commands
    .join(' && ')
    .replaceAll('../my-mcp', folder)
    .replaceAll(' my-tools.mjs', ` ${home}/my-tools.mjs`)
  await run('bash', ['-c', script], { cwd: root })
  writeFileSync(join(folder, 'access.json'), '{ "rules": [{ "allow": { "email": ["*@example.com"] } }] }')
  writeFileSync(join(folder, 'upstream.json'), JSON.stringify({ url: 'http://127.0.0.1:9/mcp' }))
  chmodSync(join(folder, 'access.json'), 0o600)
  imageVariables = await buildImage()
  for (const path of ['var/lib/drawbridge', 'run/secrets']) {
    mkdirSync(inImage(path), { recursive: true })
    cpSync(join(folder, 'secret-keys'), inImage(`${path}/secret-keys`))
  }
}, 120_000)
afterAll(async () => {
  await provider?.close()
  await postgres?.close()
})

/** Follows deploy/Dockerfile from the folder, below `image`. Returns the variables that it sets. */
async function buildImage(): Promise<Record<string, string>> {
  const lines = readFileSync(join(folder, 'Dockerfile'), 'utf8')
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll('\\\n', ' ')
    .split('\n')
  const variables: Record<string, string> = {}
  for (const line of lines) {
    const [instruction, ...words] = line.split(/\s+/)
    if (instruction === 'COPY') {
      const target = inImage(words.pop() ?? '')
      mkdirSync(target, { recursive: true })
      for (const source of words) {
        const found = globSync(source, { cwd: folder })
        if (found.length === 0 && !source.includes('*')) throw new Error(`COPY finds no ${source}.`)
        for (const name of found) cpSync(join(folder, name), join(target, name))
      }
    } else if (instruction === 'RUN') {
      const command = words
        .join(' ')
        .replaceAll(/ (\/(?:etc|data)\b)/g, ` ${image}$1`)
        .replaceAll('--global', `--global --prefix ${inImage('usr/local')}`)
        .replaceAll('chown 1000:1000', 'chown $(id -u):$(id -g)')
      await run('sh', ['-ec', command], { env: { PATH, HOME: home } })
    } else if (instruction === 'ENV') {
      for (const word of words) {
        const [name = '', value = ''] = word.split('=')
        variables[name] = value
      }
    }
  }
  return variables
}

/** A program of the image, with the paths of the image in its variables below `image`. */
interface Started {
  said(): string
  readonly port: number
  /** Sends SIGTERM. Resolves with the exit code. */
  stop(): Promise<number | null>
}

async function start(variables: Readonly<Record<string, string>>): Promise<Started> {
  const env: Record<string, string> = { PATH, HOME: home, ...imageVariables, ...variables }
  for (const [name, value] of Object.entries(env))
    if (name.startsWith('DRAWBRIDGE_'))
      env[name] = value.replace(/^(|sqlite:|file:)(?=\/(?:etc|data|run|var)\/)/, `$1${image}`)
  const [entrypoint = ''] = /^ENTRYPOINT \["(.+)"\]$/m.exec(read('deploy/Dockerfile'))?.slice(1) ?? []
  const child = spawn(inImage(`usr/local/bin/${entrypoint}`), [], { cwd: inImage('data'), env })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (said += chunk.toString()))
  const ended = new Promise<number | null>((resolve) => void child.once('close', resolve))
  let isEnded = false
  void ended.then(() => (isEnded = true))
  await until(
    () => isEnded || said.includes('is ready'),
    () => `a ready server: ${said}`,
  )
  expect(isEnded, said).toBe(false)
  return {
    said: () => said,
    port: Number(env['PORT']),
    async stop() {
      child.kill('SIGTERM')
      return ended
    },
  }
}

/** No server that listens on 127.0.0.1 alone answers here. */
const everyAddress = '127.0.0.2'

/** Asks the server at an address of this machine. */
const asker =
  (address: string, port: number) =>
  (path: string, headers: Record<string, string> = {}): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      get({ host: address, port, path, headers }, resolve).on('error', reject)
    })

/** Compose, with the settings that the page names for it. */
const compose = readYaml('deploy/compose.yaml') as {
  services: { drawbridge: { environment: Record<string, string> } }
}
const railway = platforms.find(({ name }) => name === 'Railway')?.variables
/** A machine with Caddy or nginx. */
const machine =
  blocksOf('docs/deploy.md').find(({ text }) => text.startsWith('DRAWBRIDGE_BASE_URL='))?.text ?? ''

const places: readonly Platform[] = [
  ...platforms,
  {
    name: 'Compose',
    variables: { ...railway, ...compose.services.drawbridge.environment },
    secrets: [],
    setsPort: false,
  },
  { name: 'a VM', variables: parseEnv(machine) as Record<string, string>, secrets: [], setsPort: false },
]

/** The variables of a platform with the values that a person puts in, and its own PORT. */
async function variablesAt(
  { variables, secrets, setsPort }: Platform,
  store: () => Promise<string>,
): Promise<Record<string, string>> {
  const made: Record<string, () => Promise<string>> = {
    DRAWBRIDGE_STORE: store,
    // With the line end of the file.
    DRAWBRIDGE_SECRET_KEYS: () => Promise.resolve(readFileSync(join(folder, 'secret-keys'), 'utf8')),
  }
  const given: Record<string, string> = { ...variables, PORT: String(await freePort()) }
  // The image has one; here it may be taken.
  expect(setsPort || imageVariables['PORT'] !== undefined).toBe(true)
  for (const name of secrets) given[name] = (await made[name]?.()) ?? ''
  for (const [name, value] of Object.entries(given))
    given[name] = (name === 'DRAWBRIDGE_STORE' && value.startsWith('postgres:') ? await store() : value)
      .replace(/^127\.0\.0\.1:8787$/, `127.0.0.1:${given['PORT']}`)
      .replace(/^127\.0\.0\.1:9464$/, `127.0.0.1:${await freePort()}`)
      .replace('https://REF.supabase.co/auth/v1', `${provider.appUrl}/auth/v1`)
      .replace('sb_publishable_...', 'sb_publishable_x')
  return given
}

/** The store that the page makes in the project's database, by its own SQL. */
async function storeOfPage(): Promise<string> {
  const url = await postgres.createDatabase()
  const database = new URL(url).pathname.slice(1)
  const owner = `of_${database}`
  const sql = blocksOf('docs/where-to-run.md').find(({ language }) => language === 'sql')?.text ?? ''
  // As the `postgres` of a Supabase project, which is no superuser.
  const project = `project_${database}`
  await postgres.query(url, `create role ${project} login createrole password 'project'`)
  await postgres.query(url, `grant create on database ${database} to ${project}`)
  const asProject = url.replace(/\/\/.*@/, `//${project}:project@`)
  await postgres.query(
    asProject,
    sql
      .replaceAll(/role drawbridge|grant drawbridge|authorization drawbridge/g, (words) =>
        words.replace('drawbridge', owner),
      )
      .replaceAll('to postgres', `to ${project}`),
  )
  const [transaction = ''] = [...read('docs/where-to-run.md').matchAll(/^postgres:\/\/\S+$/gm)].map(String)
  const address = new URL(transaction)
  for (const name of ['sslmode', 'sslrootcert']) address.searchParams.delete(name)
  return `postgres://${owner}:PASSWORD@${new URL(url).host}/${database}${address.search}`
}

describe('the server of the image, with exactly the variables of each file', () => {
  it('the folder of docs/where-to-run.md has the package, the tools, and a key ring that only its owner and no repository has', () => {
    expect(existsSync(join(folder, '.dockerignore'))).toBe(true)
    expect(statSync(join(folder, 'secret-keys')).mode & 0o777).toBe(0o600)
    spawnSync('git', ['init', '-q'], { cwd: folder })
    const { stdout } = spawnSync('git', ['ls-files', '-o', '--exclude-standard'], {
      cwd: folder,
      encoding: 'utf8',
    })
    expect(stdout).toContain('my-tools.mjs\n')
    expect(stdout).toContain('drawbridge-server-')
    expect(stdout).not.toContain('secret-keys')
    expect(existsSync(inImage('usr/local/bin/drawbridge-server'))).toBe(true)
    expect(readdirSync(inImage('etc/drawbridge')).toSorted()).toEqual([
      'access.json',
      'my-tools.mjs',
      'upstream.json',
    ])
    expect(statSync(inImage('etc/drawbridge/access.json')).mode & 0o777).toBe(0o644)
  })

  it.each(places.map((place) => [place.name, place] as const))(
    'the server becomes ready with the variables for %s, on its PORT, with the tools and the store',
    async (_name, platform) => {
      let store = ''
      const isForProxy = !platform.variables['DRAWBRIDGE_LISTEN']?.startsWith('127.0.0.1:')
      const server = await start(await variablesAt(platform, async () => (store ||= await storeOfPage())))
      const ask = asker(isForProxy ? everyAddress : '127.0.0.1', server.port)
      try {
        if (!isForProxy)
          await expect(asker(everyAddress, server.port)('/healthz')).rejects.toThrow('ECONNREFUSED')
        const ready = await ask('/readyz', { host: 'health.internal' })
        expect([ready.statusCode, await json(ready)]).toMatchObject([
          200,
          { checks: { store: 'ok', keys: 'ok', provider: 'ok' } },
        ])
        expect((await ask('/healthz', { host: '10.0.0.7:8787' })).statusCode).toBe(200)
        const challenge = await ask('/mcp', { host, accept: 'text/event-stream' })
        expect(challenge.statusCode).toBe(401)
        expect(challenge.headers['www-authenticate']).toContain(`https://${host}/.well-known/`)
        expect(server.said()).toContain('/etc/drawbridge/my-tools.mjs: 1 tool')
      } finally {
        expect(await server.stop(), server.said()).toBe(0)
      }
      if (store === '') {
        const path = platform.variables['DRAWBRIDGE_STORE']?.replace('sqlite:/', '') ?? 'none'
        expect(existsSync(inImage(path))).toBe(true)
      } else {
        const admin = postgres.url(new URL(store).pathname.slice(1))
        const tables = await postgres.query(
          admin,
          `select distinct schemaname from pg_tables where tablename = 'grants'`,
        )
        expect(tables).toEqual([{ schemaname: 'drawbridge' }])
      }
    },
  )

  it('the server becomes ready with access rules and an upstream in place of the tools', async () => {
    const [platform] = platforms
    const given = await variablesAt(platform!, storeOfPage)
    delete given['DRAWBRIDGE_TOOLS']
    const others = Object.fromEntries(
      [...read('deploy/fly.toml').matchAll(/^\s*# (DRAWBRIDGE_\w+) = "(.+)"$/gm)].map(([, name, value]) => [
        name,
        value,
      ]),
    ) as Record<string, string>
    expect(Object.keys(others)).toEqual(['DRAWBRIDGE_UPSTREAM', 'DRAWBRIDGE_ACCESS'])
    const server = await start({ ...given, ...others })
    expect(server.said()).toContain('those of')
    expect(server.said()).toContain('/etc/drawbridge/access.json')
    expect(await server.stop(), server.said()).toBe(0)
  })

  it('PORT with the embedded provider ends the program, which says why', () => {
    const { status, stderr } = spawnSync(process.execPath, [launcher], {
      env: { PATH, HOME: home, PORT: '8080' },
      cwd: home,
      encoding: 'utf8',
      // It would not end by itself.
      timeout: 20_000,
    })
    expect(status).toBe(2)
    expect(stderr).toContain('PORT: listens on 0.0.0.0, but the embedded provider is for this computer alone')
  })
})
