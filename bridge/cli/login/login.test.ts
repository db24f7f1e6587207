import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { type CommandRun, runCommand } from '../../../tests/support/bridge/cli/command-run.ts'
import { startLoginServer, withoutMetadata } from '../../../tests/support/bridge/cli/login-server.ts'
import { startCommand } from '../../../tests/support/bridge/process/bridge-child.ts'
import { filesIn } from '../../../tests/support/bridge/process/stage.ts'
import { startServer } from '../../../tests/support/bridge/proxy/proxy-rig.ts'
import type { Remote } from '../../../tests/support/remote/remote.ts'
import { storeLogin } from '../../../tests/support/bridge/cli/stored-login.ts'
import { until } from '../../../tests/support/until.ts'
import { damageLogin } from '../../../tests/support/bridge/credentials/usual-login.ts'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'

describe('the command login', () => {
  let home: string
  let browser: string
  let server: Remote

  beforeEach(() => {
    home = temporaryFolder()
    browser = join(home, 'browser')
    writeFileSync(
      browser,
      `#!${process.execPath}
      require('node:fs').appendFileSync(__filename + '.log', 'opened\\n')
      fetch(process.argv[2]).then((response) => response.text())`,
    )
    chmodSync(browser, 0o700)
  })

  async function serve(options: { revokes?: boolean } = {}): Promise<string> {
    server = await startLoginServer(options)
    return server.url
  }

  const run = (words: readonly string[], environment: Record<string, string> = {}): Promise<CommandRun> =>
    runCommand(words, { home, environment: { BROWSER: browser, ...environment } })

  const opened = (): number =>
    existsSync(`${browser}.log`) ? readFileSync(`${browser}.log`, 'utf8').split('\n').length - 1 : 0

  const paths = (): string[] => server.received.map(({ path }) => path)

  it('login says that the address of a web app is a page for browsers', async () => {
    const page = await startServer({
      handle: ({ response }) =>
        response.writeHead(403, { 'content-type': 'text/html' }).end('<!doctype html>') !== undefined,
    })
    const { code, stderr } = await run(['login', `${page.origin}/`])
    expect(code).toBe(1)
    expect(stderr).toContain('is a page for browsers')
    expect(stderr).toContain('Use the URL of the MCP server')
  })

  it('login signs in with the browser, and stores the login encrypted', async () => {
    const url = await serve()
    const { code, stderr, stdout } = await run(['login', url])
    expect(stderr).toContain(`Signed in to ${url} at ${server.origin}.`)
    expect(code).toBe(0)
    expect(stdout).toBe('')
    expect(stderr).toContain('Sign in here: http://127.0.0.1:')
    expect(opened()).toBe(1)
    const asked = paths().find((path) => path.startsWith('/authorize'))
    expect(new URL(asked ?? '', url).searchParams.get('scope')).toBe('mcp')
    expect(stderr).not.toContain('sEcReT')
    expect((await run(['token', url, '--show'])).stdout).toBe('sEcReT-access')
    expect([...filesIn(home).values()].join()).not.toContain('sEcReT')
  })

  it('login does nothing if there is a login, unless forced', async () => {
    const url = await serve()
    await run(['login', url])
    const again = await run(['login', url, '--json'])
    expect(again.json()).toMatchObject({
      ok: true,
      did: 'already_signed_in',
      server: url,
      state: 'signed_in',
      renews: true,
    })
    expect(opened()).toBe(1)
    const forced = await run(['login', url, '--force', '--json'])
    expect(forced.json()).toMatchObject({ ok: true, did: 'signed_in', client_id: 'client-1', scope: 'mcp' })
    expect(opened()).toBe(2)
    expect(paths().filter((path) => path === '/register')).toHaveLength(1)
  })

  it('login registers again with --force if the server has removed the client', async () => {
    const url = await serve()
    await run(['login', url])
    server.forgetClients()
    const forced = await run(['login', url, '--force', '--json', '--timeout', '5s'])
    expect(forced.json()).toMatchObject({ ok: true, did: 'signed_in', client_id: 'client-2' })
    expect(opened()).toBe(2)
  })

  describe('a configured client that was in use at another authorization server', () => {
    const secret = 'sEcReT-client'
    const client = {
      clientId: 'client-robot',
      tokenEndpointAuthMethod: 'client_secret_post',
      origin: 'static',
    } as const
    const old = { issuer: 'https://old.example', tokenEndpoint: 'https://old.example/token' }

    const info = {
      client_id: client.clientId,
      client_secret: secret,
      token_endpoint_auth_method: client.tokenEndpointAuthMethod,
    }

    async function begin(issuer?: string) {
      const url = await serve()
      await storeLogin(home, url, { ...old, client, signInNeeded: 'invalid_grant' })
      const text = JSON.stringify({ ...info, issuer })
      const environment = { DRAWBRIDGE_STATIC_OAUTH_CLIENT_INFO: text, BROWSER: browser }
      return { url, environment, ...(await run(['login', url, '--force'], environment)) }
    }

    const secretsSent = (): number => server.received.filter(({ text }) => text.includes(secret)).length

    it.each([['https://old.example'], [undefined]])(
      'login with a configured client of the issuer %j refuses a new authorization server, even with --force, and sends it nothing',
      async (issuer) => {
        const { code, stderr, url } = await begin(issuer)
        expect(code).toBe(3)
        expect(stderr).toContain(
          `belongs to "https://old.example", and the server now names "${server.origin}"`,
        )
        expect(stderr).toContain(`drawbridge logout ${url}, then drawbridge login ${url}`)
        expect(secretsSent()).toBe(0)
        expect(opened()).toBe(0)
      },
    )

    it('login with a configured client signs in at a new authorization server after a logout, and stays there', async () => {
      const { url, environment } = await begin()
      await run(['logout', url], environment)
      const { code, stderr } = await run(['login', url], environment)
      expect(code).toBe(0)
      expect(stderr).toContain(`Signed in to ${url} at ${server.origin}.`)
      expect(secretsSent()).toBe(1)
      expect((await run(['login', url, '--force'], environment)).code).toBe(0)
      expect(secretsSent()).toBe(2)
    })
  })

  it('login is not needed for a server without sign-in, or with a fixed token', async () => {
    server = await startServer(withoutMetadata())
    const { url } = server
    const open = await run(['login', url, '--json'])
    expect(open.code).toBe(0)
    expect(open.json()).toMatchObject({ ok: true, did: 'not_needed' })
    expect(server.log()).toEqual(['initialize', 'DELETE'])
    const fixed = await run(['login', url], { DRAWBRIDGE_TOKEN: 'sEcReT' })
    expect(fixed.code).toBe(0)
    expect(fixed.stderr).toContain('DRAWBRIDGE_TOKEN')
    expect(opened()).toBe(0)
  })

  it('login exits with 3 if the sign-in is refused, and keeps the stored login', async () => {
    const url = await serve()
    await storeLogin(home, url, { issuer: server.origin })
    server.set({ approval: 'deny' })
    const { code, stderr } = await run(['login', url, '--force'])
    expect(code).toBe(3)
    expect(stderr.split('\n').at(-1)).toContain(`drawbridge login ${url}`)
    expect((await run(['status', url])).code).toBe(0)
  })

  it('login exits with 4 for an unreachable server', async () => {
    const url = await serve()
    await server.stop()
    const { code, json } = await run(['login', url, '--json'])
    expect(code).toBe(4)
    expect(json()).toMatchObject({ ok: false, code: 'network_refused' })
  })

  it('login exits with 3 if the sign-in times out', async () => {
    const url = await serve()
    const { code, json } = await run(['login', url, '--no-open', '--timeout', '300ms', '--json'])
    expect(code).toBe(3)
    expect(json()).toMatchObject({ code: 'oauth_timeout' })
    expect(opened()).toBe(0)
  })

  it('login reports that no browser opens, and goes on waiting', async () => {
    const url = await serve()
    const { stderr, code } = await run(['login', url, '--timeout', '1s'], { BROWSER: '/nowhere/at/all' })
    expect(stderr).toContain(
      'No browser was opened: no program that opens one was found. Open the link yourself.',
    )
    expect(code).toBe(3)
  })

  it('login keeps the stored login when it is stopped, and exits with 3', async () => {
    const url = await serve()
    const launcher = fileURLToPath(new URL('../../main.ts', import.meta.url))
    const environment = { DRAWBRIDGE_CREDENTIAL_STORE: 'file' }
    const login = startCommand(['login', url, '--no-open'], { home, launcher, environment })
    onTestFinished(() => login.kill())
    await until(() => login.stderr().includes('Sign in here:'), 'the link')
    login.kill('SIGINT')
    expect(await login.ended).toBe(3)
    const stderr = login.stderr()
    expect(stderr).toContain('Stopped. The stored login is unchanged.')
    expect(stderr.trimEnd().split('\n').at(-1)).toBe(`drawbridge login ${url}`)
  })

  it('logout revokes and removes a login', async () => {
    const url = await serve()
    await run(['login', url])
    const out = await run(['logout', url, '--json'])
    expect(out.code).toBe(0)
    expect(out.json()).toEqual({
      ok: true,
      logins: [
        {
          id: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
          server: url,
          profile: 'default',
          found: true,
          readable: true,
          revoked: true,
          kept: null,
        },
      ],
    })
    expect(paths().slice(-2)).toEqual(['/revoke', '/revoke'])
    expect((await run(['status'])).code).toBe(3)
    const again = await run(['logout', url])
    expect(again.code).toBe(0)
    expect(again.stderr).toBe(`No login is stored for ${url}.`)
  })

  it('logout removes a login that could not be revoked, and says so', async () => {
    const url = await serve({ revokes: false })
    await run(['login', url])
    const { stderr } = await run(['logout', url])
    expect(stderr).toContain('not revoked, as the server cannot revoke them')
    expect((await run(['status'])).code).toBe(3)
  })

  it('logout --all removes every login with its stored configuration', async () => {
    const url = await serve()
    await run(['login', url])
    await run(['login', url, '--profile', 'work'])
    await storeLogin(home, 'https://a.example/mcp')
    const { stderr, code } = await run(['logout', '--all'])
    expect(code).toBe(0)
    expect(stderr.split('\n').filter((line) => line.startsWith('Signed out of'))).toHaveLength(3)
    expect(stderr).toContain(`${url} (profile work)`)
    expect(paths()).toContain('/revoke')
    expect((await run(['status', '--json'])).json()).toMatchObject({ logins: [] })
    expect((await run(['logout', '--all'])).stderr).toBe('No login is stored.')
  })

  it('logout --all revokes valid logins although one is damaged', async () => {
    const url = await serve()
    await run(['login', url])
    await storeLogin(home, 'https://a.example/mcp')
    const [id] = damageLogin(home, 'https://a.example/mcp', 'broken')
    const { code, json } = await run(['logout', '--all', '--json'])
    expect(code).toBe(0)
    expect(paths().slice(-2)).toEqual(['/revoke', '/revoke'])
    const { logins } = json() as { logins: { id: string }[] }
    expect(logins).toHaveLength(2)
    expect(logins).toContainEqual({
      id,
      server: null,
      profile: null,
      found: true,
      readable: false,
      revoked: false,
      kept: null,
    })
    expect(readdirSync(join(home, '.drawbridge', 'credentials', 'records'))).toEqual([])
  })

  it('logout --all keeps logins that may become readable, says so, and exits with 1', async () => {
    await storeLogin(home, 'https://a.example/mcp')
    await storeLogin(home, 'https://b.example/mcp')
    const [id] = damageLogin(home, 'https://a.example/mcp', '{"v":2}')
    const { code, stderr } = await run(['logout', '--all'])
    expect(code).toBe(1)
    expect(stderr).toMatch(new RegExp(`^Still stored: the login ${id}\\. .*Update this drawbridge`, 'm'))
    expect(stderr).toMatch(/^Signed out of https:\/\/b\.example/m)
    const left = await run(['status', '--json'])
    expect(left.json()).toMatchObject({ logins: [], unreadable: [{ id }], key: 'file' })
  })

  it('logout of a URL removes an unreadable login too', async () => {
    await storeLogin(home, 'https://a.example/mcp')
    damageLogin(home, 'https://a.example/mcp', 'broken')
    const { code, stderr } = await run(['logout', 'https://a.example/mcp'])
    expect(code).toBe(0)
    expect(stderr).toContain('as they cannot be read')
  })

  it('logout requires a URL or --all, and not both', async () => {
    expect((await run(['logout'])).code).toBe(2)
    expect((await run(['logout', 'https://a.example', '--all'])).code).toBe(2)
  })
})
