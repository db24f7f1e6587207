import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { version } from '../../config/version.ts'
import { withoutMetadata } from '../../../tests/support/bridge/cli/login-server.ts'
import { startServer } from '../../../tests/support/bridge/proxy/proxy-rig.ts'
import type { Remote, RemoteOptions } from '../../../tests/support/remote/remote.ts'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'

const main = fileURLToPath(new URL('../../main.ts', import.meta.url))

/** The bridge as a client starts it: from source, with little more than HOME in its environment. */
interface Bridge {
  child: ChildProcess
  stdout: () => string
  stderr: () => string
  exit: Promise<{ code: number | null; signal: NodeJS.Signals | null }>
  ask(message: Record<string, unknown>): Promise<Record<string, unknown>>
}

describe('a connection', () => {
  let home: string
  let server: Remote
  const children: ChildProcess[] = []

  beforeEach(() => void (home = temporaryFolder()))
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
  })

  async function serve(token?: string, options: RemoteOptions = {}): Promise<string> {
    server = await startServer({ ...withoutMetadata(token), ...options })
    return server.url
  }

  function start(args: readonly string[], environment: Record<string, string> = {}): Bridge {
    const child = spawn(process.execPath, [main, ...args], {
      env: { HOME: home, PATH: process.env['PATH'], DRAWBRIDGE_CREDENTIAL_STORE: 'file', ...environment },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    children.push(child)
    let [stdout, stderr] = ['', '']
    child.stdout.on('data', (chunk) => (stdout += String(chunk)))
    child.stderr.on('data', (chunk) => (stderr += String(chunk)))
    const exit: Bridge['exit'] = new Promise((resolve) => {
      child.on('close', (code, signal) => resolve({ code, signal }))
    })
    let id = 0
    return {
      child,
      stdout: () => stdout,
      stderr: () => stderr,
      exit,
      async ask(message) {
        id += 1
        const own = id
        child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: own, ...message })}\n`)
        return vi.waitFor(
          () => {
            const answers = stdout
              .split('\n')
              .filter((line) => line !== '')
              .map((line) => JSON.parse(line) as Record<string, unknown>)
            const found = answers.find((answer) => answer['id'] === own)
            if (!found) throw new Error(`no answer to ${String(message['method'])}: ${stderr}`)
            return found
          },
          { timeout: 20_000, interval: 10 },
        )
      },
    }
  }

  const initialize = {
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
  }

  it('carries initialize and tools/list, and ends with stdin', async () => {
    const bridge = start([await serve()])
    expect(await bridge.ask(initialize)).toMatchObject({ result: { serverInfo: { name: 'remote' } } })
    bridge.child.stdin?.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    expect(await bridge.ask({ method: 'tools/list' })).toMatchObject({
      result: { tools: [{ name: 'echo' }] },
    })
    bridge.child.stdin?.end()
    expect(await bridge.exit).toEqual({ code: 0, signal: null })
    expect(server.log()).toContain('DELETE')
    expect(bridge.stderr()).toBe(`drawbridge ${version}: ${server.origin}, no login stored\n`)
  })

  it.skipIf(!existsSync('/usr/bin/script'))(
    'in a terminal says who is meant to speak, and ends by Ctrl-C',
    async () => {
      const url = await serve()
      const child = spawn(
        '/usr/bin/script',
        ['-qec', `exec ${process.execPath} ${main} ${url}`, '/dev/null'],
        {
          env: { HOME: home, PATH: process.env['PATH'], DRAWBRIDGE_CREDENTIAL_STORE: 'file' },
        },
      )
      children.push(child)
      let shown = ''
      child.stdout.on('data', (chunk) => (shown += String(chunk)))
      const exit = new Promise((resolve) => child.on('close', resolve))
      await vi.waitFor(() => expect(shown).toContain(`drawbridge install <client> ${url}`), {
        timeout: 20_000,
      })
      child.stdin.write('\u0003')
      expect(await exit).toBe(0)
    },
  )

  it('with a token that is refused says which one, and the profile where there is one', async () => {
    const url = await serve('another')
    const fixed = start([url], { DRAWBRIDGE_TOKEN: 'sEcReT-token' })
    expect(await fixed.ask(initialize)).toMatchObject({
      error: {
        message: expect.stringContaining('token of DRAWBRIDGE_TOKEN'),
        data: { code: 'server_sign_in_needed', next_step: expect.stringContaining('unset DRAWBRIDGE_TOKEN') },
      },
    })
    const named = start([`${server.origin}/other`, '--profile', 'work'])
    expect(await named.ask(initialize)).toMatchObject({
      error: { data: { next_step: expect.stringContaining(`/other --profile work`) } },
    })
  })

  it('sends headers, and a token in place of a login', async () => {
    const bridge = start([await serve('sEcReT-token'), '--header', 'X-Team: ${TEAM}'], {
      DRAWBRIDGE_TOKEN: 'sEcReT-token',
      TEAM: 'blue',
    })
    await bridge.ask(initialize)
    bridge.child.stdin?.end()
    await bridge.exit
    expect(server.received[0]?.headers).toMatchObject({
      'x-team': 'blue',
      authorization: 'Bearer sEcReT-token',
    })
    expect(bridge.stderr()).toContain('token of DRAWBRIDGE_TOKEN')
    expect(bridge.stderr()).not.toContain('sEcReT')
  })

  it('with faults on its command line tells them all and is 2', async () => {
    const bridge = start(['ftp://x', '--transprot', 'sse', '--retry', 'x'])
    expect(await bridge.exit).toEqual({ code: 2, signal: null })
    expect(bridge.stdout()).toBe('')
    expect(bridge.stderr().trimEnd().split('\n')).toEqual([
      'drawbridge did not start.',
      expect.stringContaining('--transprot'),
      expect.stringContaining('--retry'),
      expect.stringContaining('ftp://x'),
      'Every flag: drawbridge --help',
    ])
  })

  it('without any word prints the help on stderr and is 2', async () => {
    const bridge = start([])
    expect((await bridge.exit).code).toBe(2)
    expect(bridge.stdout()).toBe('')
    expect(bridge.stderr()).toContain('drawbridge --help')
  })

  it('answers --help and --version on stdout, also behind a URL', async () => {
    const help = start(['https://mcp.example.com', '--debug', '--help'])
    expect((await help.exit).code).toBe(0)
    expect(help.stdout()).toContain('--timeout')
    const asked = start(['--version'])
    expect((await asked.exit).code).toBe(0)
    expect(asked.stdout()).toBe(`${version}\n`)
  })
})
