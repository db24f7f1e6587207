import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { runCommand, type CommandRun } from '../../../tests/support/bridge/cli/command-run.ts'
import { withoutMetadata } from '../../../tests/support/bridge/cli/login-server.ts'
import { storeLogin } from '../../../tests/support/bridge/cli/stored-login.ts'
import { startServer } from '../../../tests/support/bridge/proxy/proxy-rig.ts'
import type { Remote, RemoteOptions } from '../../../tests/support/remote/remote.ts'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'

type Check = { name: string; state: string; message: string; fix?: string }

/** A server that is its own authorization server; with `token`, it wants that one. */
const withMetadata = (token?: string, metadata: Record<string, unknown> = {}): RemoteOptions => ({
  auth: token !== undefined,
  token,
  deviceGrant: false,
  authorization: { metadata },
})

describe('doctor', () => {
  let home: string
  beforeEach(() => void (home = temporaryFolder()))

  const serve = (options: RemoteOptions = {}): Promise<Remote> =>
    startServer({ ...withoutMetadata(), ...options })

  async function look(
    words: readonly string[],
    environment: Record<string, string> = {},
  ): Promise<CommandRun & { checks: Check[] }> {
    const run = await runCommand(['doctor', ...words, '--json'], { home, environment })
    return { ...run, checks: run.json()['checks'] as Check[] }
  }

  const stateOf = (checks: readonly Check[]): Record<string, string> =>
    Object.fromEntries(checks.map(({ name, state }) => [name, state]))

  it('doctor passes a server without sign-in', async () => {
    const { url, log } = await serve()
    const { code, checks } = await look([url])
    expect(code).toBe(0)
    expect(stateOf(checks)).toMatchObject({
      node: 'ok',
      configuration: 'ok',
      endpoint: 'ok',
      clock: 'ok',
      session: 'ok',
    })
    expect(checks.at(-1)?.message).toContain('"remote" speaks 2025-11-25 and has 1 tool on')
    expect(log()).toContain('tools/list')
    // One session of the first question, and one of the client of 2025-11-25.
    expect(log().filter((method) => method === 'DELETE')).toHaveLength(2)
  })

  it('doctor checks everything with a stored login, and makes a real connection', async () => {
    const { url, origin } = await startServer(withMetadata('sEcReT-access'))
    await storeLogin(home, url, { issuer: origin })
    const run = await look([url])
    expect(stateOf(run.checks)).toMatchObject({
      endpoint: 'ok',
      authorization_server: 'ok',
      sign_in_page: 'ok',
      keychain: 'warn',
      login: 'ok',
      session: 'ok',
    })
    expect(run.code).toBe(0)
    expect(run.stdout + run.stderr).not.toContain('sEcReT')
  })

  it('doctor exits with 3 without a login, and says what to run', async () => {
    const { url } = await startServer(withMetadata('x'))
    const { code, checks } = await look([url])
    expect(code).toBe(3)
    expect(checks.filter(({ state }) => state === 'fail')).toEqual([
      { name: 'login', state: 'fail', message: expect.any(String), fix: `drawbridge login ${url}` },
    ])
  })

  it('doctor exits with 3 for a login that the server refuses', async () => {
    const { url, origin } = await startServer(withMetadata('another'))
    await storeLogin(home, url, { issuer: origin })
    const { code, checks } = await look([url])
    expect(code).toBe(3)
    expect(checks.at(-1)).toMatchObject({
      name: 'session',
      state: 'fail',
      fix: `drawbridge login ${url} --force`,
    })
  })

  it('doctor names the profile in the command to sign in', async () => {
    const { url } = await startServer(withMetadata('x'))
    const { checks } = await look([url, '--profile', 'work'])
    expect(checks.find(({ name }) => name === 'login')?.fix).toBe(`drawbridge login ${url} --profile work`)
  })

  it('doctor says that the refused token is the one of the environment', async () => {
    const { url } = await startServer(withMetadata('another'))
    const { code, checks } = await look([url], { DRAWBRIDGE_TOKEN: 'sEcReT' })
    expect(code).toBe(3)
    expect(checks.at(-1)).toMatchObject({
      name: 'session',
      message: expect.stringContaining('does not accept the token of DRAWBRIDGE_TOKEN: it is mistyped'),
      fix: expect.stringContaining('unset DRAWBRIDGE_TOKEN'),
    })
  })

  it('doctor uses a token of the environment', async () => {
    const { url } = await startServer(withMetadata('sEcReT'))
    const { code, checks } = await look([url], { DRAWBRIDGE_TOKEN: 'sEcReT' })
    expect(code).toBe(0)
    expect(checks.map(({ name }) => name)).not.toContain('login')
    expect(checks.at(-1)).toMatchObject({ name: 'session', state: 'ok' })
  })

  it.each<[changes: Record<string, unknown>, resource: Record<string, unknown>, message: RegExp]>([
    [{ code_challenge_methods_supported: ['plain'] }, {}, /PKCE with S256/],
    [{ registration_endpoint: undefined }, {}, /does not register clients/],
    [{}, { resource: 'https://other.example/mcp' }, /is for another resource, "https:\/\/other/],
  ])('doctor says why metadata with %j and %j allows no sign-in', async (changes, resource, message) => {
    const { url } = await startServer({ ...withMetadata('x', changes), ...resource })
    const { checks } = await look([url])
    expect(checks.find(({ name }) => name === 'authorization_server')).toMatchObject({
      state: 'fail',
      message: expect.stringMatching(message) as string,
      fix: expect.stringMatching(/./) as string,
    })
  })

  it('doctor says that a server with public tools offers a sign-in for others', async () => {
    const { url } = await startServer(withMetadata())
    const { code, checks } = await look([url])
    expect(code).toBe(0)
    const messageOf = (wanted: string): string | undefined =>
      checks.find(({ name }) => name === wanted)?.message
    expect(messageOf('endpoint')).toBe(
      'It answers without a sign-in, and offers one, which some of its tools may need.',
    )
    expect(messageOf('login')).toBe('No login is stored; a tool that needs one will ask for it.')
    expect(stateOf(checks)).toMatchObject({ authorization_server: 'ok', login: 'ok', session: 'ok' })
  })

  it('doctor warns about a resource above the server, unless it is configured', async () => {
    const { url, origin, set } = await startServer(withMetadata('x'))
    set({ resource: origin })
    const { checks } = await look([url])
    expect(checks.find(({ name }) => name === 'resource')).toMatchObject({
      state: 'warn',
      message: expect.stringContaining(`for all of ${origin} and not only for ${url}`) as string,
      fix: expect.stringContaining('--resource') as string,
    })
    for (const settled of [url, origin])
      expect(stateOf((await look([url, '--resource', settled])).checks)).not.toHaveProperty('resource')
  })

  it.each([
    [
      'doctor names the issuer of the login page of a foreign server',
      withMetadata(),
      'fail',
      'another one, "$"',
    ],
    ['doctor warns about an unconfirmed login page', withoutMetadata(), 'warn', '$'],
  ])('%s', async (_, other, state, message) => {
    const { origin } = await startServer(other)
    const { url } = await startServer(withMetadata('x', { authorization_endpoint: `${origin}/authorize` }))
    const { checks } = await look([url])
    const shown = state === 'fail' ? origin : new URL(origin).host
    expect(checks.find(({ name }) => name === 'sign_in_page')).toMatchObject({
      state,
      message: expect.stringContaining(message.replace('$', shown)) as string,
    })
  })

  it('doctor assumes the same authorization server as a sign-in does without metadata', async () => {
    const { url } = await startServer(withoutMetadata('x'))
    const { code, checks } = await look([url])
    expect(stateOf(checks)).toMatchObject({ authorization_server: 'warn', login: 'fail' })
    expect(code).toBe(3)
  })

  it('doctor exits with 4 for an unreachable server, with one failure and the stored login', async () => {
    const { url, stop } = await serve()
    await stop()
    const { code, checks } = await look([url])
    expect(code).toBe(4)
    expect(Object.values(stateOf(checks)).filter((state) => state === 'fail')).toHaveLength(1)
    expect(stateOf(checks)).toMatchObject({ endpoint: 'fail', keychain: 'warn' })
    expect(stateOf(checks)).not.toHaveProperty('login')
    expect(checks.find(({ name }) => name === 'endpoint')?.message).toContain('ECONNREFUSED')
  })

  it.each<[what: string, status: number, type: string, body: string, finding: object, code: number]>([
    ['a wrong path', 404, 'text/plain', '', { state: 'fail', message: expect.stringContaining('404') }, 1],
    [
      'a wrong path of another API, whose JSON says `error` too',
      404,
      'application/json',
      '{"error":"not_found","error_description":"There is nothing here."}',
      { state: 'fail', fix: 'Check the path of the URL, often /mcp or /sse.' },
      1,
    ],
    [
      'a page for browsers',
      403,
      'text/html; charset=utf-8',
      '<!doctype html>',
      { state: 'warn', fix: expect.stringContaining('let programs through') },
      3,
    ],
    ['a fault of the server', 502, 'text/plain', '', { state: 'fail' }, 4],
    ['a redirect', 307, 'text/plain', '', { state: 'fail', message: expect.stringContaining('307') }, 1],
    [
      'a refusal of the caller',
      403,
      'application/json',
      '{}',
      { state: 'warn', fix: expect.stringContaining('Ask for access') },
      3,
    ],
    ['a file', 200, 'text/plain', 'x', { state: 'fail', fix: 'Check the URL.' }, 1],
  ])('doctor recognizes %s', async (_, status, type, body, finding, code) => {
    const { origin } = await serve({
      handle({ path, response }) {
        response.writeHead(path === '/other' ? status : 404, { 'Content-Type': type }).end(body)
        return true
      },
    })
    const run = await look([`${origin}/other`])
    expect(run.checks.find(({ name }) => name === 'endpoint')).toMatchObject(finding)
    for (const check of run.checks) expect(Object.keys(check)).not.toContain('exit')
    expect(run.checks.map(({ name }) => name)).not.toContain('session')
    expect(run.code).toBe(code)
  })

  it('doctor fails if a session opens and the tools cannot be listed', async () => {
    const { url } = await serve({
      handle({ body, answer }) {
        if (body['method'] !== 'tools/list') return false
        answer({ error: { code: -32_603, message: 'no database' } })
        return true
      },
    })
    const { code, checks } = await look([url])
    expect(code).toBe(1)
    expect(checks.at(-1)).toMatchObject({
      name: 'session',
      state: 'fail',
      message: expect.stringContaining('no database'),
    })
  })

  it('doctor fails if the configuration requires 2026-07-28 of a server that does not support it', async () => {
    const { url } = await startServer({ ...withoutMetadata(), discoverable: true })
    expect(stateOf((await look([url])).checks)).toMatchObject({ session: 'ok' })
    expect(stateOf((await look([url, '--protocol', 'modern'])).checks)).toMatchObject({ session: 'fail' })
  })

  it('doctor names the revision of a server that speaks 2026-07-28 only', async () => {
    const { url } = await serve({ era: 'modern' })
    const { code, checks } = await look([url])
    expect(checks.at(-1)).toMatchObject({
      state: 'ok',
      message: expect.stringContaining('speaks 2026-07-28 and has 1 tool'),
    })
    expect(code).toBe(0)
  })

  it('doctor lists no tools of a server that announces none', async () => {
    const { url, log } = await serve({
      opening: { capabilities: { prompts: {} }, serverInfo: { name: 'prompter', version: '1' } },
    })
    const { code, checks } = await look([url])
    expect(code).toBe(0)
    expect(checks.at(-1)?.message).toBe('"prompter" speaks 2025-11-25 and has no tools.')
    expect(log()).not.toContain('tools/list')
  })

  it('doctor does not exit with 3 if a session fails for another reason than the login', async () => {
    const { origin } = await serve({
      handle({ path, json, response }) {
        if (path !== '/odd') response.writeHead(404).end()
        else json(200, { jsonrpc: '2.0', id: 1, error: { code: -32_000, message: 'not today' } })
        return true
      },
    })
    const { code, checks } = await look([`${origin}/odd`])
    expect(checks.at(-1)).toMatchObject({ name: 'session', state: 'fail' })
    expect(code).toBe(1)
  })

  it.each([
    [0, 'ok', 0],
    [90, 'warn', 0],
    [-900, 'fail', 1],
  ])('doctor reports a clock difference of %d s as %s', async (seconds, state, code) => {
    const { url } = await serve({ headers: { Date: new Date(Date.now() + seconds * 1000).toUTCString() } })
    const run = await look([url])
    expect(stateOf(run.checks)).toMatchObject({ clock: state })
    expect(run.code).toBe(code)
  })

  it('doctor reports an unreachable proxy', async () => {
    const { checks, code } = await look(['https://mcp.example.com', '--proxy', 'http://127.0.0.1:9'])
    expect(checks.find(({ name }) => name === 'endpoint')).toMatchObject({
      state: 'fail',
      fix: expect.stringContaining('--no-proxy'),
    })
    expect(code).toBe(4)
  })

  it('doctor reports faults of the configuration, and where the rest was set', async () => {
    const bad = await look(['mcp.example.com', '--retry', 'x'])
    expect(bad.code).toBe(2)
    expect(bad.checks.filter(({ state }) => state === 'fail')).toHaveLength(2)
    mkdirSync(join(home, '.drawbridge'))
    const file = join(home, '.drawbridge', 'config.json')
    writeFileSync(file, '{"protocol":"auto"}')
    chmodSync(file, 0o644)
    const { url } = await serve()
    const good = await look([url, '--retry', '1'], { DRAWBRIDGE_PROFILE: 'a', DRAWBRIDGE_PROFIEL: 'b' })
    expect(good.json()['settings']).toEqual({
      flag: ['retry'],
      variable: ['profile', 'store'],
      file: ['protocol'],
    })
    const warnings = good.checks.filter(({ name, state }) => name === 'configuration' && state === 'warn')
    expect(warnings.map(({ message }) => message)).toEqual([
      expect.stringContaining('DRAWBRIDGE_PROFIEL'),
      expect.stringContaining('can be read by others'),
    ])
  })

  it('doctor prints lines with a summary', async () => {
    const { url } = await startServer(withMetadata('x'))
    const { stdout } = await runCommand(['doctor', url], { home })
    expect(stdout).toMatch(/^ok {4}node {18}Node /)
    expect(stdout).toMatch(/\nfail {2}login {17}No login is stored for this server\.\n +-> drawbridge login /)
    expect(stdout).toMatch(/\n\n\d+ ok, 1 warning, 1 failed\. Repair what failed/)
  })
})
