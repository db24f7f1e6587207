import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { keySample } from '../support/server/key-sample.ts'
import { freePort } from '../support/server/free-port.ts'
import { type PostgresServer, startPostgres } from '../support/server/postgres-server.ts'
import { startReverseProxy } from '../support/server/reverse-proxy.ts'
import { assertionFields } from './assertion.ts'
import { type AuthServer, startAuthServer } from './auth-server.ts'
import { allowDevice, registerDeviceClient } from './device.ts'
import { createPerson } from './person.ts'
import {
  callTool,
  createPlainClient,
  type PlainClient,
  postForm,
  postMcp,
  redirectUri,
  register,
  type Registered,
  registerPlainClient,
  statusOfCall,
  type Tokens,
} from './plain-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { until } from '../support/until.ts'

const tokenSeconds = 6
let postgres: PostgresServer
let auth: AuthServer
/** Without stickiness: each request goes to the next target. */
let balancer: Awaited<ReturnType<typeof startReverseProxy>>
let targets: string[]
let instances: ServerProcess[]
let client: PlainClient
/** The system as clients see it: any instance, through the load balancer. */
let system: ServerProcess

beforeAll(async () => {
  postgres = await startPostgres()
  auth = await startAuthServer({ tokenTtlSeconds: tokenSeconds })
  const port = await freePort()
  let turn = 0
  balancer = await startReverseProxy(port, () => ({ origin: targets[turn++ % targets.length] ?? '' }))
  const baseUrl = `http://localhost:${port}`
  const settings = { ...auth.settings, BASE_URL: baseUrl, STORE: await postgres.createDatabase() }
  // All at once on an empty database: its schema is created exactly once.
  instances = await Promise.all(Array.from({ length: 3 }, () => startServer(settings)))
  targets = instances.map(({ origin }) => origin)
  system = instances[0] as ServerProcess
  client = await registerPlainClient(system)
})
afterAll(async () => {
  await Promise.all((instances ?? []).map((instance) => instance.close()))
  await balancer?.close()
  await auth?.close()
  await postgres?.close()
})

function times<Value>(count: number, work: (index: number) => Promise<Value>): Promise<Value[]> {
  return Promise.all(Array.from({ length: count }, (_, index) => work(index)))
}

type Name = 'A' | 'B'

/** Sends every following request of a test to that instance. */
function at(name: Name): void {
  targets = [instances[name === 'A' ? 0 : 1]?.origin ?? '']
}

/** Sends a request of the client about its registration (RFC 7592). */
function manage(
  { registration_client_uri: uri, registration_access_token: token }: Registered,
  method: string,
  metadata?: object,
): Promise<Response> {
  return system.fetch(uri, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(metadata && { 'content-type': 'application/json' }) },
    ...(metadata && { body: JSON.stringify(metadata) }),
  })
}

const mcpStatus = (token: string): Promise<number> => statusOfCall(system, token)

describe('changes at one instance hold at another at once', () => {
  beforeEach(() => at('A'))
  afterEach(() => {
    targets = instances.map(({ origin }) => origin)
  })

  it('a device polls at A and is allowed at B (RFC 8628)', async () => {
    const person = await createPerson(system)
    const client = await registerDeviceClient(system, 'Screen')
    const device = await client.start()
    expect(await client.pollResult(device)).toBe('authorization_pending')
    at('B')
    expect(await allowDevice(person, device)).toContain('Your device can connect now')
    at('A')
    const { access_token: token } = await client.takeTokens(device)
    at('B')
    expect(await callTool(system, token, 'whoami')).toBe(`You are ${person.email}.`)
    expect(await client.pollResult(device)).toBe('invalid_grant')
  })

  it('a client that registered at A signs in at B, and manages its registration there (RFC 7592)', async () => {
    const person = await createPerson(system)
    const registered = await register(system, { client_name: 'Before' })
    at('B')
    const client = await createPlainClient(system, { id: registered.client_id })
    const tokens = await client.connect(person)
    const metadata = {
      client_id: registered.client_id,
      client_name: 'After',
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: 'none',
    }
    expect((await manage(registered, 'PUT', metadata)).status).toBe(200)
    at('A')
    expect((await person.browser.visit(client.authorizationUrl)).html).toContain('After')
    expect(await mcpStatus(tokens.access_token)).toBe(200)
    at('B')
    expect((await manage(registered, 'DELETE')).status).toBe(204)
    at('A')
    expect((await manage(registered, 'GET')).status).toBe(401)
    expect(await mcpStatus(tokens.access_token)).toBe(401)
    expect((await person.browser.visit(client.authorizationUrl)).response?.status).toBe(400)
    const refused = await client.refresh(tokens.refresh_token)
    expect(await refused.json()).toMatchObject({ error: 'invalid_client' })
  })

  it.each(['access_token', 'refresh_token'] as const)(
    'the %s that is revoked at A is 401 at B',
    async (kind) => {
      const client = await registerPlainClient(system)
      const tokens = await client.connect(await createPerson(system))
      // From now on both instances have cached all they can about the token.
      for (const name of ['B', 'A', 'B', 'A'] as const) {
        at(name)
        expect(await mcpStatus(tokens.access_token)).toBe(200)
      }
      expect((await client.revoke(tokens[kind])).status).toBe(200)
      at('B')
      expect(await mcpStatus(tokens.access_token)).toBe(401)
      expect((await client.refresh(tokens.refresh_token)).status).toBe(kind === 'access_token' ? 200 : 400)
    },
  )

  it('a connection that its owner ends at A is 401 at B, and the page is signed in at both', async () => {
    const person = await createPerson(system)
    const own = await registerPlainClient(system, 'Quill')
    const tokens = await own.connect(person)
    at('B')
    expect(await mcpStatus(tokens.access_token)).toBe(200)
    const { browser, email, password } = person
    const page = `${system.baseUrl}/account/connections`
    await browser.submit(await browser.visit(page), 'password', { email, password })
    at('A')
    const list = await browser.visit(page)
    expect(list.html).toContain('Quill')
    expect((await browser.submit(list, 'connection', { action: 'end' })).html).toContain(
      'is no longer connected',
    )
    at('B')
    expect(await mcpStatus(tokens.access_token)).toBe(401)
    expect((await own.refresh(tokens.refresh_token)).status).toBe(400)
  })

  it('a client assertion that A took is refused at B (RFC 7523 section 3)', async () => {
    const key = await keySample('signer')
    const { client_id: id } = await register(system, {
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: { keys: [key.published] },
    })
    const client = await createPlainClient(system, { id, prove: () => assertionFields(system, id, key) })
    const tokens = await client.connect(await createPerson(system))
    const proof = await assertionFields(system, id, key)
    const introspect = (): Promise<Response> =>
      postForm(system, '/oauth/introspect', { ...proof, token: tokens.access_token })
    expect(await (await introspect()).json()).toMatchObject({ active: true })
    at('B')
    const replayed = await introspect()
    expect([replayed.status, await replayed.json()]).toMatchObject([401, { error: 'invalid_client' }])
    expect(await (await client.introspect(tokens.access_token)).json()).toMatchObject({ active: true })
  })
})

