import { jwtVerify } from 'jose'
import { writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, describe, expect, it } from 'vitest'
import {
  ada,
  appJwt,
  appSecret,
  type AppFixture,
  sessionUrl,
  startAppFixture,
} from '../../../tests/support/server/app-fixture.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { createLoginFixture, type LoginFixture } from '../../../tests/support/server/login-fixture.ts'
import { startDrawbridge } from '../../../tests/support/server/drawbridge-fixture.ts'
import { temporaryFolder } from '../../../tests/support/temporary-folder.ts'
import { createAppProvider } from './app.ts'
import type { Settings } from '../../config/setting-table.ts'
import type { ToolModule } from '../../mcp/tools/tool-module.ts'

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const { close } of opened.splice(0)) await close()
})

async function start(
  settings?: Settings,
  ...rest: [tools?: ToolModule, onFetch?: (request: Request) => Promise<Response>]
) {
  const fixture = await startAppFixture(settings, ...rest)
  opened.push(fixture.server)
  return fixture
}

const checked = { sessionUrl, sessionCheck: '5m' } as const

function end({ server }: AppFixture, jwt: string | undefined): Promise<Response> {
  const headers: Record<string, string> = jwt === undefined ? {} : { authorization: `Bearer ${jwt}` }
  return server.fetch('/oauth/app/end', { method: 'POST', headers })
}

