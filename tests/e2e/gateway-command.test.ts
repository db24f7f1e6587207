import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { startGateway } from './gateway-server.ts'
import { until } from '../support/until.ts'
import { createPerson } from './person.ts'
import { postMcp, registerPlainClient } from './plain-client.ts'
import { connectSdkClient, type SdkClient, type SdkClientName } from './sdk-client.ts'
import type { ServerProcess } from './server-process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const everything = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url),
)

/** Tells the processes of this file from those that other files start of the same program at the same time. */
const own = `of-${randomUUID()}`

/** Only root can run processes as another user. */
const isRoot = process.getuid?.() === 0
if (!isRoot) console.info('Not run: processes as another user take root.')
const user = { uid: [20_000, 20_063], gid: 20_000 }

let server: ServerProcess
const folder = temporaryFolder(afterAll)
const clients: SdkClient[] = []

beforeAll(async () => {
  const access = join(folder, 'access.json')
  writeFileSync(access, JSON.stringify({ rules: [{ allow: {}, tools: { deny: ['get-env'] } }] }))
  server = await startGateway(
    {
      command: process.execPath,
      args: [everything, 'stdio', own],
      env: { WHO: '${user:id}', ...(isRoot && { TOKEN: '${user:provider_token}' }) },
      ...(isRoot && { user }),
      tools: { deny: ['get-sum'], scopes: { 'get-tiny-*': 'notes:write' } },
      scopes: { 'notes:write': 'Change and delete your notes' },
    },
    { ACCESS: access, AUDIT: join(folder, 'audit.jsonl') },
  )
})

afterEach(async () => {
  for (const client of clients.splice(0)) await client.end().catch(() => {})
})
afterAll(() => server?.close())

/** Returns the running processes of the command. */
function processes(): number[] {
  return execFileSync('ps', ['-eo', 'pid,args'], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes(own))
    .map((line) => Number.parseInt(line, 10))
}

async function connect(by: SdkClientName): Promise<SdkClient> {
  const client = await connectSdkClient(by, server, await createPerson(server))
  clients.push(client)
  return client
}

describe('server-everything over stdio behind the built door', { timeout: 60_000 }, () => {
  it('two users of a command have a process each, with their own environment and nothing of the server', async () => {
    const [ada, bea] = [await connect('sdk 1, 2025-11-25'), await connect('client 2, 2026-07-28 if it can')]
    await Promise.all([ada.call('echo', { message: 'a' }), bea.call('echo', { message: 'b' })])
    for (const client of [ada, bea]) {
      const names = await client.listTools()
      expect(['echo', 'get-sum', 'get-env'].map((name) => names.includes(name))).toEqual([true, false, false])
      const long = await client.call('trigger-long-running-operation', { duration: 0.2, steps: 2 })
      expect(long).toEqual({ text: expect.stringContaining('completed'), progress: [1, 2] })
      await expect(client.call('get-sum', { a: 1, b: 2 })).rejects.toThrow('There is no tool')
    }
    await expect.poll(processes).toHaveLength(2)
    const environments = processes().map((pid) =>
      Object.fromEntries(
        readFileSync(`/proc/${pid}/environ`, 'utf8')
          .split('\0')
          .filter((entry) => entry !== '')
          .map((entry) => [entry.split('=')[0], entry.slice(entry.indexOf('=') + 1)]),
      ),
    )
    const declared = new Set(['HOME', 'LANG', 'PATH', 'TMPDIR', 'TOKEN', 'WHO'])
    for (const environment of environments) {
      expect(Object.keys(environment).filter((name) => !declared.has(name))).toEqual([])
    }
    expect(new Set(environments.map(({ WHO }) => WHO)).size).toBe(2)
    if (isRoot) expect(new Set(environments.map(({ TOKEN }) => TOKEN)).size).toBe(2)
    for (const pid of processes()) {
      expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').filter(Boolean)).toEqual([
        process.execPath,
        everything,
        'stdio',
        own,
      ])
    }
  })

  it('tools of a command are denied, hidden by access rules, asked a scope for, and recorded as own ones', async () => {
    const { access_token: token } = await (
      await registerPlainClient(server)
    ).connect(await createPerson(server))
    const call = (name: string): Promise<Response> =>
      postMcp(
        server,
        { method: 'tools/call', params: { name, arguments: { message: 'a' } } },
        { authorization: `Bearer ${token}` },
      )
    expect(await (await call('echo')).text()).toContain('Echo: a')
    for (const name of ['get-sum', 'get-env']) {
      expect(await (await call(name)).json()).toMatchObject({
        error: { code: -32_602, message: expect.stringContaining(name) },
      })
    }
    const refused = await call('get-tiny-image')
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
      403,
      expect.stringMatching(/scope="mcp notes:write".*error="insufficient_scope"/),
    ])
    const records = (): unknown[] =>
      readFileSync(join(folder, 'audit.jsonl'), 'utf8')
        .split('\n')
        .filter((line) => line.includes('"tool_called"'))
        .map((line) => JSON.parse(line) as { tool: string; outcome: string })
        .slice(-4)
        .map(({ tool, outcome }) => [tool, outcome])
    await until(() => JSON.stringify(records()).includes('refused_scope'), 'the last record')
    expect(records()).toEqual([
      ['echo', 'ok'],
      ['get-sum', 'refused_rule'],
      ['get-env', 'refused_rule'],
      ['get-tiny-image', 'refused_scope'],
    ])
  })

  it('the processes of a command end with the server', async () => {
    expect(processes()).not.toEqual([])
    await server.kill('SIGTERM')
    expect(processes()).toEqual([])
    await server.start()
  })

  it('no process is left of a server that was killed', async () => {
    const client = await connect('client 2, 2025-11-25')
    await client.call('echo', { message: 'a' })
    expect(processes().length).toBeGreaterThan(0)
    await server.kill('SIGKILL')
    await expect.poll(processes).toEqual([])
  })

  it.skipIf(!isRoot)(
    'a process under another user reads nothing of the server and of other people',
    async () => {
      await server.close()
      const scripted = fileURLToPath(new URL('../peers/stdio/scripted-server.mjs', import.meta.url))
      const env = { TOKEN: '${user:provider_token}' }
      server = await startGateway({ command: process.execPath, args: [scripted], env, user })
      const [ada, bea] = [await connect('sdk 1, 2025-11-25'), await connect('client 2, 2025-11-25')]
      const read = async (path: string): Promise<string> => (await ada.call('read', { path })).text
      const { pid } = JSON.parse((await bea.call('grandchild')).text) as { pid: number }
      const status = await read('/proc/self/status')
      const [, door] = /^PPid:\t(\d+)/m.exec(status) ?? []
      expect(readFileSync(`/proc/${door}/environ`, 'utf8')).toContain('UPSTREAM=')
      expect(status).toMatch(/^Uid:\t(\d+)\t\1.*\nGid:\t20000\t20000.*\n(?:.*\n)*?Groups:\t *$/m)
      for (const path of [
        `/proc/${door}/environ`,
        `/proc/${pid}/environ`,
        join(server.directory, '.drawbridge', 'trial.db'),
        join(server.directory, '.drawbridge', 'secret-keys'),
      ])
        expect([path, await read(path)]).toEqual([path, 'EACCES'])
      expect(await read('/proc/self/environ')).toContain('TOKEN=')
      await server.kill('SIGKILL')
      await expect.poll(() => existsSync(`/proc/${pid}`), { timeout: 5000 }).toBe(false)
    },
  )
})
