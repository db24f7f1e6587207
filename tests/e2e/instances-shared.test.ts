import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { keySample } from '../support/server/key-sample.ts'
import { type PostgresServer, startPostgres } from '../support/server/postgres-server.ts'
import { assertionFields } from './assertion.ts'
import { type AuthServer, startAuthServer } from './auth-server.ts'
import { allowDevice, registerDeviceClient } from './device.ts'
import { type LoadBalancer, startLoadBalancer } from './load-balancer.ts'
import { createPerson, createServerBrowser } from './person.ts'
import {
  callTool,
  createPlainClient,
  postForm,
  postMcp,
  redirectUri,
  registerPlainClient,
} from './plain-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'

let postgres: PostgresServer
let auth: AuthServer
let balancer: LoadBalancer
let instances: Record<Name, ServerProcess>
/** The system under its public address; {@link at} selects the instance. */
let system: ServerProcess

type Name = 'A' | 'B'

beforeAll(async () => {
  postgres = await startPostgres()
  auth = await startAuthServer()
  balancer = await startLoadBalancer()
  const settings = {
    ...auth.settings,
    BASE_URL: balancer.url,
    STORE: await postgres.createDatabase(),
    REGISTRATION_LIMIT: '25',
  }
  const [A, B] = await Promise.all([startServer(settings), startServer(settings)])
  instances = { A, B }
  system = A
})
afterAll(async () => {
  await Promise.all(Object.values(instances ?? {}).map((instance) => instance.close()))
  await balancer?.close()
  await auth?.close()
  await postgres?.close()
})
beforeEach(() => at('A'))

/** Sends every following request to that instance. */
function at(name: Name): void {
  balancer.targets = [instances[name].origin]
}

interface Registered {
  client_id: string
  registration_client_uri: string
  registration_access_token: string
}

async function register(metadata: object): Promise<Registered> {
  const answer = await system.fetch(`${system.baseUrl}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: [redirectUri], token_endpoint_auth_method: 'none', ...metadata }),
  })
  expect(answer.status).toBe(201)
  return (await answer.json()) as Registered
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

async function mcpStatus(token: string): Promise<number> {
  return (await postMcp(system, { method: 'tools/list' }, { authorization: `Bearer ${token}` })).status
}

describe('two instances on one Postgres, and what one does holds at the other at once', () => {
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

  it('a device that asks too often, at whichever, is told to slow down', async () => {
    const client = await registerDeviceClient(system, 'Screen')
    const device = await client.start()
    expect(await client.pollResult(device)).toBe('authorization_pending')
    at('B')
    expect(await client.pollResult(device)).toBe('slow_down')
  })

  it('guesses of user codes count together', async () => {
    const browser = createServerBrowser(system)
    const statuses: (number | undefined)[] = []
    for (let guess = 0; guess < 12; guess += 1) {
      at(guess % 2 === 0 ? 'A' : 'B')
      const entry = await browser.visit(`${system.baseUrl}/oauth/device`)
      const { response } = await browser.submit(entry, 'user_code', { user_code: 'BBBB-BBBB' })
      statuses.push(response?.status)
    }
    // Ten of one address; the right one of an earlier test may have been one of them.
    expect(statuses.slice(0, 9)).toEqual(Array.from({ length: 9 }, () => 400))
    expect(statuses.slice(10)).toEqual([429, 429])
  })

  it('a client that registered at A signs in at B, and manages its registration there (RFC 7592)', async () => {
    const person = await createPerson(system)
    const registered = await register({ client_name: 'Before' })
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
    'an %s that is given back at A is 401 at B',
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
    const client = await registerPlainClient(system, 'Quill')
    const tokens = await client.connect(person)
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
    expect((await client.refresh(tokens.refresh_token)).status).toBe(400)
  })

  it('attempts on one account count together', async () => {
    const { browser, email, password } = await createPerson(system)
    const client = await registerPlainClient(system)
    const signIn = async (given: string): Promise<number | undefined> => {
      const login = await browser.visit(client.authorizationUrl)
      return (await browser.submit(login, 'password', { email, password: given })).response?.status
    }
    const statuses: (number | undefined)[] = []
    for (const name of ['A', 'B', 'A', 'B', 'A'] as const) {
      at(name)
      statuses.push(await signIn('wrong'))
    }
    expect(statuses).toEqual([400, 400, 400, 400, 400])
    at('B')
    expect(await signIn(password)).toBe(429)
  })

  it('a client assertion that A took is refused at B (RFC 7523 section 3)', async () => {
    const key = await keySample('signer')
    const { client_id: id } = await register({
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

  it('registrations from one address count together', async () => {
    const statuses = new Set<number>()
    for (let attempt = 0; attempt < 30 && !statuses.has(429); attempt += 1) {
      at(attempt % 2 === 0 ? 'A' : 'B')
      const answer = await system.fetch(`${system.baseUrl}/oauth/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' }),
      })
      statuses.add(answer.status)
    }
    expect(statuses).toEqual(new Set([201, 429]))
  })
})
