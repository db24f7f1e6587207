import { beforeEach, describe, expect, it } from 'vitest'
import { runCommand, type CommandRun } from '../../../tests/support/bridge/cli/command-run.ts'
import { withoutMetadata } from '../../../tests/support/bridge/cli/login-server.ts'
import { storeLogin } from '../../../tests/support/bridge/cli/stored-login.ts'
import { startServer } from '../../../tests/support/bridge/proxy/proxy-rig.ts'
import type { Received } from '../../../tests/support/remote/received.ts'
import type { Remote, RemoteOptions } from '../../../tests/support/remote/remote.ts'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'

interface Step {
  step: string
  at: number
  status: number | null
  ok: boolean
  request_id: string | null
  duration_ms: number
  detail?: string
}

const resourcePath = '/.well-known/oauth-protected-resource'
const serverPath = '/.well-known/oauth-authorization-server'

describe('doctor --trace', () => {
  let home: string
  beforeEach(() => void (home = temporaryFolder()))

  /** Starts a server that is its own authorization server; `fault` answers some requests itself. */
  const serve = (fault?: (request: Received) => boolean, changes: RemoteOptions = {}): Promise<Remote> =>
    startServer({ auth: true, token: 'sEcReT-access', deviceGrant: false, handle: fault, ...changes })

  async function trace(
    words: readonly string[],
    environment: Record<string, string> = {},
  ): Promise<
    CommandRun & { url: string; result: string; steps: Step[]; advice: string | null; walked: string }
  > {
    const run = await runCommand(['doctor', ...words, '--trace', '--json'], { home, environment })
    const facts = run.json() as { url: string; result: string; steps: Step[]; advice: string | null }
    const walked = facts.steps.map(({ step, ok, status }) => `${ok ? '' : '!'}${step} ${status}`).join(', ')
    return { ...run, ...facts, walked }
  }

  const untilList = 'challenge 401, resource_metadata 200, server_metadata 200, first_call 200, list 200'

  it('doctor --trace goes from the challenge to the list of tools with a stored login, and registers nothing', async () => {
    const { url, origin, counters } = await serve()
    await storeLogin(home, url, { issuer: origin })
    const before = Math.floor(Date.now() / 1000)
    const { walked, steps, code, ...facts } = await trace([url])
    expect(walked).toBe(untilList)
    expect([facts.url, facts.result, facts.advice, code]).toEqual([url, 'connected', null, 0])
    expect(Object.keys(steps[0] ?? {})).toEqual(['step', 'at', 'status', 'ok', 'request_id', 'duration_ms'])
    for (const { at, duration_ms: took } of steps) {
      expect(at).toBeGreaterThanOrEqual(before)
      expect(took).toBeGreaterThanOrEqual(0)
    }
    expect(counters.registrations).toBe(0)
    expect(facts.stdout + facts.stderr).not.toContain('sEcReT')
  })

  it('doctor --trace ends at the sign-in without a login', async () => {
    const { url } = await serve()
    const { walked, result, advice, code } = await trace([url])
    expect(walked).toBe('challenge 401, resource_metadata 200, server_metadata 200')
    expect([result, advice, code]).toEqual(['not signed in', `drawbridge login ${url}`, 3])
  })

  it('doctor --trace does not renew an expired token, and names the command that does', async () => {
    const { url, origin } = await serve()
    const tokens = { accessToken: 'sEcReT-access', refreshToken: 'sEcReT-refresh', issuedAt: 1, expiresAt: 2 }
    await storeLogin(home, url, { issuer: origin, tokens })
    const { walked, result, advice, code } = await trace([url])
    expect(walked).not.toContain('first_call')
    expect([result, code]).toEqual(['not signed in', 3])
    expect(advice).toMatch(new RegExp(`Renew it.*: drawbridge token ${url}$`))
  })

  it('doctor --trace has no sign-in steps for a server without sign-in', async () => {
    const { url } = await startServer(withoutMetadata())
    const { walked, result } = await trace([url])
    expect(walked).toBe('challenge 200, first_call 200, list 200')
    expect(result).toBe('connected')
  })

  it('doctor --trace recognizes the request that opens HTTP+SSE', async () => {
    const { sseUrl } = await startServer({ transport: 'sse' })
    const { walked, result } = await trace([sseUrl])
    expect(walked).toBe('challenge 200, resource_metadata 200, first_call 202, list 202')
    expect(result).toBe('connected')
  })

  it('doctor --trace shows the request of a call that failed, not an earlier one that passed', async () => {
    const { sseUrl } = await startServer({
      transport: 'sse',
      handle: ({ body, path, response }) =>
        body['method'] === 'initialize' && path !== '/sse' && !!response.writeHead(500).end(),
    })
    const { walked, result } = await trace([sseUrl])
    expect(walked).toBe('challenge 200, resource_metadata 200, !first_call 500')
    expect(result).toBe('failed')
  })

  it('doctor --trace follows the challenge to another address, and a redirect from there', async () => {
    const { url } = await serve(({ path, origin, headers, response, json }) => {
      if (path === '/custom') response.writeHead(307, { Location: '/moved' }).end()
      else if (path === '/moved') json(200, { resource: `${origin}/mcp`, authorization_servers: [origin] })
      else if (path === '/mcp' && headers.authorization === undefined)
        json(401, {}, { 'WWW-Authenticate': `Bearer resource_metadata="${origin}/custom"` })
      else return false
      return true
    })
    const { walked } = await trace([url])
    expect(walked).toBe('challenge 401, resource_metadata 200, server_metadata 200')
  })

  it.each<[what: string, other: RemoteOptions, page: string, outcome: string]>([
    [
      'passes a login page on another host that publishes no metadata',
      withoutMetadata(),
      'page 404',
      'not signed in',
    ],
    ["fails a login page that is another authorization server's", {}, '!page 200', 'failed'],
  ])('doctor --trace %s', async (_, other, page, outcome) => {
    const { origin } = await startServer(other)
    const authorization = { metadata: { authorization_endpoint: `${origin}/authorize` } }
    const { url } = await serve(undefined, { authorization })
    const { walked, result } = await trace([url])
    expect(walked).toBe(`challenge 401, resource_metadata 200, server_metadata 200, ${page}`)
    expect(result).toBe(outcome)
  })

  it.each<
    [what: string, fault: (request: Received) => boolean, walked: RegExp, detail: RegExp, advice: RegExp]
  >([
    [
      'resource metadata that is not there',
      ({ path, response }) => path.startsWith(resourcePath) && !!response.writeHead(404).end(),
      /^challenge 401, !resource_metadata 404, server_metadata 200$/,
      /RFC 9728\); got 404 at \S+\/oauth-protected-resource\/mcp, then 404 at \S+\/oauth-protected-resource\.$/,
      /below \/\.well-known\/ must reach it/,
    ],
    [
      'a web page in place of the metadata of the authorization server',
      ({ path, response }) =>
        /oauth-authorization-server|openid/.test(path) &&
        !!response.writeHead(200, { 'Content-Type': 'text/html' }).end('<!doctype html>'),
      /^challenge 401, resource_metadata 200, !server_metadata 200$/,
      /RFC 8414 .*; got 200 text\/html at \S+oauth-authorization-server, then /,
      /below \/\.well-known\/ must reach it/,
    ],
    [
      'an authorization server that names another issuer',
      ({ path, json }) => {
        if (path !== serverPath) return false
        json(200, {
          issuer: 'https://other.example',
          authorization_endpoint: 'https://other.example/a',
          token_endpoint: 'https://other.example/t',
          response_types_supported: ['code'],
        })
        return true
      },
      /^challenge 401, resource_metadata 200, !server_metadata 200$/,
      /names another issuer/,
      /./,
    ],
    [
      'an authorization server that is out of order',
      ({ path, response }) =>
        /oauth-authorization-server|openid/.test(path) && !!response.writeHead(503).end(),
      /^challenge 401, resource_metadata 200, !server_metadata 503$/,
      /got 503 at .* answered with status 503\.$/,
      /^(?!.*well-known)./,
    ],
  ])('doctor --trace names the step of %s', async (_, fault, walked, detail, advice) => {
    const { url } = await serve(fault)
    const run = await trace([url])
    expect(run.walked).toMatch(walked)
    expect(run.steps.find(({ ok }) => !ok)?.detail).toMatch(detail)
    expect(run.result).toBe('failed')
    expect(run.advice).toMatch(advice)
    expect(run.code).not.toBe(0)
  })

  it('doctor --trace names the step of a refused list, and repeats no text about a user or a token', async () => {
    const message = 'no tools for user=ann@example.com with sEcReT-access, token=abcdef'
    const { url, origin } = await serve(
      ({ body, answer }) =>
        body['method'] === 'tools/list' && (answer({ error: { code: -32_000, message } }), true),
    )
    await storeLogin(home, url, { issuer: origin })
    const { walked, steps, stdout, code } = await trace([url])
    expect(walked).toBe(untilList.replace('list', '!list'))
    expect(steps.at(-1)?.detail).toContain('no tools for ')
    expect(stdout).not.toMatch(/ann@|sEcReT|abcdef/)
    expect(code).toBe(1)
  })

  it('doctor --trace omits the query of the URL', async () => {
    const { url } = await serve(
      ({ path, response }) =>
        path.startsWith('/mcp?') && !!response.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end(),
    )
    const run = await trace([`${url}?key=hidden`])
    expect([run.url, run.result]).toEqual([url, 'not signed in'])
    expect(run.advice).toContain(`drawbridge login "${url}"`)
    expect(run.stdout).not.toContain('hidden')
  })

  it('doctor --trace prints lines with the result below', async () => {
    const { url } = await serve(({ path, response }) => {
      const isHidden = path.startsWith(resourcePath)
      if (isHidden) response.writeHead(404, { 'X-Request-Id': 'r-1' }).end()
      return isHidden
    })
    const { stdout } = await runCommand(['doctor', url, '--trace'], { home })
    expect(stdout).toMatch(/^ok {4}challenge {11}401 {2}\d\d:\d\d:\d\dZ {2}\d+ ms {2}no request id\n/)
    expect(stdout).toMatch(/\nfail {2}resource_metadata {3}404 .* request id r-1\. Expected a JSON document/)
    expect(stdout).toMatch(/\n\nFailed \(resource_metadata\)\. Tell the operator of the server: /)
  })
})
