import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type SignedInClient, sdkClients } from './gateway-client.ts'
import { startGateway } from './gateway-server.ts'
import { createPerson } from './person.ts'
import type { ServerProcess } from './server-process.ts'

const everything = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/server-everything/dist/index.js', import.meta.url),
)

let server: ServerProcess
const clients: SignedInClient[] = []

beforeEach(async () => {
  server = await startGateway({
    command: process.execPath,
    args: [everything, 'stdio'],
    env: { WHO: '${user:id}', TOKEN: '${user:provider_token}' },
    tools: { deny: ['get-sum'] },
  })
})

afterEach(async () => {
  for (const client of clients.splice(0)) await client.end().catch(() => {})
  await server.close()
})

/** The processes of server-everything that run now. */
function processes(): number[] {
  return execFileSync('ps', ['-eo', 'pid,args'], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes(everything))
    .map((line) => Number.parseInt(line, 10))
}

async function connect(by: keyof typeof sdkClients): Promise<SignedInClient> {
  const client = await sdkClients[by](server, await createPerson(server))
  clients.push(client)
  return client
}

describe('server-everything over stdio behind the built door', { timeout: 60_000 }, () => {
  it.each(Object.keys(sdkClients) as (keyof typeof sdkClients)[])(
    '%s: lists, calls, hears of progress, and the process ends with the server',
    async (by) => {
      const client = await connect(by)
      const names = await client.listTools()
      expect(names).toContain('echo')
      expect(names).not.toContain('get-sum')
      expect((await client.call('echo', { message: 'through the door' })).text).toContain('through the door')
      const { text, progress } = await client.call('trigger-long-running-operation', {
        duration: 1,
        steps: 2,
      })
      expect(text).toContain('completed')
      expect(progress).toEqual([1, 2])
      await expect(client.call('get-sum', { a: 1, b: 2 })).rejects.toThrow('There is no tool')
      expect(processes()).toHaveLength(1)
      await server.kill('SIGTERM')
      expect(processes()).toEqual([])
    },
  )

  it('two people have a process each, with their own environment and nothing of the server', async () => {
    const [ada, bea] = [await connect('sdk 1, 2025-11-25'), await connect('client 2, 2026-07-28 if it can')]
    await Promise.all([ada.call('echo', { message: 'a' }), bea.call('echo', { message: 'b' })])
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
    expect(new Set(environments.map(({ TOKEN }) => TOKEN)).size).toBe(2)
    for (const pid of processes()) {
      expect(readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').filter(Boolean)).toEqual([
        process.execPath,
        everything,
        'stdio',
      ])
    }
  })

  it('nothing is left of a server that was killed', async () => {
    const client = await connect('client 2, 2025-11-25')
    await client.call('echo', { message: 'a' })
    expect(processes()).toHaveLength(1)
    await server.kill('SIGKILL')
    await expect.poll(processes, { timeout: 3000 }).toEqual([])
  })
})
