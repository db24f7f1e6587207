import { randomUUID } from 'node:crypto'
import { request as sendRequest } from 'node:http'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { hasHosts, type NextServer, routeOfGuide, startNextServer } from '../peers/hosts/host-app.ts'
import { freePort } from '../support/server/free-port.ts'
import { hasPgbouncer, type Pgbouncer, startPgbouncer } from '../support/server/pgbouncer.ts'
import { type PostgresServer, startPostgres } from '../support/server/postgres-server.ts'
import { until } from '../support/until.ts'
import { type AuthServer, startAuthServer } from './auth-server.ts'
import { type Person, personOf } from './person.ts'
import {
  callTool,
  type PlainClient,
  postMcp,
  register,
  registerPlainClient,
  type Tokens,
} from './plain-client.ts'
import { sdkClientNames, sdkClients } from './sdk-client.ts'
import { createSecretLedger } from './secret-ledger.ts'
import type { ServerAddress } from './server-process.ts'

const account = { email: 'ada@example.com', password: 'correct horse battery' }

interface NextDrawbridge extends ServerAddress {
  next: NextServer
  /** Kills the process and starts another one in its place. */
  replace(): Promise<void>
  /** Sign-ins by mail that wait for their link. */
  countPending(): Promise<unknown>
}

const isInstalled = [hasHosts(), hasPgbouncer()].every(Boolean)

