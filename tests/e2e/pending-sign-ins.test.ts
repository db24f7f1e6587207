import { randomBytes, randomUUID } from 'node:crypto'
import { SignJWT } from 'jose'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Browser } from '../support/server/browser.ts'
import { type DrawbridgeFixture, startDrawbridge, type Tokens } from '../support/server/drawbridge-fixture.ts'
import { createFakeRuntime, type FakeRuntime } from '../support/server/fake-runtime.ts'
import { type PostgresServer, startPostgres } from '../support/server/postgres-server.ts'

const crowd = 1000
const atOnce = 20
const requestSeconds = 600
const baseUrl = 'http://localhost:8787'
const appUrl = 'http://localhost:8788'
const secret = randomBytes(32).toString('base64')

let postgres: PostgresServer
let database: string
let runtime: FakeRuntime
let instances: [DrawbridgeFixture, DrawbridgeFixture]
let clientId: string

beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres?.close())

beforeEach(async () => {
  database = await postgres.createDatabase()
  runtime = createFakeRuntime()
  const settings = {
    baseUrl,
    appUrl,
    provider: 'app',
    signInUrl: `${appUrl}/connect`,
    signInSecret: secret,
    secretKeys: `test:${randomBytes(32).toString('base64')}`,
    store: database,
  }
  instances = [await startDrawbridge(settings, runtime), await startDrawbridge(settings, runtime)]
  clientId = (await instances[0].register()).client_id
})
afterEach(() => Promise.all(instances.map((instance) => instance.close())))

/** A person with a browser at one instance. Their answers go to the other one. */
interface Visitor {
  sub: string
  browser: Browser
  here: DrawbridgeFixture
  there: DrawbridgeFixture
}

function visitor(number: number): Visitor {
  const here = instances[number % 2] as DrawbridgeFixture
  const there = instances[(number + 1) % 2] as DrawbridgeFixture
  return { sub: `user-${number}`, browser: here.browser(), here, there }
}

/** Opens the request of a client, and returns what the page of the web app gets. */
async function begin({ browser, here }: Visitor): Promise<string> {
  const { url } = await browser.visit(here.authorizeUrl(clientId))
  expect(url.href).toContain(`${appUrl}/connect?request=`)
  return url.searchParams.get('request') ?? ''
}

function proofOf(sub: string, key = secret): Promise<string> {
  const now = runtime.now()
  return new SignJWT({ email: `${sub}@example.com`, email_verified: true, name: sub })
    .setProtectedHeader({ alg: 'HS256', typ: 'drawbridge-user+jwt' })
    .setAudience(baseUrl)
    .setSubject(sub)
    .setIssuedAt(now)
    .setExpirationTime(now + 60)
    .setJti(randomUUID())
    .sign(new TextEncoder().encode(key))
}

interface Answer {
  status: number
  body: { redirect_to?: string; error?: string; error_description?: string }
}

async function allow({ sub, there }: Visitor, request: string, key?: string): Promise<Answer> {
  const authorization = `Bearer ${await proofOf(sub, key)}`
  const response = await there.fetch('/oauth/app', {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization },
    body: JSON.stringify({ request, allow: true }),
  })
  return { status: response.status, body: (await response.json()) as Answer['body'] }
}

/** Allows a request and returns. Returns who a call with the tokens is for. */
async function finish(who: Visitor, request: string): Promise<string> {
  const { status, body } = await allow(who, request)
  expect([status, body.error]).toEqual([200, undefined])
  return returnTo(who, body.redirect_to)
}

async function returnTo({ browser, there }: Visitor, url = ''): Promise<string> {
  const back = await browser.visit(url)
  const code = back.url.searchParams.get('code') ?? ''
  expect(code, back.html).not.toBe('')
  const redeemed = await there.redeem(clientId, code)
  expect(redeemed.status).toBe(200)
  const { access_token: token } = (await redeemed.json()) as Tokens
  return (await there.callTool(token, 'whoami')).text
}

