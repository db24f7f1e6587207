import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createBrowser } from '../support/server/browser.ts'
import { type PostgresServer, startPostgres } from '../support/server/postgres-server.ts'
import { type AuthServer, startAuthServer } from './auth-server.ts'
import { type LoadBalancer, startLoadBalancer } from './load-balancer.ts'
import { createPerson } from './person.ts'
import { callTool, type PlainClient, postMcp, registerPlainClient, type Tokens } from './plain-client.ts'
import { type ServerProcess, type ServerSettings, startServer, until } from './server-process.ts'

const tokenSeconds = 6
let postgres: PostgresServer
let auth: AuthServer
let balancer: LoadBalancer
let instances: ServerProcess[]
let settings: ServerSettings
let client: PlainClient
/** The system as clients see it: any instance, through the load balancer. */
let system: ServerProcess

beforeAll(async () => {
  postgres = await startPostgres()
  auth = await startAuthServer({ tokenTtlSeconds: tokenSeconds })
  balancer = await startLoadBalancer()
  settings = { ...auth.settings, BASE_URL: balancer.url, STORE: await postgres.createDatabase() }
  // All at once on an empty database: its schema is created exactly once.
  instances = await Promise.all(Array.from({ length: 3 }, () => startServer(settings)))
  balancer.targets = instances.map(({ origin }) => origin)
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

describe('three instances on one database', () => {
  it('a sign-in begins on one and ends on another', async () => {
    const before = new Map(balancer.sent)
    const person = await createPerson(system)
    const { access_token: token } = await client.connect(person)
    expect(await callTool(system, token, 'whoami')).toBe(`You are ${person.email}.`)
    for (const { origin } of instances) {
      expect((balancer.sent.get(origin) ?? 0) - (before.get(origin) ?? 0)).toBeGreaterThan(0)
    }
  })

  it('twenty refreshes with one token, on all of them, have one successor', async () => {
    const { refresh_token: refreshToken } = await client.connect(await createPerson(system))
    const answers = await times(20, () => client.refresh(refreshToken))
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200))
    const tokens = (await Promise.all(answers.map((answer) => answer.json()))) as Tokens[]
    expect(new Set(tokens.map((pair) => pair.refresh_token)).size).toBe(1)
    expect(await callTool(system, tokens[0]?.access_token ?? '', 'whoami')).toContain('You are')
  })

  it('thirty calls at the end of the provider token refresh it once among all', async () => {
    const { access_token: token } = await client.connect(await createPerson(system))
    await delay(tokenSeconds * 1000 + 50)
    const before = auth.admin.counters.rotations
    const began = performance.now()
    const answers = await times(30, () => callTool(system, token, 'whoami'))
    expect(answers).toHaveLength(30)
    const lifetimes = Math.ceil((performance.now() - began) / 1000 / tokenSeconds)
    const rotations = auth.admin.counters.rotations - before
    expect(rotations).toBeGreaterThan(0)
    // One, unless these calls take so long that the new token expires meanwhile.
    expect(rotations).toBeLessThanOrEqual(lifetimes)
  })

  it('what one instance ends has ended on all', async () => {
    const person = await createPerson(system)
    const code = await client.code(person)
    const { access_token: token } = (await (await client.redeem(code)).json()) as Tokens
    await delay(11_000)
    expect((await client.redeem(code)).status).toBe(400)
    const after = await times(6, () =>
      postMcp(system, { method: 'ping' }, { authorization: `Bearer ${token}` }),
    )
    expect(after.map(({ status }) => status)).toEqual(Array.from({ length: 6 }, () => 401))
  })

  it('the limit of sign-ins counts over all of them', async () => {
    const targets = balancer.targets
    const database = await postgres.createDatabase()
    const limits = { STORE: database, SIGN_IN_LIMIT: '9', TRUSTED_PROXIES: '127.0.0.1' }
    const limited = await times(2, () => startServer({ ...settings, ...limits }))
    try {
      balancer.targets = limited.map(({ origin }) => origin)
      const other = await registerPlainClient(system)
      const statuses: (number | undefined)[] = []
      // Each from its own address, for its own account: only the total limit applies, two thirds of it for strangers.
      for (let attempt = 1; attempt <= 8; attempt += 1) {
        const browser = createBrowser((request) => {
          request.headers.set('x-forwarded-for', `203.0.113.${attempt}`)
          return system.fetch(request)
        })
        const login = await browser.visit(other.authorizationUrl)
        const wrong = { email: `nobody-${attempt}@example.com`, password: 'wrong' }
        statuses.push((await browser.submit(login, 'password', wrong)).response?.status)
      }
      expect(statuses).toEqual([400, 400, 400, 400, 400, 400, 429, 429])
    } finally {
      balancer.targets = targets
      await Promise.all(limited.map((instance) => instance.close()))
    }
  })

  it('an instance that is killed takes nothing with it', async () => {
    const person = await createPerson(system)
    const tokens = await client.connect(person)
    const [, victim] = instances as [ServerProcess, ServerProcess]
    balancer.targets = instances.filter((one) => one !== victim).map(({ origin }) => origin)
    await victim.kill('SIGKILL')
    const refreshed = (await (await client.refresh(tokens.refresh_token)).json()) as Tokens
    expect(await callTool(system, refreshed.access_token, 'whoami')).toContain(person.email)
    await victim.start()
    balancer.targets = [victim.origin]
    expect(await callTool(system, refreshed.access_token, 'whoami')).toContain(person.email)
    balancer.targets = instances.map(({ origin }) => origin)
  })

  it('without the database: 503 with Retry-After, then service again, and nothing is lost', async () => {
    const latest: string[] = []
    while (latest.length < 10) latest.push((await client.connect(await createPerson(system))).refresh_token)
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
