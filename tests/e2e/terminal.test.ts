import { spawn } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach, describe, expect, it } from 'vitest'
import { freePort } from '../support/server/free-port.ts'
import { until } from '../support/until.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const launcher = fileURLToPath(new URL('../../server/launcher.cjs', import.meta.url))
const builder = fileURLToPath(new URL('../../scripts/build.mjs', import.meta.url))

let folder: string
beforeEach(() => {
  folder = temporaryFolder()
})

/** A server on its own terminal, as if `npm start` had started it. */
interface TerminalServer {
  baseUrl: string
  /** Returns everything on the terminal, without colours. */
  shown(): string
  type(text: string): void
  ended: Promise<number | null>
}

async function startOnTerminal(settings: Readonly<Record<string, string>> = {}): Promise<TerminalServer> {
  const [port, appPort] = [await freePort(), await freePort()]
  const baseUrl = `http://localhost:${port}`
  const child = spawn('script', ['-qec', `exec ${process.execPath} ${launcher}`, '/dev/null'], {
    cwd: folder,
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: folder,
      npm_command: 'start',
      npm_lifecycle_event: 'start',
      DRAWBRIDGE_LISTEN: `127.0.0.1:${port}`,
      DRAWBRIDGE_BASE_URL: baseUrl,
      DRAWBRIDGE_APP_URL: `http://localhost:${appPort}`,
      DRAWBRIDGE_STORE: 'memory:',
      ...settings,
    },
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()))
  // oxlint-disable-next-line no-control-regex
  const shown = (): string => output.replaceAll(/\u001B\[\d*m|\r/g, '')
  const ended = new Promise<number | null>((resolve) => void child.once('close', resolve))
  await until(
    () => shown().includes('Open http'),
    () => `the ready text; so far:\n${shown()}`,
  )
  return { baseUrl, shown, type: (text) => void child.stdin.write(text), ended }
}

describe.runIf(process.platform === 'linux')('a server on a terminal', () => {
  it('a server on a terminal shows its settings and ends with the address to open, logs in lines, and ends by Ctrl-C', async () => {
    const audit = join(folder, 'audit.jsonl')
    const { baseUrl, shown, type, ended } = await startOnTerminal({ DRAWBRIDGE_AUDIT: audit })
    expect(shown()).toContain('Tools          whoami and 3 more, 1 scope')
    expect(shown()).toMatch(new RegExp(`\n  Open ${baseUrl}/\n\n$`))

    const client = { redirect_uris: ['http://127.0.0.1/callback'] }
    const headers = { 'content-type': 'application/json' }
    await fetch(`${baseUrl}/oauth/register`, { method: 'POST', headers, body: JSON.stringify(client) })
    await until(() => shown().includes('registered'), 'the line of the log')
    expect(shown()).toMatch(/^\d\d:\d\d:\d\d {2}A client registered itself\. {2}client_id=mcpc_\S+$/m)
    expect(shown()).not.toContain('{"level"')

    type('\u0003')
    expect(await ended).toBe(0)
    expect(JSON.parse(readFileSync(audit, 'utf8'))).toMatchObject({ event: 'client_registered', audit: true })
    expect(shown()).toContain('Stopping; running requests may finish. Press Ctrl-C again to stop at once.')
  })
})

describe('a folder that cannot be written', () => {
  it.runIf(process.getuid?.() !== undefined)(
    'a server whose folder cannot be written names the fault and the next step',
    async () => {
      chmodSync(folder, 0o555)
      // Root can write everywhere, so another user runs it.
      const [program = '', ...argv] =
        process.getuid?.() === 0
          ? ['setpriv', '--reuid=65534', '--clear-groups', process.execPath, launcher]
          : [process.execPath, launcher]
      const child = spawn(program, argv, { cwd: folder, env: { PATH: process.env['PATH'] ?? '' } })
      let stderr = ''
      child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
      const code = await new Promise((resolve) => void child.once('close', resolve))
      expect(code).toBe(2)
      expect(stderr).toContain(`this user may not write ${folder}. Let the user`)
      expect(stderr).not.toMatch(/^ +at /m)
    },
  )
})

describe('the build of npm start', () => {
  it('a failed build says why, and exits with 1', async () => {
    // A separate project, without a build configuration.
    mkdirSync(join(folder, 'scripts'))
    copyFileSync(builder, join(folder, 'scripts', 'build.mjs'))
    symlinkSync(fileURLToPath(new URL('../../node_modules', import.meta.url)), join(folder, 'node_modules'))
    const child = spawn(process.execPath, ['scripts/build.mjs'], { cwd: folder })
    let stderr = ''
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    expect(await new Promise((resolve) => void child.once('close', resolve))).toBe(1)
    expect(stderr).toMatch(
      /^(?:Building \.\.\.\n)?The build failed\. Correct this, and run it again:\n.*rolldown\.config/s,
    )
  })
})
