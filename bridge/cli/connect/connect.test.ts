import { type ChildProcess, spawn } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { version } from '../../config/version.ts'
import { startLoginServer, withoutMetadata } from '../../../tests/support/bridge/cli/login-server.ts'
import { startServer } from '../../../tests/support/bridge/proxy/proxy-rig.ts'
import type { Remote, RemoteOptions } from '../../../tests/support/remote/remote.ts'
import { storeLogin } from '../../../tests/support/bridge/cli/stored-login.ts'

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

  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), 'drawbridge-connect-'))
  })
  afterEach(() => {
    for (const child of children.splice(0)) child.kill('SIGKILL')
    rmSync(home, { recursive: true, force: true })
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

  it('remembers the server for the next one, for its owner alone', async () => {
    const bridge = start([await serve()])
    await bridge.ask(initialize)
    bridge.child.stdin?.end()
    await bridge.exit
    const folder = join(home, '.drawbridge', 'servers')
    const [name = ''] = readdirSync(folder)
    expect(name).toMatch(/^[0-9a-f]{64}\.json$/)
    expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600)
    expect(statSync(folder).mode & 0o777).toBe(0o700)
    expect(JSON.parse(readFileSync(join(folder, name), 'utf8'))).toMatchObject({ version: 1, era: 'legacy' })
    expect(existsSync(join(home, '.drawbridge', 'credentials'))).toBe(false)
  })

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)('ends with 0 on %s', async (signal) => {
    const bridge = start([await serve()])
    await bridge.ask(initialize)
    bridge.child.kill(signal)
    expect(await bridge.exit).toEqual({ code: 0, signal: null })
  })

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

  it('signs in with what is stored', async () => {
    const url = await serve('sEcReT-access')
    await storeLogin(home, url)
    const bridge = start([url])
    expect(await bridge.ask(initialize)).toMatchObject({ result: { serverInfo: { name: 'remote' } } })
    bridge.child.stdin?.end()
    expect((await bridge.exit).code).toBe(0)
    expect(bridge.stderr()).toContain('login stored')
    expect(bridge.stderr()).not.toContain('sEcReT')
  })

  it('answers at once when a sign-in is needed, opens the browser once, and goes on signed in', async () => {
    server = await startLoginServer()
    const { url } = server
    const browser = join(home, 'browser')
    writeFileSync(
      browser,
      `#!${process.execPath}
      require('node:fs').appendFileSync(__filename + '.log', 'opened ')
      fetch(process.argv[2]).then((response) => response.text())`,
    )
    chmodSync(browser, 0o700)
    const bridge = start([url], { BROWSER: browser })
    expect(await bridge.ask(initialize)).toHaveProperty('result')
    await vi.waitFor(
      async () => {
        const listed = JSON.stringify(await bridge.ask({ method: 'tools/list' }))
        expect(listed).toContain('"echo"')
      },
      { timeout: 20_000, interval: 100 },
    )
    bridge.child.stdin?.end()
    expect(await bridge.exit).toEqual({ code: 0, signal: null })
    expect(readFileSync(`${browser}.log`, 'utf8')).toBe('opened ')
    expect(bridge.stderr()).toContain(`Sign in here: ${server.origin}/authorize?`)
    expect(bridge.stderr() + bridge.stdout()).not.toContain('sEcReT')
    const again = start([url])
    expect(await again.ask(initialize)).toMatchObject({ result: { serverInfo: { name: 'remote' } } })
  })

  it.each(['stdin', 'SIGTERM'])('ends soon while a sign-in is pending, on %s', async (how) => {
    const bridge = start([(await startLoginServer()).url, '--no-open'])
    await bridge.ask(initialize)
    await vi.waitFor(() => expect(bridge.stderr()).toContain('Sign in here:'), 10_000)
    const before = performance.now()
    if (how === 'stdin') bridge.child.stdin?.end()
    else bridge.child.kill('SIGTERM')
    expect(await bridge.exit).toEqual({ code: 0, signal: null })
    expect(performance.now() - before).toBeLessThan(5000)
  })

  it('renews a stored login that has ended, and stores what it got', async () => {
    const forms: string[] = []
    const url = await serve('sEcReT-next', {
      handle({ path, text, json }) {
        if (path !== '/token') return false
        forms.push(text)
        const tokens = { access_token: 'sEcReT-next', refresh_token: 'sEcReT-rotated', expires_in: 3600 }
        json(200, { token_type: 'Bearer', ...tokens })
        return true
      },
    })
    const { origin } = new URL(url)
    await storeLogin(home, url, {
      issuer: origin,
      tokenEndpoint: `${origin}/token`,
      tokens: { accessToken: 'sEcReT-old', refreshToken: 'sEcReT-refresh', issuedAt: 1000, expiresAt: 2000 },
    })
    const bridge = start([url])
    expect(await bridge.ask(initialize)).toMatchObject({ result: { serverInfo: { name: 'remote' } } })
    bridge.child.stdin?.end()
    expect((await bridge.exit).code).toBe(0)
    expect(forms).toEqual([expect.stringContaining('refresh_token=sEcReT-refresh')])
    const again = start([url])
    await again.ask(initialize)
    expect(forms).toHaveLength(1)
  })

  it('answers the client when the server is not there, and says what to do', async () => {
    const url = await serve()
    await server.stop()
    const bridge = start([url, '--retry', 'off'])
    const answer = await bridge.ask(initialize)
    expect(answer).toMatchObject({ error: { code: -32_603, data: { code: 'network_refused' } } })
    bridge.child.stdin?.end()
    expect((await bridge.exit).code).toBe(0)
  })

  it('with --debug writes a log of its owner, with no secret in it', async () => {
    const bridge = start([await serve('sEcReT-token'), '--debug'], {
      DRAWBRIDGE_TOKEN: 'sEcReT-token',
    })
    await bridge.ask(initialize)
    bridge.child.stdin?.end()
    await bridge.exit
    const folder = join(home, '.drawbridge', 'logs')
    const [name = ''] = readdirSync(folder)
    expect(statSync(join(folder, name)).mode & 0o777).toBe(0o600)
    const log = readFileSync(join(folder, name), 'utf8')
    expect(log).toContain(`drawbridge ${version}`)
    expect(log).not.toContain('sEcReT')
    expect(bridge.stderr()).toContain(join(folder, name))
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
