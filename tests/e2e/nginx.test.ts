import { writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { request } from 'node:https'
import { connect } from 'node:http2'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../support/server/free-port.ts'
import { hasNginx, type NginxProxy, startNginx } from './nginx-proxy.ts'
import { createPerson, type Person } from './person.ts'
import { callTool, postMcp, registerPlainClient, type Tokens } from './plain-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { until } from '../support/until.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const both = 'application/json, text/event-stream'

const tools = `import { existsSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'

export const tools = [
  { name: 'whoami', call: (_, { user }) => user.email },
  {
    name: 'wait',
    async call(_, { progress }) {
      progress(1, 2)
      const released = new URL('released', import.meta.url)
      for (let turn = 0; turn < 1000 && !existsSync(released); turn += 1) await setTimeout(20)
      return 'waited'
    },
  },
]
`

const registration = {
  client_name: 'Behind nginx',
  redirect_uris: ['http://127.0.0.1:4711/callback'],
  token_endpoint_auth_method: 'none',
}

describe.skipIf(!hasNginx()).each([
  { name: 'a host of its own', path: '' },
  { name: 'a path of a host', path: '/drawbridge' },
])('behind nginx as docs/deploy.md configures it, at $name', ({ path }) => {
  const folder = temporaryFolder(afterAll)
  let server: ServerProcess
  let nginx: NginxProxy
  let port: number
  let plainPort: number
  let person: Person
  let tokens: Tokens

  beforeAll(async () => {
    ;[port, plainPort] = [await freePort(), await freePort()]
    writeFileSync(join(folder, 'tools.mjs'), tools)
    server = await startServer({
      TOOLS: join(folder, 'tools.mjs'),
      BASE_URL: `https://localhost:${port}${path}`,
      TRUSTED_PROXIES: '127.0.0.1',
      REGISTRATION_LIMIT: '3',
    })
    const upstreamPort = Number(new URL(server.origin).port)
    nginx = await startNginx({ port, plainPort, upstreamPort, atPath: path !== '' })
    setDefaultCACertificates([...getCACertificates('default'), nginx.certificate])
    person = await createPerson(server)
    tokens = await (await registerPlainClient(server)).connect(person)
  })
  afterAll(async () => {
    await nginx?.close()
    await server?.close()
  })

  /** Sends a request over HTTP/1.1 from any loopback address: one that differs from the proxy's plays a remote client. */
  async function sendFrom(
    localAddress: string,
    at: string,
    body: unknown,
    headers: Record<string, string> = {},
  ): Promise<{ status: number | undefined; headers: IncomingHttpHeaders; text: string }> {
    const url = new URL(server.baseUrl + at)
    return new Promise((resolve, reject) => {
      const options = { method: 'POST', localAddress, family: 4, ca: nginx.certificate }
      const outgoing = request(url, {
        ...options,
        headers: { 'content-type': 'application/json', accept: both, ...headers },
      })
      outgoing.once('error', reject)
      outgoing.once('response', (incoming) => {
        const { statusCode: status, headers } = incoming
        text(incoming).then((text) => resolve({ status, headers, text }), reject)
      })
      outgoing.end(JSON.stringify(body))
    })
  }

  it('discovery leads from the challenge over the resource to the authorization server, all https', async () => {
    const challenge = await postMcp(server, { method: 'tools/list' })
    expect(challenge.status).toBe(401)
    const resourceUrl = /resource_metadata="([^"]+)"/.exec(
      challenge.headers.get('www-authenticate') ?? '',
    )?.[1]
    expect(resourceUrl).toBe(`https://localhost:${port}/.well-known/oauth-protected-resource${path}/mcp`)
    const resource = (await (await server.fetch(resourceUrl ?? '')).json()) as Record<string, unknown>
    expect(resource).toMatchObject({ resource: server.mcpUrl, authorization_servers: [server.baseUrl] })
    // RFC 8414 section 3.1: the path goes behind the well-known part; others append it.
    for (const url of [
      `https://localhost:${port}/.well-known/oauth-authorization-server${path}`,
      `https://localhost:${port}/.well-known/openid-configuration${path}`,
      `${server.baseUrl}/.well-known/openid-configuration`,
    ]) {
      const response = await server.fetch(url)
      expect([url, response.status]).toEqual([url, 200])
      expect(await response.json()).toMatchObject({
        issuer: server.baseUrl,
        token_endpoint: `${server.baseUrl}/oauth/token`,
      })
    }
  })

  it('a person signs in, and a tool is called as that person, by a browser that is told to keep to https', async () => {
    expect(await callTool(server, tokens.access_token, 'whoami')).toContain(person.email)
    const page = await person.browser.visit((await registerPlainClient(server)).authorizationUrl)
    expect(page.response?.headers.get('strict-transport-security')).toMatch(/max-age=\d{7,}/)
  })

  it('a stream of events arrives piece by piece: nothing waits for its end', async () => {
    const params = { name: 'wait', arguments: {}, _meta: { progressToken: 'p1' } }
    const authorization = `Bearer ${tokens.access_token}`
    const response = await postMcp(server, { method: 'tools/call', params }, { authorization })
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
    const reader = response.body?.getReader()
    const first = new TextDecoder().decode((await reader?.read())?.value)
    expect(first).toContain('notifications/progress')
    // The tool has not ended by then, and does so now.
    expect(first).not.toContain('waited')
    writeFileSync(join(folder, 'released'), '')
    let rest = ''
    for (let piece = await reader?.read(); piece?.value; piece = await reader?.read()) {
      rest += new TextDecoder().decode(piece.value)
    }
    expect(rest).toContain('waited')
  })

  it('session cookies of 120 KiB reach the server, by HTTP/1.1 and HTTP/2', async () => {
    const cookie = Array.from({ length: 40 }, (_, n) => `sb-other-auth-token.${n}=${'x'.repeat(3050)}`).join(
      '; ',
    )
    expect(cookie.length).toBeGreaterThan(120_000)
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    const answer = await sendFrom('127.0.0.1', '/mcp', message, { cookie })
    // The response comes from the server itself, not from the proxy.
    expect(answer).toMatchObject({ status: 401, headers: { 'x-request-id': expect.any(String) } })

    const session = connect(`https://localhost:${port}`, {
      ca: nginx.certificate,
      maxSendHeaderBlockLength: 300_000,
    })
    const stream = session.request({
      ':method': 'POST',
      ':path': `${path}/mcp`,
      'content-type': 'application/json',
      accept: both,
      cookie,
    })
    stream.end(JSON.stringify(message))
    const status = await new Promise((resolve, reject) => {
      stream.once('response', (headers) => resolve([headers[':status'], 'x-request-id' in headers]))
      stream.once('error', reject)
    })
    session.destroy()
    expect(status).toEqual([401, true])
  })

  it('a server behind nginx limits the address that connects, and ignores its own X-Forwarded-For', async () => {
    const statuses: (number | undefined)[] = []
    for (let n = 0; n < 4; n += 1) {
      const spoofed = { 'x-forwarded-for': `203.0.113.${n}, 198.51.100.${n}` }
      statuses.push((await sendFrom('127.0.0.2', '/oauth/register', registration, spoofed)).status)
    }
    expect(statuses).toEqual([201, 201, 201, 429])
    // Another address is not held up.
    expect((await sendFrom('127.0.0.3', '/oauth/register', registration)).status).toBe(201)
    const addresses = (): unknown[] => server.events('client_registered').map(({ address }) => address)
    await until(() => addresses().includes('127.0.0.3'), 'the log line of the last registration')
    expect(addresses().filter((address) => address === '127.0.0.2')).toHaveLength(3)
    expect(server.stderr()).not.toMatch(/203\.0\.113\.|198\.51\.100\./)
  })

  it('nginx leaves other paths to the other site, and serves /metrics to no one', async () => {
    const other = await fetch(`https://localhost:${port}/metrics`)
    if (path === '') expect(other.status).toBe(404)
    else expect(await other.text()).toBe('the web app')
    expect((await fetch(`${server.baseUrl}/metrics`)).status).toBe(404)
  })

  it('plain http is sent to https, and the log of the proxy holds no code', async () => {
    if (path === '') {
      const response = await fetch(`http://localhost:${plainPort}/mcp`, { redirect: 'manual' })
      expect([response.status, response.headers.get('location')]).toEqual([301, 'https://localhost/mcp'])
      expect(nginx.accessLog()).toContain('POST /oauth/token')
      expect(nginx.accessLog()).not.toContain('?')
    }
    expect(server.secrets.findIn(nginx.accessLog())).toEqual([])
  })
})