describe.skipIf(!isInstalled)('in a Next.js app, as docs/nextjs.md says', () => {
  let postgres: PostgresServer
  let pooler: Pgbouncer
  let auth: AuthServer

  beforeAll(async () => {
    postgres = await startPostgres()
    pooler = await startPgbouncer(postgres.url('postgres'))
    auth = await startAuthServer()
    await auth.admin.createUser(account)
  }, 60_000)
  afterAll(async () => {
    await auth?.close()
    await pooler?.close()
    await postgres?.close()
  })

  /** Starts the app with Drawbridge at `path`, and the tables in a schema of the app's database. */
  async function start(
    path: string,
    settings: Readonly<Record<string, string>> = {},
    fetch?: (next: () => NextServer) => ServerAddress['fetch'],
  ): Promise<NextDrawbridge> {
    const port = await freePort()
    const baseUrl = `http://localhost:${port}${path}`
    const database = await postgres.createDatabase()
    const given = {
      ...auth.settings,
      BASE_URL: baseUrl,
      STORE: `${pooler.url(database)}&schema=drawbridge`,
      ...settings,
    }
    const started: NextDrawbridge = {
      next: await startNextServer(port, given),
      baseUrl,
      mcpUrl: `${baseUrl}/mcp`,
      appUrl: auth.appUrl,
      fetch: fetch?.(() => started.next) ?? createSecretLedger().fetch,
      async replace() {
        await started.next.end('SIGKILL')
        started.next = await startNextServer(port, given)
      },
      async countPending() {
        const [row] = await postgres.query(database, 'SELECT count(*)::int FROM drawbridge.social_sign_in')
        return row?.['count']
      },
    }
    return started
  }

  it('the route that a person adds to a Next.js app has eight lines at most', () => {
    const lines = routeOfGuide().split('\n')
    expect(lines.length).toBeGreaterThan(3)
    expect(lines.length).toBeLessThanOrEqual(8)
  })

  describe.each([
    ['at the root of its host', ''],
    ['below a path', '/drawbridge'],
  ])('%s', (place, path) => {
    let server: NextDrawbridge
    let person: Person
    let client: PlainClient
    let tokens: Tokens

    beforeAll(async () => {
      server = await start(path)
      person = personOf(server, account)
      client = await registerPlainClient(server)
      tokens = await client.connect(person)
    }, 60_000)
    afterAll(() => server?.next.end('SIGTERM'))

    it(`Next.js serves the metadata of Drawbridge ${place}, for its resource too`, async () => {
      const { origin } = new URL(server.baseUrl)
      const challenge = await postMcp(server, { method: 'ping' })
      expect(challenge.status).toBe(401)
      const resourceUrl = `${origin}/.well-known/oauth-protected-resource${path}/mcp`
      expect(challenge.headers.get('www-authenticate')).toContain(`resource_metadata="${resourceUrl}"`)
      const resource = await (await fetch(resourceUrl)).json()
      expect(resource).toMatchObject({ resource: server.mcpUrl, authorization_servers: [server.baseUrl] })
      const issuer = await (await fetch(`${origin}/.well-known/oauth-authorization-server${path}`)).json()
      expect(issuer).toMatchObject({
        issuer: server.baseUrl,
        token_endpoint: `${server.baseUrl}/oauth/token`,
      })
    })

    it(`Next.js serves calls, refreshes and revocations of a client that signed in ${place}`, async () => {
      expect(await callTool(server, tokens.access_token, 'whoami')).toBe(`You are ${account.email}.`)
      const refreshed = (await (await client.refresh(tokens.refresh_token)).json()) as Tokens
      expect(await callTool(server, refreshed.access_token, 'whoami')).toBe(`You are ${account.email}.`)
      const other = await registerPlainClient(server)
      const { access_token: ended, refresh_token: last } = await other.connect(person)
      expect((await other.revoke(last)).status).toBe(200)
      expect((await postMcp(server, { method: 'ping' }, { authorization: `Bearer ${ended}` })).status).toBe(
        401,
      )
    })

    it.each(sdkClientNames)(
      `a client of the official SDK, %s, signs in and calls a tool ${place}`,
      async (name) => {
        const sdk = sdkClients[name](server)
        await expect(sdk.connect()).rejects.toThrow(/unauthorized/i)
        await sdk.signIn(person)
        await sdk.connect()
        expect(await sdk.listTools()).toEqual(['whoami', 'count'])
        expect((await sdk.call('whoami')).text).toBe(`You are ${account.email}.`)
        expect((await sdk.call('count')).progress).toEqual([1, 2, 3])
        await sdk.end()
      },
    )

    it(`Next.js tells a tool that its client has left, ${place}`, async () => {
      const leaving = new AbortController()
      const message = {
        method: 'tools/call',
        params: { name: 'count', arguments: {}, _meta: { progressToken: 'p' } },
      }
      const left = fetch(server.mcpUrl, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          authorization: `Bearer ${tokens.access_token}`,
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
        signal: leaving.signal,
      }).then(async (answer) => answer.body?.getReader().read())
      await left
      leaving.abort()
      await until(() => server.next.output().includes('the client of count is gone'), 'the abort')
    })

    it(`Next.js passes on each event of a stream when it happens, ${place}`, async () => {
      const call = {
        method: 'tools/call',
        params: { name: 'count', arguments: {}, _meta: { progressToken: 'p' } },
      }
      const answer = await postMcp(server, call, { authorization: `Bearer ${tokens.access_token}` })
      expect(answer.headers.get('content-type')).toContain('text/event-stream')
      const arrivals: string[] = []
      const decoder = new TextDecoder()
      for await (const chunk of answer.body ?? []) arrivals.push(decoder.decode(chunk as Uint8Array))
      // One after the other, 300 ms apart.
      expect(arrivals.length).toBeGreaterThanOrEqual(3)
      expect(arrivals[0]).toContain('notifications/progress')
      expect(arrivals[0]).not.toContain('three')
      expect(arrivals.at(-1)).toContain('three')
    })

    it(`Next.js serves all methods and CORS of Drawbridge ${place}, and the app everything else`, async () => {
      const registered = await register(server, {})
      const managed = (method: string): Promise<Response> =>
        server.fetch(registered.registration_client_uri, {
          method,
          headers: { authorization: `Bearer ${registered.registration_access_token}` },
        })
      expect((await managed('GET')).status).toBe(200)
      expect((await managed('DELETE')).status).toBe(204)
      const preflight = await server.fetch(`${server.baseUrl}/oauth/token`, {
        method: 'OPTIONS',
        headers: { origin: 'https://client.example', 'access-control-request-method': 'POST' },
      })
      expect(preflight.status).toBe(204)
      expect(preflight.headers.get('access-control-allow-origin')).toBe('*')
      const head = await server.fetch(`${server.baseUrl}/oauth/jwks`, { method: 'HEAD' })
      expect(head.status).toBe(200)
      for (const own of ['/account/connections', '/help', '/mcp/stream-check']) {
        const shown = await server.fetch(server.baseUrl + own, { redirect: 'manual' })
        expect([own, shown.status]).toEqual([own, 200])
      }
      const page = await server.fetch(`${new URL(server.baseUrl).origin}/account`, { redirect: 'manual' })
      expect(page.headers.get('location')).toContain('/?sign-in')
      const home = await server.fetch(`${new URL(server.baseUrl).origin}/`)
      expect(await home.text()).toContain('The app itself')
    })

    it(`Next.js with Drawbridge ${place} refuses another host, and pages of strangers`, async () => {
      const { hostname, port } = new URL(server.baseUrl)
      expect(hostname).toBe('localhost')
      const rebound = await server.fetch(`http://127.0.0.1:${port}${path}/oauth/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forwarded-host': 'rebound.example' },
        body: JSON.stringify({
          redirect_uris: ['http://127.0.0.1/cb'],
          token_endpoint_auth_method: 'none',
        }),
      })
      // A loopback address is as good as the name; the header of a client names no host.
      expect(rebound.status).toBe(201)
      expect(await statusWithHost(Number(port), `${path}/mcp`, 'rebound.example')).toBe(421)
      const foreign = await postMcp(
        server,
        { method: 'ping' },
        { authorization: `Bearer ${tokens.access_token}`, origin: 'https://stranger.example' },
      )
      expect(foreign.status).toBe(403)
    })
  })

  it('Next.js with Drawbridge at a public name answers for the Host of a request, whatever Next.js calls itself', async () => {
    const { next } = await start('', { BASE_URL: 'https://mcp.example.com' })
    const path = '/.well-known/oauth-authorization-server'
    expect(await statusWithHost(next.port, path, 'mcp.example.com', 'GET')).toBe(200)
    expect(await statusWithHost(next.port, '/mcp', 'mcp.example.com')).toBe(401)
    expect(await statusWithHost(next.port, path, 'app.example.com', 'GET')).toBe(421)
    expect(await statusWithHost(next.port, path, `localhost:${next.port}`, 'GET')).toBe(421)
    await next.end('SIGKILL')
  })

  describe('in a process that the platform freezes or stops', () => {
    let server: NextDrawbridge
    let person: Person
    let client: PlainClient
    let userId: string

    /** Begins with a process that runs `work` after `connect`. */
    async function begin(fetch?: (next: () => NextServer) => ServerAddress['fetch']): Promise<void> {
      auth.admin.setFaults({})
      const user = { email: `${randomUUID()}@example.com`, password: account.password }
      userId = (await auth.admin.createUser(user)).id
      server = await start('', { EMAIL_SIGN_IN: 'both' }, fetch)
      person = personOf(server, user)
      client = await registerPlainClient(server)
    }
    afterEach(async () => {
      auth.admin.setFaults({})
      server?.next.signal('SIGCONT')
      await server?.next.end('SIGKILL')
    })

    /** Asks for a mail, which a slow provider sends only after the page is there: then the link is remembered. */
    async function askForMail(beforehand?: () => Promise<void>): Promise<void> {
      const login = await person.browser.visit(client.authorizationUrl)
      await beforehand?.()
      auth.admin.setFaults({ latencyMs: 400 })
      const page = await person.browser.submit(login, 'email', { email: person.email, action: 'email' })
      expect(page.status).toBe(200)
    }

    const sessions = (): number => auth.admin.listSessions(userId).length

    it('a process frozen after each answer loses no mail and no sign-out: they are done when it runs again', async () => {
      await begin(frozenBetweenRequests)
      const anyRequest = (): Promise<Response> => server.fetch(`${server.baseUrl}/oauth/jwks`)
      const before = auth.countMails()
      await askForMail()
      await until(async () => (await anyRequest()).ok && (await server.countPending()) === 1, 'the mail')
      auth.admin.setFaults({})
      expect(auth.countMails()).toBe(before + 1)

      const tokens = await client.connect(person)
      expect(sessions()).toBe(1)
      expect((await client.revoke(tokens.refresh_token)).status).toBe(200)
      await until(async () => (await anyRequest()).ok && sessions() === 0, 'the sign-out')
      expect(auth.countMails()).toBe(before + 1)
    })

    it('a process whose connections to the database broke while it was frozen answers its next request', async () => {
      const database = await postgres.createDatabase()
      server = await start('', { STORE: `${database}?schema=drawbridge` }, frozenBetweenRequests)
      // Begins with a write, which is not repeated on another connection.
      await register(server, {})
      const broken = await postgres.query(
        database,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'drawbridge'`,
      )
      expect(broken.length).toBeGreaterThan(0)
      await register(server, {})
    })

    it('a process stopped after an answer has sent its mail and remembers the link before it ends', async () => {
      await begin()
      const before = auth.countMails()
      // The first request of a process: nothing else keeps it running.
      await askForMail(server.replace)
      expect(await server.countPending()).toBe(0)
      await server.next.end('SIGTERM')
      expect(auth.countMails()).toBe(before + 1)
      expect(await server.countPending()).toBe(1)
    })

    it('a process stopped after an answer has signed out at the provider before it ends', async () => {
      await begin()
      const tokens = await client.connect(person)
      expect((await client.revoke(tokens.refresh_token)).status).toBe(200)
      await server.next.end('SIGTERM')
      expect(sessions()).toBe(0)
    })
  })
})

/** Lets the process run only from the start of a request to the end of its answer. */
function frozenBetweenRequests(next: () => NextServer): ServerAddress['fetch'] {
  const { fetch: send } = createSecretLedger()
  return async (input, init) => {
    next().signal('SIGCONT')
    const answer = await send(input, init)
    const body = await answer.arrayBuffer()
    next().signal('SIGSTOP')
    return new Response(body.byteLength > 0 ? body : null, answer)
  }
}

function statusWithHost(
  port: number,
  path: string,
  host: string,
  method = 'POST',
): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    sendRequest({ host: '127.0.0.1', port, path, method, headers: { host } }, (answer) => {
      answer.resume()
      resolve(answer.statusCode)
    })
      .on('error', reject)
      .end()
  })
}
