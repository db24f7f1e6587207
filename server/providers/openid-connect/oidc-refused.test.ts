import { afterAll, beforeEach, expect, it } from 'vitest'
import { addSealedGrant, start } from '../../../tests/support/server/core/grant-sample.ts'
import { createKeeperFixture, type KeeperFixture } from '../../../tests/support/server/core/keeper-fixture.ts'
import { startOidcFixture } from '../../../tests/support/server/oidc-fixture.ts'
import type { SessionKeeper } from '../../core/session/session-keeper.ts'

type Answer = () => Response | Promise<never>
/** Answers a refresh in place of the provider; undefined lets the provider answer. */
type Gateway = (refreshToken: string) => Answer | undefined

const hour = 3600
const day = 86_400

const oidc = await startOidcFixture()
afterAll(() => oidc.server.close())

const json = (status: number, body: unknown) => (): Response => Response.json(body, { status })
const page = (status: number) => (): Response =>
  new Response('<h1>Bad Request</h1>', { status, headers: { 'content-type': 'text/html' } })
const down = (): Promise<never> => Promise.reject(new TypeError('fetch failed'))

// As GoTrue answers for a session that is gone, and for a wrong client secret.
const gone = json(400, { code: 'refresh_token_not_found', message: 'Invalid Refresh Token' })
const wrongSecret = json(400, { code: 'invalid_credentials', message: 'Invalid client credentials' })

/** Each is a 4xx without an OAuth error code. */
const refusals: readonly [what: string, answer: Answer][] = [
  ["GoTrue's own code in another member", gone],
  ['the page of a gateway', page(400)],
  ['a 401 without a body', () => new Response('', { status: 401 })],
  ['a 403', page(403)],
  ['a 404', json(404, { message: 'no Route matched with those values' })],
  ['a code that is no text', json(400, { error: { type: 'invalid_grant' } })],
]

let fx: KeeperFixture
let gateways: Map<string, Gateway>
let one: SessionKeeper
/** The refresh token of the grant that is refused. */
let refused: string
beforeEach(async () => {
  fx = createKeeperFixture()
  gateways = new Map()
  fx.runtime.advance(hour)
  refused = await connect('refused')
  one = instance('one')
})

/** A process of the server, with a gateway of its own between it and the provider. */
function instance(owner: string, gateway: Gateway = only(gone)): SessionKeeper {
  gateways.set(owner, gateway)
  const provider = oidc.providerWith(
    {},
    {
      now: fx.runtime.now,
      async fetch(request, options) {
        const token = new URLSearchParams(await request.clone().text()).get('refresh_token')
        const answer = token === null ? undefined : gateways.get(owner)?.(token)
        return answer ? answer() : oidc.runtime.fetch(request, options)
      },
    },
  )
  return fx.keeper(owner, { provider: { refresh: provider.refresh }, providerIssuer: provider.issuer })
}

/** A gateway that answers for the refused grant alone. */
function only(answer: Answer): Gateway {
  return (token) => (token === refused ? answer : undefined)
}

/** Creates a grant whose access token has expired; returns its refresh token. */
async function connect(name: string): Promise<string> {
  const { session } = await oidc.signIn()
  const expired = { ...session, issuer: oidc.server.issuer, expiresAt: start }
  await addSealedGrant(fx.store, fx.sealer, name, { ...expired, grant: { createdAt: start } })
  return session.refreshToken
}

/** Makes one `/mcp` call with the refused grant. */
async function call(keeper = one): Promise<string> {
  // Longer than the pause after a failure.
  fx.runtime.advance(60)
  return (await fx.keep(keeper, 'grant refused')).kind
}

let others = 0
/** Makes one `/mcp` call with a further grant. */
async function callOther(keeper = one): Promise<string> {
  others += 1
  await connect(`other ${others}`)
  fx.runtime.advance(60)
  return (await fx.keep(keeper, `grant other ${others}`)).kind
}

async function endReason(): Promise<string | undefined> {
  return (await fx.store.findRefreshToken('refresh refused 1'))?.endReason
}

it.each(refusals)(
  'a connection ends whose refreshes get %s for an hour, while another is renewed',
  async (_what, answer) => {
    gateways.set('one', only(answer))
    expect(await call()).toBe('unavailable')
    fx.runtime.advance(hour)
    expect(await callOther()).toBe('live')
    expect(await call()).toBe('ended')
    expect(await endReason()).toBe('provider_refresh_refused')
    expect(fx.reports).toEqual(['provider_refresh_failed', 'provider_refreshed', 'provider_refresh_refused'])
  },
)

it.each(refusals)('a connection that is alone never ends by %s', async (_what, answer) => {
  gateways.set('one', only(answer))
  for (let days = 0; days < 5; days += 1) {
    expect(await call()).toBe('unavailable')
    fx.runtime.advance(day)
  }
  expect(await endReason()).toBeUndefined()
})

