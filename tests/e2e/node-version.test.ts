import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { runAlone } from './command-process.ts'
import { nodePeer } from '../peers/node/node-peers.ts'
import { createPerson } from './person.ts'
import { callTool, registerPlainClient } from './plain-client.ts'
import { startServer } from './server-process.ts'

const floor = '22.13.0'
const floorNode = nodePeer(floor)

const oldNode = nodePeer('20.19.0')

describe('a Node that is too old', () => {
  if (oldNode === undefined)
    console.log(
      'Skipped: there is no Node older than 22.13 to try the launcher with; npm run peers installs one.',
    )

  it.skipIf(oldNode === undefined)(
    'the launcher on a Node that is too old names the required Node, the one found, and its path',
    async () => {
      const { code, stdout, stderr } = await runAlone(['--version'], { node: oldNode ?? '' })
      expect([code, stdout]).toEqual([1, ''])
      expect(stderr).toContain('needs Node 22.13')
      expect(stderr).toContain('this is Node 20.19.0 at')
      expect(stderr).toContain('Install a newer Node')
      expect(stderr).not.toMatch(/^ +at |SyntaxError/m)
    },
  )
})

describe(`Node ${floor}, the oldest that is supported`, () => {
  if (floorNode === undefined) console.log(`Skipped: Node ${floor} is not here; npm run peers installs it.`)

  it.skipIf(floorNode === undefined)(
    'the server on the oldest supported Node serves a client from registration to a call',
    { timeout: 180_000 },
    async () => {
      const node = floorNode ?? ''
      expect(execFileSync(node, ['--version'], { encoding: 'utf8' }).trim()).toBe(`v${floor}`)
      const version = await runAlone(['--version'], { node })
      expect([version.code, version.stdout]).toEqual([0, expect.stringMatching(/^\d+\.\d+\.\d+\n$/)])

      const server = await startServer({}, { node })
      try {
        const person = await createPerson(server)
        const client = await registerPlainClient(server)
        const tokens = await client.connect(person)
        expect(await callTool(server, tokens.access_token, 'whoami')).toContain(person.email)
        expect((await client.refresh(tokens.refresh_token)).status).toBe(200)
        // Plain text on stderr is allowed only for this Node's warning that its SQLite is experimental.
        const plain = server
          .stderr()
          .split('\n')
          .filter((line) => line !== '' && !line.startsWith('{'))
        for (const line of plain) expect(line).toMatch(/ExperimentalWarning: SQLite|--trace-warnings/)
      } finally {
        await server.close()
      }
    },
  )
})
