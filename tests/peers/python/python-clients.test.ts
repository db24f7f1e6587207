import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createPerson, type Person } from '../../e2e/person.ts'
import { type ServerProcess, startServer } from '../../e2e/server-process.ts'
import { hasPythonPeers, type PythonPeer, runPythonClient } from './python-peer.ts'

const hour = 3600
const processes = 8

let server: ServerProcess
let person: Person
let folder: string

const peers: [name: string, peer: PythonPeer][] = [
  ['mcp 1', { line: 'mcp-1', library: 'mcp' }],
  ['fastmcp 3', { line: 'mcp-1', library: 'fastmcp' }],
  ['mcp 2', { line: 'mcp-2', library: 'mcp' }],
  ['fastmcp 4', { line: 'mcp-2', library: 'fastmcp' }],
]

describe.skipIf(!hasPythonPeers())('Python clients that store their tokens', () => {
  beforeEach(async () => {
    server = await startServer()
    person = await createPerson(server)
    folder = mkdtempSync(join(tmpdir(), 'drawbridge-python-'))
  })
  afterEach(async () => {
    rmSync(folder, { recursive: true, force: true })
    await server?.close()
  })

  it.each(peers)(
    '%s signs in once: restarts and eight processes at expiry go on without a login',
    { timeout: 300_000 },
    async (_name, peer) => {
      const text = `You are ${person.email}.`
      const where = { url: server.mcpUrl, folder }

      const first = await runPythonClient(peer, { ...where, signIn: person.allow })
      expect(first).toEqual({ signIns: 1, texts: [text], failures: [] })

      const again = await runPythonClient(peer, where)
      expect(again).toEqual({ signIns: 0, texts: [text], failures: [] })

      // Both clocks are moved, so that the access token has expired for both.
      await moveClock(2 * hour)
      const restarted = await runPythonClient(peer, { ...where, aheadSeconds: 2 * hour })
      expect(restarted).toEqual({ signIns: 0, texts: [text], failures: [] })

      await moveClock(4 * hour)
      const together = await runPythonClient(peer, { ...where, processes, aheadSeconds: 4 * hour })
      expect(together).toEqual({ signIns: 0, texts: Array(processes).fill(text), failures: [] })

      const granted = server.events('token_issued').map((line) => line['grant_type'])
      expect(granted.filter((type) => type === 'authorization_code')).toHaveLength(1)
      expect(granted.filter((type) => type === 'refresh_token')).toHaveLength(1 + processes)
      expect(server.events('token_refused')).toEqual([])
    },
  )
})

async function moveClock(aheadSeconds: number): Promise<void> {
  expect(await server.kill('SIGTERM')).toEqual({ code: 0, signal: null })
  await server.start({ aheadSeconds })
}
