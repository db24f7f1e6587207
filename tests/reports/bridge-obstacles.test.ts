import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { type Stage, staged } from '../support/bridge/process/stage.ts'
import type { Received } from '../support/remote/received.ts'
import type { Remote } from '../support/remote/remote.ts'
import { login, openBridge } from './odd-server.ts'

const page = '<!DOCTYPE html><title>Just a moment...</title>'

/** Answers with this page below `path`, as something in front of a server does. */
function wall(
  path: string,
  status: number,
  headers: Record<string, string> = {},
): (request: Received) => boolean {
  return (request) => {
    if (!request.path.startsWith(path)) return false
    request.response.writeHead(status, { 'Content-Type': 'text/html; charset=UTF-8', ...headers }).end(page)
    return true
  }
}

const dataOf = (answer: unknown): { code?: string; next_step?: string } =>
  (answer as { error?: { data?: object } }).error?.data ?? {}

describe.concurrent('something in front of the server that wants a browser', () => {
  it.each<[name: string, status: number, headers: Record<string, string>]>([
    ['a challenge', 403, { 'cf-mitigated': 'challenge' }],
    ['a challenge that looks like a limit', 429, { 'x-vercel-mitigated': 'challenge' }],
    ['a challenge that looks like an outage', 503, { 'cf-mitigated': 'challenge' }],
    ['a challenge that looks like success', 202, { 'x-amzn-waf-action': 'challenge' }],
    ['a page without a mark', 403, {}],
  ])(
    'a bot protection before the server is named to the client, and no other account is proposed: %s',
    (_name, status, headers) =>
      staged(async (stage) => {
        const remote = await stage.remote({ handle: wall('/mcp', status, headers) })
        const { opened } = await openBridge(stage, remote.url, { flags: ['--retry', 'off'] })
        expect(dataOf(opened)).toMatchObject({
          code: 'server_blocked',
          next_step: expect.stringContaining('let programs through') as string,
        })
        expect(JSON.stringify(opened)).not.toMatch(/sign in as someone else|Ask for access/)
      })(),
  )

  it('a bot protection is not reported for a refusal by a server that speaks JSON', () =>
    staged(async (stage) => {
      const remote = await stage.remote({
        handle(request) {
          if (request.path !== '/mcp') return false
          request.json(403, { error: 'forbidden' })
          return true
        },
      })
      const { opened } = await openBridge(stage, remote.url)
      expect(dataOf(opened).code).toBe('server_forbidden')
    })())

  it.each<[path: string, said: RegExp]>([
    ['/mcp', /wants a browser \(HTTP 403\)[^]*let programs through/],
    ['/.well-known/', /wants a browser \(HTTP 403\)[^]*OAuth endpoints/],
    ['/register', /Registering at .*wants a browser \(HTTP 403\)[^]*OAuth endpoints/],
    ['/token', /wants a browser \(HTTP 403\)/],
  ])('a bot protection is named by a sign-in: at %s', (path, said) =>
    staged(async (stage) => {
      const remote = await stage.remote({
        auth: true,
        handle: wall(path, 403, { 'cf-mitigated': 'challenge' }),
      })
      const { code, stderr } = await login(stage, remote.url)
      expect(code).not.toBe(0)
      expect(stderr).toMatch(said)
      expect(stderr).not.toContain('DRAWBRIDGE_TOKEN')
    })(),
  )

  it('a bot protection is named at a registration that a page without a mark refuses', () =>
    staged(async (stage) => {
      const remote = await stage.remote({ auth: true, handle: wall('/register', 403, {}) })
      expect((await login(stage, remote.url)).stderr).toMatch(
        /Registering at .*a web page refused the request \(HTTP 403\)[^]*let programs through/,
      )
    })())

  it('doctor names the obstacle once', () =>
    staged(async (stage) => {
      const remote = await stage.remote({ handle: wall('/mcp', 403, { 'cf-mitigated': 'challenge' }) })
      const { stdout } = await stage.command(['doctor', remote.url, '--json', '--store', 'memory'])
      const { checks } = JSON.parse(stdout) as { checks: { name: string; state: string; message: string }[] }
      const failed = checks.filter(({ state }) => state === 'fail')
      expect(failed).toEqual([
        expect.objectContaining({
          name: 'endpoint',
          message: expect.stringContaining('wants a browser') as string,
        }),
      ])
    })())
})