describe('three instances on one database', () => {
  it('Spec 1: offer only tools that any web app has', async () => {
    const { access_token: token } = await client.connect(await createPerson(system))
    const listed = await postMcp(system, { method: 'tools/list' }, { authorization: `Bearer ${token}` })
    expect(await listed.json()).toMatchObject({ result: { tools: [{ name: 'whoami' }] } })
  })

  it('OAuth 2.1 4.1.3: with one code, at all of them at once, exactly one request gets tokens, and they work', async () => {
    const person = await createPerson(system)
    const code = await client.code(person)
    const answers = await times(10, () => client.redeem(code))
    const [winner, ...others] = answers.filter(({ status }) => status === 200)
    expect(others).toHaveLength(0)
    for (const answer of answers.filter((each) => each !== winner)) {
      expect([answer.status, await answer.json()]).toMatchObject([400, { error: 'invalid_grant' }])
    }
    const tokens = (await winner?.json()) as Tokens
    expect(await callTool(system, tokens.access_token, 'whoami')).toContain(person.email)
    expect((await client.refresh(tokens.refresh_token)).status).toBe(200)
  })

  it('twenty refreshes with one token, on all of them, have one successor', async () => {
    const { refresh_token: refreshToken } = await client.connect(await createPerson(system))
    const answers = await times(20, () => client.refresh(refreshToken))
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200))
    const tokens = (await Promise.all(answers.map((answer) => answer.json()))) as Tokens[]
    expect(new Set(tokens.map((pair) => pair.refresh_token)).size).toBe(1)
    expect(await callTool(system, tokens[0]?.access_token ?? '', 'whoami')).toContain('You are')
  })

  it('calls at the end of the provider token refresh it once among all', async () => {
    const { access_token: token } = await client.connect(await createPerson(system))
    await delay(tokenSeconds * 1000 + 50)
    const before = auth.admin.counters.rotations
    const began = performance.now()
    const answers = await times(12, () => callTool(system, token, 'whoami'))
    expect(answers).toHaveLength(12)
    const lifetimes = Math.ceil((performance.now() - began) / 1000 / tokenSeconds)
    const rotations = auth.admin.counters.rotations - before
    expect(rotations).toBeGreaterThan(0)
    // One, unless these calls take so long that the new token expires meanwhile.
    expect(rotations).toBeLessThanOrEqual(lifetimes)
  })

  it('without the database: 503 with Retry-After, then service again, and nothing is lost', async () => {
    const latest: string[] = []
    const person = await createPerson(system)
    while (latest.length < 4) latest.push((await client.connect(person)).refresh_token)
    const end = new AbortController()
    const seen = new Map<number, number>()
    const countOf = (status: number): number => seen.get(status) ?? 0
    const load = latest.map(async (_token, index) => {
      while (!end.signal.aborted) {
        const answer = await client.refresh(latest[index] ?? '')
        seen.set(answer.status, countOf(answer.status) + 1)
        if (answer.status === 200) latest[index] = ((await answer.json()) as Tokens).refresh_token
        else {
          expect(answer.status).toBe(503)
          expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
          await delay(100)
        }
      }
    })
    const all = Promise.all(load)
    // A failure is reported below; until then it must not end the process.
    all.catch(() => undefined)
    await until(() => countOf(200) > 0, 'a refresh')
    await postgres.kill()
    await until(() => countOf(503) > 0, 'a refresh without the database')
    const ready = await system.fetch(`${system.baseUrl}/readyz`)
    expect(ready.status).toBe(503)
    expect(await ready.json()).toMatchObject({ checks: { store: 'failed' } })
    await postgres.start()
    await until(
      async () => (await system.fetch(`${system.baseUrl}/readyz`)).status === 200,
      'readiness after the database came back',
    )
    const before = countOf(200)
    await until(() => countOf(200) > before, 'a refresh after that')
    end.abort()
    await all
    for (const token of latest) expect((await client.refresh(token)).status).toBe(200)
  })
})