it('a connection does not end by one refusal, however long ago the other was renewed', async () => {
  await callOther()
  fx.runtime.advance(day)
  expect(await call()).toBe('unavailable')
  expect(await endReason()).toBeUndefined()
})

it('a connection does not end within the hour, though others are renewed', async () => {
  await call()
  for (let minutes = 0; minutes < 50; minutes += 10) {
    expect(await callOther()).toBe('live')
    fx.runtime.advance(300)
    expect(await call()).toBe('unavailable')
  }
})

it.each<[what: string, answer: Answer]>([
  ...refusals,
  ['a 503', page(503)],
  ['a 429', page(429)],
  ['no answer', down],
  ['an OAuth error of our client', json(401, { error: 'invalid_client' })],
])('no connection ends while others get %s, though one was renewed before', async (_what, answer) => {
  await call()
  await callOther()
  gateways.set('one', () => answer)
  for (let hours = 0; hours < 3; hours += 1) {
    fx.runtime.advance(hour)
    expect(await callOther()).toBe('unavailable')
    gateways.set('one', (token) => (token === refused ? gone : answer))
    expect(await call()).toBe('unavailable')
  }
  gateways.set('one', only(gone))
  expect(await callOther()).toBe('live')
  expect(await call()).toBe('ended')
})

it.each<[what: string, answer: Answer]>([
  ['408', page(408)],
  ['429', page(429)],
  ['500', page(500)],
  ['302', () => new Response('', { status: 302 })],
  ['200 with a page', page(200)],
  ['401 invalid_client', json(401, { error: 'invalid_client' })],
  ['no answer', down],
])('a connection never ends by %s, though others are renewed', async (_what, answer) => {
  gateways.set('one', only(answer))
  for (let days = 0; days < 3; days += 1) {
    expect(await callOther()).toBe('live')
    expect(await call()).toBe('unavailable')
    fx.runtime.advance(day)
  }
})

it('a connection goes on that is refreshed between two refusals', async () => {
  await call()
  gateways.set('one', () => undefined)
  expect(await call()).toBe('live')
  gateways.set('one', (token) => (token === theNext ? gone : undefined))
  const theNext = (await tokenOf('grant refused')) ?? ''
  fx.runtime.advance(2 * hour)
  expect(await callOther()).toBe('live')
  expect(await call()).toBe('unavailable')
  expect(await endReason()).toBeUndefined()
})

it('of two connections that are refused, each ends after a renewal', async () => {
  const second = await connect('second')
  gateways.set('one', (token) => ([refused, second].includes(token) ? gone : undefined))
  const callSecond = async (): Promise<string> => (await fx.keep(one, 'grant second')).kind
  await call()
  await callSecond()
  fx.runtime.advance(hour)
  expect(await call()).toBe('unavailable')
  await callOther()
  expect([await call(), await callSecond()]).toEqual(['ended', 'ended'])
})

it('a connection ends at the instance that renews another, though another instance saw the first refusal', async () => {
  const two = instance('two')
  await call()
  fx.runtime.advance(hour)
  expect(await callOther(two)).toBe('live')
  expect(await call()).toBe('unavailable')
  expect(await call(two)).toBe('ended')
})

it('a connection ends after a restart as soon as the new process has renewed another', async () => {
  await call()
  await callOther()
  fx.runtime.advance(hour)
  const restarted = instance('restarted')
  expect(await call(restarted)).toBe('unavailable')
  expect(await callOther(restarted)).toBe('live')
  expect(await call(restarted)).toBe('ended')
})

it.each([
  ['has an old client secret', wrongSecret],
  ['is blocked by a gateway', page(403)],
])('an instance that %s ends no connection, while another instance renews', async (_what, answer) => {
  gateways.set('one', () => answer)
  const two = instance('two', () => undefined)
  for (let hours = 0; hours < 3; hours += 1) {
    expect(await call()).toBe('unavailable')
    expect(await callOther(two)).toBe('live')
    fx.runtime.advance(hour)
  }
  expect(await call(two)).toBe('live')
})

it('no connection ends when the client secret is replaced at one instance after the other', async () => {
  await callOther()
  // It is replaced at the provider, and a day later here.
  gateways.set('one', () => wrongSecret)
  const two = instance('two', () => wrongSecret)
  expect([await call(), await call(two)]).toEqual(['unavailable', 'unavailable'])
  fx.runtime.advance(day)
  gateways.set('two', () => undefined)
  expect(await callOther(two)).toBe('live')
  expect(await call()).toBe('unavailable')
  gateways.set('one', () => undefined)
  expect(await call()).toBe('live')
})

async function tokenOf(grantId: string): Promise<string | undefined> {
  return one.open(await fx.stored(grantId)).refreshToken
}