async function eachOf<Result>(count: number, work: (number: number) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = []
  for (let done = 0; done < count; done += atOnce) {
    const numbers = Array.from({ length: Math.min(atOnce, count - done) }, (_, index) => done + index)
    results.push(...(await Promise.all(numbers.map(work))))
  }
  return results
}

/** Counts the rows of all tables, without the book of attempts, whose size has a limit of its own. */
async function rows(): Promise<Record<string, number>> {
  const tables = await postgres.query(
    database,
    `SELECT tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema') AND tablename NOT LIKE 'attempt%'`,
  )
  const counts = await Promise.all(
    tables.map(async ({ tablename }): Promise<[string, number]> => {
      const [count] = await postgres.query(database, `SELECT count(*) AS rows FROM "${String(tablename)}"`)
      return [String(tablename), Number(count?.['rows'])]
    }),
  )
  return Object.fromEntries(counts)
}

describe('a thousand sign-ins in the app that began and were not finished, on two instances', () => {
  it('store nothing, let the next person in and any of their own, and end after ten minutes', async () => {
    const before = await rows()
    const visitors = Array.from({ length: crowd }, (_, number) => visitor(number))
    const requests = await eachOf(crowd, (number) => begin(visitors[number] as Visitor))
    expect(await rows()).toEqual(before)

    const next = visitor(crowd)
    expect(await finish(next, await begin(next))).toContain(next.sub)
    for (const number of [0, crowd / 2 + 1, crowd - 1]) {
      const own = visitors[number] as Visitor
      expect(await finish(own, requests[number] ?? '')).toContain(own.sub)
    }

    runtime.advance(requestSeconds)
    const late = await eachOf(crowd / 10, (number) =>
      allow(visitors[number + 1] as Visitor, requests[number + 1] ?? ''),
    )
    for (const { status, body } of late) {
      expect([status, body.error]).toEqual([400, 'invalid_request'])
      expect(body.error_description).toContain('over ten minutes old')
    }
  })

  it('do not help without a proof of a user: the next person is let in', async () => {
    const refused = await eachOf(crowd, async (number) => {
      const stranger = visitor(number)
      return allow(stranger, await begin(stranger), 'a secret of somebody else, 32 bytes')
    })
    expect(new Set(refused.map(({ status, body }) => `${status} ${body.error}`))).toEqual(
      new Set(['401 invalid_token']),
    )
    const next = visitor(crowd)
    expect(await finish(next, await begin(next))).toContain(next.sub)
  })
})

describe('a thousand sign-ins that were allowed in the app and did not return, on two instances', () => {
  it('are one row each for ten minutes, and let the next person in and any of their own', async () => {
    const before = await rows()
    const visitors = Array.from({ length: crowd }, (_, number) => visitor(number))
    const allowed = await eachOf(crowd, async (number) => {
      const own = visitors[number] as Visitor
      return allow(own, await begin(own))
    })
    expect(new Set(allowed.map(({ status }) => status))).toEqual(new Set([200]))
    expect((await rows())['social_sign_in']).toBe(crowd)

    const next = visitor(crowd)
    expect(await finish(next, await begin(next))).toContain(next.sub)
    const first = visitors[0] as Visitor
    expect(await returnTo(first, allowed[0]?.body.redirect_to)).toContain(first.sub)

    runtime.advance(requestSeconds)
    const second = visitors[1] as Visitor
    const back = await second.browser.visit(allowed[1]?.body.redirect_to ?? '')
    expect([back.status, back.url.origin]).toEqual([400, baseUrl])
    await instances[0].app.upkeep()
    expect(await rows()).toMatchObject({ social_sign_in: before['social_sign_in'] })
  })

  it('of one browser are five, and take no place of another browser', async () => {
    const other = visitor(crowd)
    const { body } = await allow(other, await begin(other))
    const attacker = visitor(0)
    await begin(attacker)
    await eachOf(crowd, async () => {
      expect((await allow(attacker, await begin(attacker))).status).toBe(200)
    })
    expect((await rows())['social_sign_in']).toBe(1 + 5)
    expect(await returnTo(other, body.redirect_to)).toContain(other.sub)
  })
})
