import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ChoiceWorld, createChoiceWorld, createChoosingPerson, placeIn } from '../../e2e/choice.ts'
import { type ServerProcess, startServer } from '../../e2e/server-process.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { until } from '../../support/until.ts'
import { hasPythonPeers, type PythonPeer, type PythonResult, runPythonClient } from './python-peer.ts'

let server: ServerProcess
let world: ChoiceWorld
const folder = temporaryFolder(afterAll)

const peers: [name: string, peer: PythonPeer][] = [
  ['mcp 1', { line: 'mcp-1', library: 'mcp' }],
  ['fastmcp 3', { line: 'mcp-1', library: 'fastmcp' }],
  ['mcp 2', { line: 'mcp-2', library: 'mcp' }],
  ['fastmcp 4', { line: 'mcp-2', library: 'fastmcp' }],
]

describe.skipIf(!hasPythonPeers())('Python clients whose user chooses', { timeout: 300_000 }, () => {
  beforeAll(async () => {
    world = createChoiceWorld(folder)
    const settings = { ...world.settings, SESSION_CHECK: '1s', SIGN_IN_LIMIT: '1000' }
    server = await startServer(settings, { environment: world.environment })
  })
  afterAll(() => server?.close())

  it.each(peers)(
    'the Python client %s signs in once for each refused call, and not at all for a lost workspace',
    async (name, peer) => {
      const own = join(folder, name)
      mkdirSync(own)
      const sixty = Array.from({ length: 60 }, (_, index) => `team-${index}`)
      const person = await createChoosingPerson(server, world, sixty)
      person.leaveOut = ['notes:write']
      person.workspace = 'team-59'
      const signIn = (url: URL): Promise<URL> => {
        // The libraries ask for what the challenge names; applications that know the scopes of a server add them.
        if (person.seen.length === 0) url.searchParams.set('scope', 'mcp notes:read notes:write')
        return person.allow(url)
      }
      const run = (...tools: string[]): Promise<PythonResult> =>
        runPythonClient(peer, { url: server.mcpUrl, folder: own, tools, signIn })

      const first = await run('where', 'write')
      expect([first.signIns, first.failures.length > 0]).toEqual([2, true])
      expect(person.seen.map(({ boxes }) => boxes)).toEqual([
        ['+notes:read', '+notes:write'],
        ['-notes:write'],
      ])
      const [place] = first.texts.map(placeIn)
      expect(place).toMatchObject({ email: person.email, scope: 'mcp notes:read', workspace: 'team-59' })

      const { clientId = '' } = place ?? {}
      expect(await person.change(clientId, { scope: 'mcp', workspace: 'team-7' })).toEqual([200, 200])
      person.workspace = 'team-7'
      const narrowed = await run('where', 'write')
      expect([narrowed.signIns, narrowed.failures.length > 0]).toEqual([1, true])
      expect(narrowed.texts.map(placeIn)).toEqual([{ ...place, scope: 'mcp', workspace: 'team-7' }])

      world.list(person.email, ['team-0', 'team-1'])
      let lost = await run('where', 'where')
      await until(async () => {
        if (lost.texts.length > 0) lost = await run('where', 'where')
        return lost.texts.length === 0
      }, 'the next check of the membership')
      expect(lost.signIns).toBe(0)
      expect(server.events('workspace_lost')).toContainEqual(
        expect.objectContaining({ client_id: clientId, workspace: 'team-7' }),
      )
      expect(person.seen).toHaveLength(3)
    },
  )
})
