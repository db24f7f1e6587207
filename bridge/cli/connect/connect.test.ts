import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { version } from '../../config/version.ts'
import { withoutMetadata } from '../../../tests/support/bridge/cli/login-server.ts'
import {
  type BridgeChild,
  type BridgeOptions,
  startBridgeChild,
  startCommand,
} from '../../../tests/support/bridge/process/bridge-child.ts'
import { filesIn } from '../../../tests/support/bridge/process/stage.ts'
import { compileCache } from '../../../tests/support/compile-cache.ts'
import { startServer } from '../../../tests/support/bridge/proxy/proxy-rig.ts'
import type { Remote } from '../../../tests/support/remote/remote.ts'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'

const main = fileURLToPath(new URL('../../main.ts', import.meta.url))

describe('a connection', () => {
  let home: string
  beforeEach(() => void (home = temporaryFolder()))

  const serve = (token?: string): Promise<Remote> => startServer(withoutMetadata(token))

  /** From source, with little more than HOME in its environment. */
  const options = (environment: Record<string, string> = {}): BridgeOptions => ({
    home,
    launcher: main,
    environment: { DRAWBRIDGE_CREDENTIAL_STORE: 'file', ...compileCache, ...environment },
  })

  function start(url: string, flags: string[] = [], environment: Record<string, string> = {}): BridgeChild {
    const bridge = startBridgeChild(url, { ...options(environment), flags })
    onTestFinished(() => bridge.close())
    return bridge
  }

  it('a connection carries initialize and tools/list, and ends when stdin ends', async () => {
    const server = await serve()
    const bridge = start(server.url)
    expect(await bridge.initialize()).toMatchObject({ result: { serverInfo: { name: 'remote' } } })
    expect(await bridge.ask('tools/list')).toMatchObject({ result: { tools: [{ name: 'echo' }] } })
    await bridge.close()
    expect(await bridge.over).toMatchObject({ code: 0, signal: null })
    expect(server.log()).toContain('DELETE')
    expect(bridge.stderr()).toBe(`drawbridge ${version}: ${server.origin}, no login stored\n`)
  })

  it.skipIf(!existsSync('/usr/bin/script'))(
    'a connection in a terminal says who is meant to speak, and ends by Ctrl-C',
    async () => {
      const { url } = await serve()
      const child = spawn(
        '/usr/bin/script',
        ['-qec', `exec ${process.execPath} ${main} ${url}`, '/dev/null'],
        {
          env: {
            HOME: home,
            PATH: process.env['PATH'],
            DRAWBRIDGE_CREDENTIAL_STORE: 'file',
            ...compileCache,
          },
        },
      )
      onTestFinished(() => void child.kill('SIGKILL'))
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

  it('a connection names the refused token, and the profile if one is set', async () => {
    const { url, origin } = await serve('another')
    const fixed = start(url, [], { DRAWBRIDGE_TOKEN: 'sEcReT-token' })
    expect(await fixed.initialize()).toMatchObject({
      error: {
        message: expect.stringContaining('token of DRAWBRIDGE_TOKEN'),
        data: { code: 'server_sign_in_needed', next_step: expect.stringContaining('unset DRAWBRIDGE_TOKEN') },
      },
    })
    const named = start(`${origin}/other`, ['--profile', 'work'])
    expect(await named.initialize()).toMatchObject({
      error: { data: { next_step: expect.stringContaining(`/other --profile work`) } },
    })
  })

  it('a connection sends headers, and a token instead of a login', async () => {
    const { url, received } = await serve('sEcReT-token')
    const file = join(home, 'headers')
    writeFileSync(file, '# for the gateway\nX-File: ${TEAM} too\r\n')
    const environment = { DRAWBRIDGE_TOKEN: 'sEcReT-token', TEAM: 'sEcReT-team' }
    const flags = ['--header', 'X-Team: ${TEAM}', '--header-file', file, '--debug']
    const bridge = start(url, flags, environment)
    await bridge.initialize()
    await bridge.close()
    const headers = { 'x-team': 'sEcReT-team', 'x-file': 'sEcReT-team too' }
    for (const request of received)
      expect(request.headers).toMatchObject({ ...headers, authorization: 'Bearer sEcReT-token' })
    expect(bridge.stderr()).toContain('token of DRAWBRIDGE_TOKEN')
    const written = filesIn(join(home, '.drawbridge'))
    expect([...written.keys()].join()).toContain('logs/')
    expect([bridge.stderr(), ...written.values()].join('\n')).not.toContain('sEcReT')
  })

  it('a connection reports all faults of its command line and its file, even one with a byte order mark, and exits with 2', async () => {
    mkdirSync(join(home, '.drawbridge'))
    writeFileSync(join(home, '.drawbridge', 'config.json'), '\uFEFF{"retyr":"never"}')
    const command = startCommand(['ftp://x', '--transprot', 'sse', '--retry', 'x'], options())
    expect(await command.ended).toBe(2)
    expect(command.stdout()).toBe('')
    expect(command.stderr().trimEnd().split('\n')).toEqual([
      'drawbridge did not start.',
      expect.stringContaining('--transprot'),
      expect.stringContaining('retyr of '),
      expect.stringContaining('--retry'),
      expect.stringContaining('ftp://x'),
      'Every flag: drawbridge --help',
    ])
  })

  it.each([
    [[], 2, '', /drawbridge --help/],
    [['https://mcp.example.com', '--debug', '--help'], 0, /--timeout/, ''],
    [['--version'], 0, `${version}\n`, ''],
  ])(
    'the command line %j exits with %d after printing help or version',
    async (words, code, stdout, stderr) => {
      const command = startCommand(words, options())
      expect(await command.ended).toBe(code)
      for (const [said, wanted] of [
        [command.stdout(), stdout],
        [command.stderr(), stderr],
      ] as const)
        if (typeof wanted === 'string') expect(said).toBe(wanted)
        else expect(said).toMatch(wanted)
    },
  )
})