/** A server without OAuth, which names other schemes. */
function withScheme(stage: Stage, challenge: string, takes?: string): Promise<Remote> {
  return stage.remote({
    handle(request) {
      if (request.path !== '/mcp') return request.path.startsWith('/control') ? false : notFound(request)
      if (takes !== undefined && request.headers.authorization === takes) return false
      request.response.writeHead(401, { 'WWW-Authenticate': challenge }).end()
      return true
    },
  })
}

function notFound({ response }: Received): boolean {
  response.writeHead(404).end()
  return true
}

describe.concurrent('a server that wants no OAuth', () => {
  it.each<[challenge: string, said: RegExp]>([
    ['Basic realm="team"', /scheme "basic", not OAuth.*\n.*--header-file FILE/],
    ['Negotiate, Basic realm="team"', /scheme "basic", not OAuth.*\n.*--header-file FILE/],
    ['Negotiate', /scheme "negotiate", not OAuth.*\n.*does not speak it/],
    ['NTLM', /scheme "ntlm", not OAuth.*\n.*does not speak it/],
    ['ApiKey', /scheme "apikey", not OAuth.*\n.*--header-file FILE/],
  ])('a server without OAuth is named with the next step: %s', (challenge, said) =>
    staged(async (stage) => {
      const remote = await withScheme(stage, challenge)
      const { code, stderr } = await login(stage, remote.url)
      expect(code).toBe(1)
      expect(stderr).toMatch(said)
      const { stdout } = await stage.command(['doctor', remote.url, '--store', 'memory'])
      expect(stdout).toContain('not OAuth')
      const { bridge } = await openBridge(stage, remote.url)
      expect(await bridge.call('echo', { text: 'x' })).toMatch(/not OAuth/)
    })(),
  )

  it('a server without OAuth serves with the header that the message names', () =>
    staged(async (stage) => {
      const header = `Basic ${Buffer.from('jo:secret').toString('base64')}`
      const remote = await withScheme(stage, 'Basic realm="team"', header)
      const file = stage.file('headers', `Authorization: ${header}\n`)
      const { bridge } = await openBridge(stage, remote.url, { flags: ['--header-file', file] })
      expect(await bridge.call('echo', { text: 'let in' })).toBe('let in')
    })())
})

describe.concurrent('a proxy', () => {
  async function refusingProxy(stage: Stage, schemes: string): Promise<string> {
    const proxy = createServer((_request, response) => {
      response.writeHead(407, { 'Proxy-Authenticate': schemes }).end()
    })
    proxy.on('connect', (_request, socket) => {
      socket.end(`HTTP/1.1 407 No\r\nProxy-Authenticate: ${schemes}\r\nContent-Length: 0\r\n\r\n`)
    })
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    stage.later(() => (proxy.closeAllConnections(), proxy.close()))
    return `127.0.0.1:${String((proxy.address() as AddressInfo).port)}`
  }

  it.each<[url: string, schemes: string, said: RegExp]>([
    ['https://mcp.company.example/mcp', 'NTLM', /wants NTLM \(407\), which the bridge does not speak/],
    ['https://mcp.company.example/mcp', 'Negotiate, NTLM', /wants Negotiate or NTLM/],
    ['https://mcp.company.example/mcp', 'Basic realm="p"', /user name and password.*USER:PASSWORD@/],
    ['http://mcp.company.example/mcp', 'NTLM', /NTLM or Negotiate, which the bridge does not speak/],
  ])('a proxy that guards %s by %s is named with the next step', (url, schemes, said) =>
    staged(async (stage) => {
      const proxy = await refusingProxy(stage, schemes)
      const flags = ['--proxy', `http://jo:100%sure@${proxy}`, '--allow-http']
      const { opened } = await openBridge(stage, url, { flags })
      expect(dataOf(opened).code).toBe('network_proxy')
      expect(JSON.stringify(opened)).toMatch(said)
      expect(JSON.stringify(opened)).not.toContain('100%sure')
    })(),
  )
})
