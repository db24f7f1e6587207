import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { expectAllConnected } from '../../e2e/attempt-facts.ts'
import { createPerson, type Person } from '../../e2e/person.ts'
import { type ServerProcess, startServer } from '../../e2e/server-process.ts'
import { hasPythonPeers, type PythonPeer, runPythonClient } from './python-peer.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const aheadSeconds = 2 * 3600
const processes = 4

let server: ServerProcess
let person: Person
const folder = temporaryFolder(afterAll)

const peers: [name: string, peer: PythonPeer][] = [
  ['mcp 1', { line: 'mcp-1', library: 'mcp' }],
  ['fastmcp 3', { line: 'mcp-1', library: 'fastmcp' }],
  ['mcp 2', { line: 'mcp-2', library: 'mcp' }],
  ['fastmcp 4', { line: 'mcp-2', library: 'fastmcp' }],
]

describe.skipIf(!hasPythonPeers())('Python clients that store their tokens', { timeout: 120_000 }, () => {
  beforeAll(async () => {
    server = await startServer()
    person = await createPerson(server)
  })
  afterAll(() => server?.close())

  const whereOf = (name: string): { url: string; folder: string } => {
    const own = join(folder, name)
    mkdirSync(own, { recursive: true })
    return { url: server.mcpUrl, folder: own }
  }
  const granted = (type: string): number =>
    server.events('token_issued').filter((line) => line['grant_type'] === type).length

  it.each(peers)('the Python client %s signs in once, and goes on after a restart', async (name, peer) => {
    const both = await runPythonClient(peer, { ...whereOf(name), runs: 2, signIn: person.allow })
    const texts = Array(2).fill(`You are ${person.email}.`)
    expect(both).toEqual({ signIns: 1, texts, failures: [] })
  })

  it('all Python clients together took one sign-in each', async () => {
    expect(granted('authorization_code')).toBe(peers.length)
    await expectAllConnected(server, peers.length)
    // Both clocks are moved, so that the access tokens have expired for both.
    expect(await server.kill('SIGTERM')).toEqual({ code: 0, signal: null })
    await server.start({ aheadSeconds })
  })

  it.each(peers)('four processes of %s at expiry go on without a login', async (name, peer) => {
    const before = granted('refresh_token')
    const together = await runPythonClient(peer, { ...whereOf(name), processes, aheadSeconds })
    const texts = Array(processes).fill(`You are ${person.email}.`)
    expect(together).toEqual({ signIns: 0, texts, failures: [] })
    expect(granted('refresh_token')).toBe(before + processes)
    expect(granted('authorization_code')).toBe(peers.length)
    expect(server.events('token_refused')).toEqual([])
  })
})