describe('a connection of a user of the web app', () => {
  it('a connection lasts for SESSION_TTL without a question to the app, where SESSION_URL is not set', async () => {
    const app = await start({ sessionTtl: '90d' })
    const { clientId, tokens } = await app.connect({ ...ada, token: 'app-token', expires_in: 60 })
    let { access_token: token, refresh_token: refresh } = tokens
    for (let day = 0; day < 89; day += 1) {
      app.runtime.advance(86_400)
      const refreshed = await app.server.refresh(clientId, refresh)
      ;({ access_token: token, refresh_token: refresh } = (await refreshed.json()) as typeof tokens)
      expect(await app.call(token)).toBe(200)
    }
    app.runtime.advance(86_401)
    expect((await app.server.refresh(clientId, refresh)).status).toBe(400)
    expect(app.asked).toEqual([])
  })

  it('tells tools who it is, and calls the API of the app with its token and the names of the client', async () => {
    const calls: Request[] = []
    const tools: ToolModule = {
      tools: [
        {
          name: 'who',
          async call(_input, context) {
            await context.fetch('/api/notes')
            return JSON.stringify(context.user)
          },
        },
      ],
    }
    const onFetch = async (request: Request): Promise<Response> => {
      calls.push(request)
      return new Response('[]')
    }
    const app = await start({}, tools, onFetch)
    const [withToken, without] = [await app.connect({ ...ada, token: 'app-token' }), await app.connect()]
    for (const { tokens } of [withToken, without])
      expect(JSON.parse((await app.server.callTool(tokens.access_token, 'who')).text)).toEqual({
        id: 'http://localhost:8788#ada',
        sub: 'ada',
        email: ada.email,
        emailVerified: true,
        name: 'Ada',
      })
    expect(
      calls.map(({ url, headers }) => [
        url,
        headers.get('authorization'),
        headers.get('drawbridge-client'),
        headers.get('drawbridge-scope'),
      ]),
    ).toEqual([
      ['http://localhost:8788/api/notes', 'Bearer app-token', withToken.clientId, 'mcp'],
      ['http://localhost:8788/api/notes', null, without.clientId, 'mcp'],
    ])
  })

  it('its owner sees and ends it on the connections page, after a click in the app', async () => {
    const app = await start()
    const { tokens } = await app.connect()
    const browser = app.server.browser()
    const { url } = await browser.visit('http://localhost:8787/account/connections')
    const request = url.searchParams.get('request') ?? ''
    expect(`${url.origin}${url.pathname}`).toBe('http://localhost:8788/connect')
    const answered = await app.allow(request, appJwt('user', app.runtime.now(), ada))
    const { redirect_to: back } = (await answered.json()) as { redirect_to: string }
    const page = await browser.visit(back)
    expect([page.url.pathname, page.html.includes('Test client')]).toEqual(['/account/connections', true])
    expect(await app.call(tokens.access_token)).toBe(200)
  })

  it('no JWT of the app is a credential at /mcp', async () => {
    const app = await start(checked)
    for (const kind of ['user', 'session', 'end'] as const)
      expect(await app.call(appJwt(kind, app.runtime.now()))).toBe(401)
  })

  it('a proof is used once, over all instances of a store', async () => {
    const settings = {
      issuer: 'http://localhost:8788',
      baseUrl: 'http://localhost:8787',
      secret: appSecret,
      sessionUrl: undefined,
    }
    const runtime = createFakeRuntime()
    const create = (beside?: LoginFixture) =>
      createLoginFixture(createAppProvider(settings, beside?.runtime ?? runtime), {
        signInUrl: 'http://localhost:8788/connect',
        ...(beside && { beside }),
      })
    const one = await create()
    const other = await create(one)
    const allow = async (at: LoginFixture, jwt: string): Promise<number> => {
      const { url } = await at.browser().visit(at.authorizeUrl())
      const request = url.searchParams.get('request')
      const answer = await at.fetch(
        new Request('http://localhost:8787/oauth/app', {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${jwt}` },
          body: JSON.stringify({ request, allow: true }),
        }),
      )
      return answer.status
    }
    const jwt = appJwt('user', runtime.now(), ada)
    expect([await allow(one, jwt), await allow(one, jwt), await allow(other, jwt)]).toEqual([200, 401, 401])
    // Until no clock takes it any more.
    one.runtime.advance(89)
    expect(await allow(other, jwt)).toBe(401)
    expect(await allow(other, appJwt('user', one.runtime.now(), ada))).toBe(200)
  })

  it('a proof that is refused leaves its rule in the log, and no secret', async () => {
    const app = await start()
    const { client_id: clientId } = await app.server.register()
    const jwt = appJwt('user', app.runtime.now(), { aud: 'https://other.example.com' })
    const refused = await app.allow(await app.begin(clientId), jwt)
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([
      401,
      'Bearer error="invalid_token"',
    ])
    expect(app.server.events('sign_in_failed')).toMatchObject([
      { message: expect.stringMatching(/"aud".*for http:\/\/localhost:8787\./) as string },
    ])
    for (const part of [jwt, appSecret]) expect(app.server.logged()).not.toContain(part)
  })

  it('a browser that did not begin cannot finish, and neither can the one that began, later', async () => {
    const app = await start()
    const { client_id: clientId } = await app.server.register()
    const [mallory, victim] = [app.server.browser(), app.server.browser()]
    const request = await app.begin(clientId, mallory)
    const answered = await app.allow(request, appJwt('user', app.runtime.now(), ada))
    const { redirect_to: back } = (await answered.json()) as { redirect_to: string }
    const inVictim = await victim.visit(new URL(back))
    expect(inVictim.url.searchParams.has('code') && inVictim.url.port === '4711').toBe(false)
    const inMallory = await mallory.visit(new URL(back))
    expect(inMallory.url.port).not.toBe('4711')
  })

  it("an attacker's own return does not sign another browser in (login CSRF)", async () => {
    const app = await start()
    const { client_id: clientId } = await app.server.register()
    const mallory = app.server.browser()
    const answered = await app.allow(
      await app.begin(clientId, mallory),
      appJwt('user', app.runtime.now(), { sub: 'mallory' }),
    )
    const { redirect_to: back } = (await answered.json()) as { redirect_to: string }
    const victim = app.server.browser()
    await app.begin(clientId, victim)
    const { url } = await victim.visit(new URL(back))
    expect(url.port).not.toBe('4711')
  })
})

describe('SESSION_URL', () => {
  const stays = (more: object = {}) => Response.json({ sub: 'ada', ...ada, ...more })

  it('is asked every SESSION_CHECK with a signed request, and not more often', async () => {
    const app = await start({ ...checked, sessionUrl: `${sessionUrl}?tenant=7` })
    app.answerWith(() => stays())
    const { tokens } = await app.connect()
    expect(await app.call(tokens.access_token)).toBe(200)
    expect(app.asked).toHaveLength(0)
    for (let count = 1; count <= 3; count += 1) {
      app.runtime.advance(301)
      expect([await app.call(tokens.access_token), await app.call(tokens.access_token)]).toEqual([200, 200])
      expect(app.asked).toHaveLength(count)
    }
    const [request] = app.asked
    expect(request?.url).toBe(`${sessionUrl}?tenant=7&sub=ada`)
    const [, jwt = ''] = request?.headers.get('authorization')?.split(' ') ?? []
    const { payload, protectedHeader } = await jwtVerify(jwt, new TextEncoder().encode(appSecret), {
      currentDate: new Date(app.runtime.now() * 1000 - 602_000),
    })
    expect(protectedHeader).toEqual({ alg: 'HS256', typ: 'drawbridge-session+jwt' })
    expect(Object.keys(payload).sort()).toEqual(['aud', 'exp', 'iat', 'jti', 'sub'])
    expect(payload).toMatchObject({ aud: sessionUrl, sub: 'ada' })
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(60)
    const ids = app.asked.map(({ headers }) => headers.get('authorization'))
    expect(new Set(ids).size).toBe(3)
  })

  it('404 ends the connection at the next check, for its client as for its refresh token', async () => {
    const app = await start(checked)
    app.answerWith(() => new Response('gone', { status: 404 }))
    const { clientId, tokens } = await app.connect()
    app.runtime.advance(301)
    expect(await app.call(tokens.access_token)).toBe(401)
    expect((await app.server.refresh(clientId, tokens.refresh_token)).status).toBe(400)
    expect(app.server.events('provider_session_ended')).toHaveLength(1)
  })

  it.each<[what: string, answer: () => Response | undefined]>([
    ['nothing', () => undefined],
    ['400', () => new Response(null, { status: 400 })],
    ['401', () => new Response(null, { status: 401 })],
    ['403', () => new Response(null, { status: 403 })],
    ['410', () => new Response(null, { status: 410 })],
    ['429', () => new Response(null, { status: 429, headers: { 'retry-after': '90' } })],
    ['500', () => new Response('404', { status: 500 })],
    ['503', () => new Response(null, { status: 503 })],
    ['204', () => new Response(null, { status: 204 })],
    ['a redirect', () => Response.redirect('http://localhost:8788/login', 302)],
    ['a page', () => new Response('<!doctype html><title>Sign in</title>')],
    ['nothing that is JSON', () => new Response('')],
    ['a list', () => Response.json([])],
    ['null', () => Response.json(null)],
    ['no user', () => Response.json({ email: 'ada@example.com' })],
    ['another user', () => Response.json({ sub: 'eve' })],
    ['a number as user', () => Response.json({ sub: 7 })],
    ['claims that are no object', () => stays({ claims: 'admin' })],
    ['a token that is no header', () => stays({ token: 'a b' })],
    ['more than a megabyte', () => stays({ claims: { text: 'x'.repeat(1_000_001) } })],
    [
      'a body that breaks off',
      () => new Response(new ReadableStream({ pull: (to) => to.error(new Error('reset')) })),
    ],
  ])('an answer with %s ends nothing: calls are served, and the log says why', async (_what, answer) => {
    const app = await start(checked)
    app.answerWith(answer)
    const { tokens } = await app.connect()
    for (let hour = 0; hour < 5; hour += 1) {
      app.runtime.advance(600)
      expect(await app.call(tokens.access_token)).toBe(200)
    }
    expect(app.asked.length).toBeGreaterThanOrEqual(5)
    expect(app.server.events('provider_probe_failed').length).toBeGreaterThan(0)
    expect(app.server.logged()).not.toContain(appSecret)
  })

  it.each<[what: string, answer: () => Response]>([
    [
      'a byte order mark and no content type',
      () => new Response(`\uFEFF${JSON.stringify({ sub: 'ada', ...ada })}`),
    ],
    [
      'a content type of its own',
      () =>
        new Response(JSON.stringify({ sub: 'ada', ...ada }), { headers: { 'content-type': 'text/html' } }),
    ],
    ['members of its own', () => stays({ plan: 'pro' })],
    [
      'other order',
      () =>
        Response.json({
          claims: ada.claims,
          name: 'Ada',
          email_verified: true,
          email: ada.email,
          sub: 'ada',
        }),
    ],
  ])('an answer with %s is taken', async (_what, answer) => {
    const app = await start(checked)
    app.answerWith(answer)
    const { tokens } = await app.connect()
    app.runtime.advance(301)
    expect(await app.call(tokens.access_token)).toBe(200)
    expect(app.server.events('provider_probe_failed')).toEqual([])
    expect(app.server.events('provider_refreshed')).toEqual([])
  })

  const who: ToolModule = {
    tools: [
      {
        name: 'who',
        call: (_input, context) => JSON.stringify({ ...context.user, token: context.providerToken() }),
      },
    ],
  }
  const whoIs = async (app: AppFixture, token: string) =>
    JSON.parse((await app.server.callTool(token, 'who')).text) as Record<string, unknown>

  it('what it says replaces what was known, in one request, and stays known in the store', async () => {
    const app = await start(checked, who)
    const { tokens } = await app.connect({ ...ada, token: 'first' })
    app.answerWith(() =>
      stays({ name: 'Ada L.', email: 'ada@new.example', token: 'second', expires_in: 3600 }),
    )
    expect(await whoIs(app, tokens.access_token)).toMatchObject({ name: 'Ada', token: 'first' })
    app.runtime.advance(301)
    const changed = { name: 'Ada L.', email: 'ada@new.example', token: 'second' }
    expect(await whoIs(app, tokens.access_token)).toMatchObject(changed)
    expect(app.asked).toHaveLength(1)
    app.answerWith(() => undefined)
    app.runtime.advance(301)
    expect(await whoIs(app, tokens.access_token)).toMatchObject(changed)
  })

  it('a new token for every request costs one request a check, and each is stored before it is used', async () => {
    const app = await start(checked, who)
    app.answerWith(() => stays({ token: `token-${app.asked.length}` }))
    const { tokens } = await app.connect({ ...ada, token: 'first' })
    for (let count = 1; count <= 3; count += 1) {
      app.runtime.advance(301)
      expect(await whoIs(app, tokens.access_token)).toMatchObject({ token: `token-${count}` })
      expect(app.asked).toHaveLength(count)
    }
  })

  it('a token is replaced before its expires_in runs out, however long SESSION_CHECK is', async () => {
    const app = await start({ ...checked, sessionCheck: '1d' }, who)
    app.answerWith(() => stays({ token: `token-${app.asked.length}`, expires_in: 600 }))
    const { tokens } = await app.connect({ ...ada, token: 'first', expires_in: 600 })
    app.runtime.advance(590)
    expect(await whoIs(app, tokens.access_token)).toMatchObject({ token: 'token-1' })
    app.runtime.advance(590)
    expect(await whoIs(app, tokens.access_token)).toMatchObject({ token: 'token-2' })
  })

  it('a token that has run out while the app is down is not used: 503, and 200 once the app is back', async () => {
    const app = await start(checked, who)
    const { tokens } = await app.connect({ ...ada, token: 'first', expires_in: 600 })
    app.runtime.advance(601)
    expect(await app.call(tokens.access_token)).toBe(503)
    app.answerWith(() => stays({ token: 'second', expires_in: 600 }))
    app.runtime.advance(60)
    expect(await whoIs(app, tokens.access_token)).toMatchObject({ token: 'second' })
  })

  it('404 to a token that has run out ends the connection', async () => {
    const app = await start({ ...checked, sessionCheck: '1d' })
    app.answerWith(() => new Response(null, { status: 404 }))
    const { tokens } = await app.connect({ ...ada, token: 'first', expires_in: 600 })
    app.runtime.advance(601)
    expect(await app.call(tokens.access_token)).toBe(401)
  })

  it('access rules decide by the claims of the last answer', async () => {
    const rules = { rules: [{ allow: { claim: { role: ['editor'] } } }] }
    const folder = temporaryFolder()
    const access = join(folder, 'access.json')
    writeFileSync(access, JSON.stringify(rules))
    const app = await start({ ...checked, access })
    const { tokens } = await app.connect()
    expect(await app.call(tokens.access_token)).toBe(200)
    app.answerWith(() => stays({ claims: { role: 'guest' } }))
    app.runtime.advance(301)
    expect(await app.call(tokens.access_token)).toBe(401)
    expect(app.server.events('grant_ended')).toMatchObject([{ reason: 'access_rule' }])
  })

  it('is not asked where SESSION_CHECK is off', async () => {
    const app = await start({ ...checked, sessionCheck: 'off' })
    const { tokens } = await app.connect()
    app.runtime.advance(3000)
    expect([await app.call(tokens.access_token), app.asked.length]).toEqual([200, 0])
  })
})

describe('POST /oauth/app/end', () => {
  it('ends all connections of the user at once, and no others', async () => {
    const app = await start()
    const [one, two, eve] = [await app.connect(), await app.connect(), await app.connect({ sub: 'eve' })]
    const answer = await end(app, appJwt('end', app.runtime.now()))
    expect([answer.status, await answer.text()]).toEqual([204, ''])
    const statuses = [one, two, eve].map(({ tokens }) => app.call(tokens.access_token))
    expect(await Promise.all(statuses)).toEqual([401, 401, 200])
    expect(app.server.events('provider_logout')).toMatchObject([{ sub: 'ada', grants_ended: 2 }])
    const again = await app.connect()
    expect(await app.call(again.tokens.access_token)).toBe(200)
  })

  it('counts once: sent again, it does not end what began after it', async () => {
    const app = await start()
    const jwt = appJwt('end', app.runtime.now())
    expect((await end(app, jwt)).status).toBe(204)
    const { tokens } = await app.connect()
    expect((await end(app, jwt)).status).toBe(204)
    expect(await app.call(tokens.access_token)).toBe(200)
  })

  it('is 204 for a user without connections', async () => {
    const app = await start()
    expect((await end(app, appJwt('end', app.runtime.now(), { sub: 'nobody' }))).status).toBe(204)
  })

  it.each<[what: string, jwt: (now: number) => string | undefined]>([
    ['nothing', () => undefined],
    ['the proof of a user', (now) => appJwt('user', now)],
    ['a question of this server', (now) => appJwt('session', now)],
    ['a JWT by another secret', (now) => appJwt('end', now, {}, { secret: 'x'.repeat(32) })],
    ['a JWT of yesterday', (now) => appJwt('end', now - 86_400)],
    ['a JWT for 61 seconds', (now) => appJwt('end', now, { exp: now + 61 })],
    ['a JWT for another server', (now) => appJwt('end', now, { aud: 'https://other.example.com' })],
    ['a JWT without an id', (now) => appJwt('end', now, { jti: undefined })],
    ['a JWT without a user', (now) => appJwt('end', now, { sub: undefined })],
  ])('%s ends nothing: 401, and the log says why', async (_what, jwt) => {
    const app = await start()
    const { tokens } = await app.connect()
    const answer = await end(app, jwt(app.runtime.now()))
    expect(answer.status).toBe(401)
    expect(await answer.json()).toMatchObject({ error: 'invalid_token' })
    expect(await app.call(tokens.access_token)).toBe(200)
    expect(app.server.events('provider_logout_refused')).toHaveLength(1)
  })

  it('other providers have no such endpoint, and this one no back-channel logout', async () => {
    const embedded = await startDrawbridge()
    opened.push(embedded)
    expect((await embedded.fetch('/oauth/app/end', { method: 'POST' })).status).toBe(404)
    const app = await start()
    expect((await app.server.postForm('/oauth/backchannel_logout', { logout_token: 'x' })).status).toBe(404)
  })
})

describe('the API of connections for the web app', () => {
  const path = '/account/api/connections'
  const as = (jwt: string) => ({ headers: { authorization: `Bearer ${jwt}` } })

  it('takes the proof of a user, any number of times while it is valid, and shows their connections only', async () => {
    const app = await start({ sessionTokens: 'off' })
    await app.connect()
    await app.connect({ sub: 'eve' })
    const jwt = appJwt('user', app.runtime.now(), ada)
    const ids: string[] = []
    for (let count = 0; count < 2; count += 1) {
      const answer = await app.server.fetch(path, as(jwt))
      const { connections } = (await answer.json()) as { connections: { id: string }[] }
      expect([answer.status, connections.length]).toEqual([200, 1])
      ids.push(connections[0]?.id ?? '')
    }
    const theirs = appJwt('user', app.runtime.now(), { sub: 'eve' })
    expect((await app.server.fetch(`${path}/${ids[0]}`, { method: 'DELETE', ...as(theirs) })).status).toBe(
      404,
    )
    expect((await app.server.fetch(`${path}/${ids[0]}`, { method: 'DELETE', ...as(jwt) })).status).toBe(204)
    app.runtime.advance(91)
    expect((await app.server.fetch(path, as(jwt))).status).toBe(401)
  })

  it('refuses every other JWT, a token of a client, and nothing', async () => {
    const app = await start()
    const { tokens } = await app.connect()
    const now = app.runtime.now()
    for (const bearer of [appJwt('end', now), appJwt('session', now), tokens.access_token, 'made-up'])
      expect((await app.server.fetch(path, as(bearer))).status).toBe(401)
    expect((await app.server.fetch(path)).status).toBe(401)
  })

  it('refuses a user whom the access rules do not let in', async () => {
    const access = join(temporaryFolder(), 'access.json')
    writeFileSync(access, JSON.stringify({ rules: [{ allow: { claim: { role: ['editor'] } } }] }))
    const app = await start({ access })
    const jwt = appJwt('user', app.runtime.now(), { ...ada, claims: { role: 'guest' } })
    expect((await app.server.fetch(path, as(jwt))).status).toBe(403)
  })
})

describe('SESSION_URL at a real server', () => {
  async function startReal(answer: RequestListener): Promise<{ app: AppFixture; token: string }> {
    const server = createServer(answer)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    opened.push({ close: async () => void server.close() })
    const { port } = server.address() as AddressInfo
    const app = await start(checked)
    app.answerWith((request) => fetch(new Request(`http://127.0.0.1:${port}/`, request)))
    const { tokens } = await app.connect()
    app.runtime.advance(301)
    return { app, token: tokens.access_token }
  }

  it('is read when it compresses its answer', async () => {
    const body = gzipSync(JSON.stringify({ sub: 'ada', ...ada, name: 'Zip' }))
    const { app, token } = await startReal((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip', 'content-type': 'application/json' })
      response.end(body)
    })
    expect(await app.call(token)).toBe(200)
    expect(app.server.events('provider_refreshed')).toHaveLength(1)
  })

  it('is not followed to another page, whose 404 would end the connection', async () => {
    const urls: (string | undefined)[] = []
    const { app, token } = await startReal(({ url }, response) => {
      urls.push(url)
      response.writeHead(url === '/' ? 302 : 404, { location: '/gone' })
      response.end()
    })
    expect(await app.call(token)).toBe(200)
    expect(urls).toEqual(['/'])
  })
})
