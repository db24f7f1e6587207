import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Browser, createBrowser } from '../support/server/browser.ts'
import { oidcAccount, oidcClient, type OidcServer, startOidcServer } from '../support/server/oidc-server.ts'
import { type PostgresServer, startPostgres } from '../support/server/postgres-server.ts'
import { type LoadBalancer, startLoadBalancer } from './load-balancer.ts'
import { type PlainClient, postForm, postMcp, registerPlainClient, type Tokens } from './plain-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'

let postgres: PostgresServer
let balancer: LoadBalancer
let id: OidcServer
let instances: ServerProcess[]
let system: ServerProcess
let client: PlainClient

beforeAll(async () => {
  postgres = await startPostgres()
  balancer = await startLoadBalancer()
  id = await startOidcServer({
    callbackUrl: `${balancer.url}/oauth/callback`,
    backchannelLogoutUri: `${balancer.url}/oauth/backchannel_logout`,
  })
  const settings = {
    BASE_URL: balancer.url,
    STORE: await postgres.createDatabase(),
    APP_URL: 'https://app.example.com',
    PROVIDER: 'oidc',
    PROVIDER_URL: id.issuer,
    PROVIDER_CLIENT_ID: oidcClient.id,
    PROVIDER_CLIENT_SECRET: oidcClient.secret,
    PROVIDER_PARAMETERS: 'prompt=consent',
    SECRET_KEYS: `test:${randomBytes(32).toString('base64')}`,
  }
  instances = await Promise.all([startServer(settings), startServer(settings)])
  system = instances[0] as ServerProcess
  balancer.targets = instances.map(({ origin }) => origin)
  client = await registerPlainClient(system)
})
afterAll(async () => {
  await Promise.all((instances ?? []).map((instance) => instance.close()))
  await id?.close()
  await balancer?.close()
  await postgres?.close()
})

/** Opens a browser that keeps the sign-in at the provider. */
function openBrowser(): Browser {
  const served = new Set([system.baseUrl, id.issuer])
  return createBrowser((request) =>
    served.has(new URL(request.url).origin) ? system.fetch(request) : undefined,
  )
}

async function connect(browser: Browser): Promise<Tokens> {
  const page = await browser.submit(await browser.visit(client.authorizationUrl), 'provider', {
    provider: 'oidc',
  })
  const back = await browser.submit(page, 'login', { login: oidcAccount.sub })
  return (await (await client.redeem(back.url.searchParams.get('code') ?? '')).json()) as Tokens
}

function statuses({ access_token: token }: Tokens): Promise<number[]> {
  return Promise.all(
    instances.map(async ({ origin }) => {
      balancer.targets = [origin]
      return (await postMcp(system, { method: 'ping' }, { authorization: `Bearer ${token}` })).status
    }),
  )
}

describe('a person who signs out at a real OpenID provider', () => {
  it('loses the connections of that sign-in at once, at every instance, and no others', async () => {
    const [browser, other] = [openBrowser(), openBrowser()]
    const [tokens, kept] = [await connect(browser), await connect(other)]
    expect(await statuses(tokens)).toEqual([200, 200])
    const page = await browser.visit(`${id.issuer}/session/end`)
    await browser.submit(page, 'xsrf', { logout: 'yes' })
    // The provider notifies the server before it responds to the browser.
    expect(await statuses(tokens)).toEqual([401, 401])
    expect(await statuses(kept)).toEqual([200, 200])
    const refreshed = await client.refresh(tokens.refresh_token)
    expect(await refreshed.json()).toMatchObject({ error: 'invalid_grant' })
  })
})

describe('the endpoint', () => {
  const send = (token: string): Promise<Response> =>
    postForm(system, '/oauth/backchannel_logout', { logout_token: token })

  const notice = (members: Record<string, unknown>): Promise<string> => {
    const now = Math.floor(Date.now() / 1000)
    const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
    const claims = {
      iss: id.issuer,
      aud: oidcClient.id,
      iat: now,
      exp: now + 120,
      sub: oidcAccount.sub,
      events,
    }
    return id.sign({ ...claims, ...members }, { typ: 'logout+jwt' })
  }

  it('ends all connections of a person once for each notice', async () => {
    const tokens = await connect(openBrowser())
    const token = await notice({ jti: 'one' })
    const answer = await send(token)
    expect([answer.status, answer.headers.get('cache-control'), await answer.text()]).toEqual([
      200,
      'no-store',
      '',
    ])
    expect(await statuses(tokens)).toEqual([401, 401])
    const again = await connect(openBrowser())
    expect((await send(token)).status).toBe(200)
    expect(await statuses(again)).toEqual([200, 200])
  })
})
