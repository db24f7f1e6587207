import { readFileSync, utimesSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runCommand } from './command-process.ts'
import { createPerson } from './person.ts'
import { callTool, registerPlainClient } from './plain-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { until } from '../support/until.ts'

const connections = 2

interface KeyFacts {
  kid: string
  role: string
  sessions: number
  in_use: boolean
}

let server: ServerProcess
let accessTokens: string[]
beforeAll(async () => {
  // Provider tokens live so briefly that sessions are refreshed constantly, also while they are re-sealed, yet long enough to be
  // replaced before they expire in use.
  server = await startServer({ EMBEDDED_TOKEN_TTL: '10s', SIGN_IN_LIMIT: '1000', CALL_LIMIT: 'off' })
  const person = await createPerson(server)
  accessTokens = []
  for (let index = 0; index < connections; index += 1) {
    const client = await registerPlainClient(server)
    accessTokens.push((await client.connect(person)).access_token)
  }
}, 60_000)
afterAll(() => server?.close())

async function listKeys(): Promise<KeyFacts[]> {
  const { code, stdout } = await runCommand(server, ['keys', 'list', '--json'])
  expect(code).toBe(0)
  return (JSON.parse(stdout) as { keys: KeyFacts[] }).keys
}

/** Calls with every connection repeatedly; returns how often, and throws for the first call that failed. */
function keepCalling(): { stop(): Promise<number> } {
  const state = { calls: 0, isStopped: false }
  const work = accessTokens.map(async (token) => {
    while (!state.isStopped) {
      await callTool(server, token, 'list_notes')
      state.calls += 1
      await delay(200)
    }
  })
  // `stop` reports a failure; until then it must not end the process.
  const all = Promise.all(work)
  all.catch(() => undefined)
  return {
    async stop() {
      state.isStopped = true
      await all
      return state.calls
    },
  }
}

/** Resolves when the provider session of every connection has been refreshed, and so sealed by the server itself. */
async function untilAllAreRefreshed(): Promise<void> {
  const before = server.events('provider_refreshed').length
  await until(() => {
    const refreshed = server.events('provider_refreshed').slice(before)
    return new Set(refreshed.map((line) => line['grant_id'])).size === connections
  }, 'a refresh of every session')
}

const ringFile = (): string => join(server.directory, '.drawbridge', 'secret-keys')

describe('keys rotate beside a server that serves', () => {
  it(
    'a new key reaches a running server without a restart and without one failed call',
    { timeout: 120_000 },
    async () => {
      expect(await listKeys()).toEqual([
        { kid: 'generated', role: 'seals', sessions: connections, in_use: true },
      ])
      const calling = keepCalling()
      const { code, stdout, stderr } = await runCommand(server, ['keys', 'rotate', '--json'])
      const facts = JSON.parse(stdout) as { ok: boolean; added: string; resealed: number; keys: KeyFacts[] }
      expect([code, facts.ok]).toEqual([0, true])
      expect(facts.keys).toEqual([
        { kid: facts.added, role: 'seals', sessions: connections, in_use: true },
        { kid: 'generated', role: 'opens', sessions: 0, in_use: false },
      ])
      expect(statSync(ringFile()).mode & 0o777).toBe(0o600)
      for (const line of readFileSync(ringFile(), 'utf8').trim().split('\n')) {
        expect(stdout + stderr).not.toContain(line.split(':')[1])
      }
      await untilAllAreRefreshed()
      expect(await calling.stop()).toBeGreaterThan(connections)
      expect((await listKeys())[1]).toMatchObject({ kid: 'generated', sessions: 0, in_use: false })
      expect(server.events('provider_session_ended')).toEqual([])
      expect(server.events('provider_session_unreadable')).toEqual([])
    },
  )

  it('unneeded keys are removed while the server runs, and it goes on, also after a restart', async () => {
    const [first, ...others] = await listKeys()
    const kids = others.map(({ kid }) => kid)
    const anHourAgo = Date.now() / 1000 - 3601
    utimesSync(ringFile(), anHourAgo, anHourAgo)
    expect((await runCommand(server, ['keys', 'remove', ...kids])).code).toBe(0)
    expect(await listKeys()).toMatchObject([{ kid: first?.kid, role: 'seals' }])
    await callTool(server, accessTokens[0] ?? '', 'whoami')
    await server.kill('SIGTERM')
    await server.start()
    for (const token of accessTokens) await callTool(server, token, 'whoami')
  })
})
