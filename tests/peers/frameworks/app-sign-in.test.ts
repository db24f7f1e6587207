import { cpSync, existsSync } from 'node:fs'
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { appJwt } from '../../support/server/app-fixture.ts'
import type { Browser, Visit } from '../../support/server/browser.ts'
import { freePort } from '../../support/server/free-port.ts'
import { findChromium, type RunningChromium, startChromium } from '../../support/server/headless-chromium.ts'
import { skipWithout } from '../../support/find-program.ts'
import { createServerBrowser } from '../../e2e/person.ts'
import {
  callTool,
  type PlainClient,
  registerPlainClient,
  statusOfCall,
  type Tokens,
} from '../../e2e/plain-client.ts'
import { sdkClientNames, sdkClients } from '../../e2e/sdk-client.ts'
import { type ServerProcess, startServer } from '../../e2e/server-process.ts'
import { inEnvironment } from '../python/python-peer.ts'
import { type ServingProcess, startServingProcess } from '../serving-process.ts'

const path = (name: string): string => fileURLToPath(new URL(name, import.meta.url))
const examples = path('../../../examples/app-sign-in')
/** Where the examples find the installed frameworks. */
const folder = path('.environments/app-sign-in')
const password = 'correct horse battery'

const hasFrameworks =
  (existsSync(path('node_modules/installed.json')) &&
    existsSync(inEnvironment('web-apps', 'installed.txt'))) ||
  skipWithout('no web frameworks found: run npm run peers')

/** A web app of the examples, and how a person signs up there. */
interface Framework {
  file: string
  signUp(browser: Browser, appUrl: string, email: string): Promise<Visit>
  close(browser: Browser, appUrl: string): Promise<unknown>
}

const signUpOnPage: Framework['signUp'] = async (browser, appUrl, email) =>
  browser.submit(await browser.visit(`${appUrl}/log-in`), 'sign_up', {
    email,
    password,
    sign_up: 'yes',
    next: '/log-in',
  })

/** Posts the form of a page to another path, with its hidden fields: the examples have no page for it. */
const closeByForm: Framework['close'] = (browser, appUrl) =>
  browser.submit(
    pageWith('<form method="post" action="/close-account"><button name="close"></form>', appUrl),
    'close',
    {},
  )

function pageWith(html: string, appUrl: string): Visit {
  return { url: new URL(appUrl), response: undefined, status: 200, html }
}

const frameworks: Record<string, Framework> = {
  'Express with express-session': { file: 'express.mjs', signUp: signUpOnPage, close: closeByForm },
  Hono: { file: 'hono.mjs', signUp: signUpOnPage, close: closeByForm },
  'better-auth': {
    file: 'better-auth.mjs',
    signUp: async (browser, appUrl, email) =>
      browser.submit(await browser.visit(`${appUrl}/log-in`), 'sign_up', { name: 'Ada', email, password }),
    close: (browser, appUrl) =>
      fetch(`${appUrl}/api/auth/delete-user`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', origin: appUrl, cookie: browser.cookieHeader(appUrl) },
        body: JSON.stringify({ password }),
      }),
  },
  'Auth.js': {
    file: 'auth-js.mjs',
    signUp: async (browser, appUrl, email) =>
      browser.submit(await browser.visit(`${appUrl}/auth/signin`), 'password', {
        email,
        password,
        sign_up: 'yes',
      }),
    close: closeByForm,
  },
  FastAPI: { file: 'fastapi_app.py', signUp: signUpOnPage, close: closeByForm },
  Django: {
    file: 'django_app.py',
    signUp: signUpOnPage,
    async close(browser, appUrl) {
      const { html } = await browser.visit(`${appUrl}/log-in`)
      return browser.submit(pageWith(html.replace('/sign-up', '/close-account'), appUrl), 'sign_up', {})
    },
  },
}

const opened: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const { close } of opened.splice(0).toReversed()) await close()
})

interface World {
  server: ServerProcess
  appUrl: string
  secret: string
  client: PlainClient
  /** Ends the app, with the accounts in its memory. */
  stop(): Promise<void>
  start(): Promise<void>
}

async function startWorld({ file }: Framework): Promise<World> {
  const [port, ownPort] = [await freePort(), await freePort()]
  const appUrl = `http://localhost:${port}`
  const baseUrl = `http://localhost:${ownPort}`
  const secret = randomBytes(32).toString('base64')
  const shared = { SIGN_IN_SECRET: secret, SESSION_URL: `${appUrl}/api/session` }
  const server = await startServer({
    BASE_URL: baseUrl,
    LISTEN: `127.0.0.1:${ownPort}`,
    APP_URL: appUrl,
    PROVIDER: 'app',
    SIGN_IN_URL: `${appUrl}/connect`,
    SESSION_CHECK: '1s',
    SECRET_KEYS: `test:${randomBytes(32).toString('base64')}`,
    ...shared,
  })
  opened.push(server)
  cpSync(examples, folder, { recursive: true })
  const isPython = file.endsWith('.py')
  let app: ServingProcess | undefined
  const world: World = {
    server,
    appUrl,
    secret,
    client: await registerPlainClient(server),
    async start() {
      app = await startServingProcess({
        command: isPython ? inEnvironment('web-apps', 'bin/python') : process.execPath,
        args: [`${folder}/${file}`],
        port,
        environment: {
          PORT: String(port),
          APP_URL: appUrl,
          APP_SECRET: randomBytes(32).toString('base64'),
          DRAWBRIDGE_BASE_URL: baseUrl,
          DRAWBRIDGE_SIGN_IN_SECRET: shared.SIGN_IN_SECRET,
          DRAWBRIDGE_SESSION_URL: shared.SESSION_URL,
        },
      })
    },
    async stop() {
      await app?.close()
      app = undefined
    },
  }
  opened.push({ close: () => world.stop() })
  await world.start()
  return world
}

/** Opens the authorization request in the browser of a person who is signed in, and returns the app's page. */
async function openPage({ client }: World, browser: Browser): Promise<Visit> {
  const page = await browser.visit(client.authorizationUrl)
  expect([page.url.pathname, page.status]).toEqual(['/connect', 200])
  return page
}

async function connect(world: World, browser: Browser): Promise<Tokens> {
  const back = await browser.submit(await openPage(world, browser), 'allow', { allow: 'yes' })
  expect([back.url.origin, back.response]).toEqual(['http://127.0.0.1:4711', undefined])
  const redeemed = await world.client.redeem(back.url.searchParams.get('code') ?? '')
  expect(redeemed.status).toBe(200)
  return (await redeemed.json()) as Tokens
}

describe.runIf(hasFrameworks).each(Object.entries(frameworks))('a web app in %s', (_name, framework) => {
  it('lets its users connect with one click, keeps them connected, and ends it with the account', async () => {
    const world = await startWorld(framework)
    const { server, appUrl, client } = world
    const browser = createServerBrowser(server)
    const away = await browser.visit(client.authorizationUrl)
    expect(away.url.href).toContain(`${appUrl}/`)
    expect(away.url.pathname).not.toBe('/connect')

    await framework.signUp(browser, appUrl, 'ada@example.com')
    const page = await openPage(world, browser)
    expect(page.html).toContain('Plain client')
    expect(page.response?.headers.get('content-security-policy')).toBe("frame-ancestors 'none'")
    const denied = await browser.submit(page, 'allow', { allow: 'no' })
    expect(denied.url.searchParams.get('error')).toBe('access_denied')

    const tokens = await connect(world, browser)
    expect(await callTool(server, tokens.access_token, 'whoami')).toMatch(/^You are \S+/)

    await framework.close(browser, appUrl)
    expect(await statusOfCall(server, tokens.access_token)).toBe(401)
    expect(await server.waitForEvent('provider_logout')).toMatchObject({ grants_ended: 1 })
  })

  it('says at SESSION_URL who may stay connected, to Drawbridge only, and a user it no longer knows is signed out', async () => {
    const world = await startWorld(framework)
    const { server, appUrl, secret } = world
    const browser = createServerBrowser(server)
    await framework.signUp(browser, appUrl, 'ada@example.com')
    const tokens = await connect(world, browser)
    const statusAt = async (bearer?: string): Promise<number> => {
      const headers: Record<string, string> =
        bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }
      return (await fetch(`${appUrl}/api/session?sub=ada`, { headers })).status
    }
    const now = Math.floor(Date.now() / 1000)
    const claims = { aud: `${appUrl}/api/session` }
    expect(await statusAt(appJwt('session', now, claims, { secret }))).toBe(404)
    for (const bearer of [
      undefined,
      'made-up',
      appJwt('session', now, claims, { secret: `${secret}!` }),
      appJwt('session', now, { aud: server.baseUrl }, { secret }),
      appJwt('user', now, claims, { secret }),
      appJwt('session', now - 600, claims, { secret }),
      appJwt('session', now, claims, { secret, header: { alg: 'none' } }),
    ])
      expect(await statusAt(bearer)).toBe(401)

    await setTimeout(1100)
    expect(await statusOfCall(server, tokens.access_token)).toBe(200)
    expect(server.events('provider_probe_failed')).toEqual([])

    // Its accounts are in memory.
    await world.stop()
    await world.start()
    await expect.poll(() => statusOfCall(server, tokens.access_token)).toBe(401)
  })
})

const chromium = findChromium()

describe.runIf(hasFrameworks && chromium !== undefined)('the pages of web apps in Chromium', () => {
  let running: RunningChromium
  beforeAll(async () => {
    running = await startChromium(chromium ?? '')
  })
  afterAll(() => running?.close())

  it.each(Object.entries(frameworks))(
    'a click in %s brings the browser to the client',
    async (_name, framework) => {
      const world = await startWorld(framework)
      const { server, appUrl } = world
      const port = await freePort()
      const listener = createServer((_request, response) => void response.end('Connected.'))
      await new Promise<void>((resolve) => listener.listen(port, '127.0.0.1', resolve))
      opened.push({ close: async () => void listener.close() })
      const returnTo = `http://127.0.0.1:${port}/callback`
      const client = await registerPlainClient(server, 'Chromium client', returnTo)
      const visitor = createServerBrowser(server)
      await framework.signUp(visitor, appUrl, 'ada@example.com')
      const context = await running.browser.createBrowserContext()
      const page = await context.newPage()
      for (const cookie of visitor.cookieHeader(appUrl).split('; ')) {
        const [name = '', ...value] = cookie.split('=')
        await context.setCookie({ name, value: value.join('='), domain: 'localhost', path: '/' })
      }
      await page.goto(client.authorizationUrl.href)
      expect(new URL(page.url()).pathname).toBe('/connect')
      expect(await page.$eval('body', (body) => body.textContent)).toContain('Chromium client')
      await Promise.all([page.waitForNavigation(), page.click('button[value=yes]')])
      expect(page.url()).toContain(`${returnTo}?code=`)
      expect((await client.redeem(new URL(page.url()).searchParams.get('code') ?? '')).status).toBe(200)
      await context.close()
    },
  )
})

describe.runIf(hasFrameworks)('a web app beside attackers and failures', () => {
  it('a JWT that was used before, or is of another type, app or time, signs no one in', async () => {
    const world = await startWorld(frameworks['Hono'] as Framework)
    const { server, appUrl, secret } = world
    const browser = createServerBrowser(server)
    await (frameworks['Hono'] as Framework).signUp(browser, appUrl, 'ada@example.com')
    const post = async (jwt: string): Promise<number> => {
      const page = await openPage(world, browser)
      const response = await server.fetch(`${server.baseUrl}/oauth/app`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${jwt}` },
        body: JSON.stringify({ request: page.url.searchParams.get('request'), allow: true }),
      })
      return response.status
    }
    const now = Math.floor(Date.now() / 1000)
    const aud = { aud: server.baseUrl }
    const good = appJwt('user', now, aud, { secret })
    expect([await post(good), await post(good)]).toEqual([200, 401])
    for (const jwt of [
      appJwt('user', now, aud, { secret: `${secret}!` }),
      appJwt('user', now, { aud: appUrl }, { secret }),
      appJwt('end', now, aud, { secret }),
      appJwt('user', now - 120, aud, { secret }),
    ])
      expect(await post(jwt)).toBe(401)
    expect(await statusOfCall(server, appJwt('user', now, aud, { secret }))).toBe(401)
    await expect.poll(() => server.events('sign_in_failed').length).toBe(5)
  })

  it('clients of both SDKs connect with one click each in an app with better-auth', async () => {
    const world = await startWorld(frameworks['better-auth'] as Framework)
    const { server, appUrl } = world
    const browser = createServerBrowser(server)
    await (frameworks['better-auth'] as Framework).signUp(browser, appUrl, 'ada@example.com')
    for (const name of sdkClientNames) {
      const client = sdkClients[name](server)
      await expect(client.connect()).rejects.toThrow(/unauthorized/i)
      await client.signIn({
        async allow(url) {
          const page = await browser.visit(url)
          expect(page.url.pathname).toBe('/connect')
          return (await browser.submit(page, 'allow', { allow: 'yes' })).url
        },
      })
      await client.connect()
      // The address is not verified, so it is the identity of no one.
      expect((await client.call('whoami')).text).toMatch(/^You are [\w-]{32}\.$/)
      await client.end().catch(() => {})
    }
  })

  it('allowing a request that began in another browser gives no access', async () => {
    const world = await startWorld(frameworks['Hono'] as Framework)
    const { server, appUrl, client } = world
    const [mallory, ada] = [createServerBrowser(server), createServerBrowser(server)]
    await (frameworks['Hono'] as Framework).signUp(ada, appUrl, 'ada@example.com')
    const begun = await mallory.visit(client.authorizationUrl)
    const request = new URLSearchParams(begun.url.search).get('next')?.split('request=')[1] ?? ''
    const page = await ada.visit(`${appUrl}/connect?request=${request}`)
    expect(page.html).toContain('Plain client')
    const misled = await ada.submit(page, 'allow', { allow: 'yes' })
    expect([misled.url.origin, misled.status]).toEqual([server.baseUrl, 400])
    const back = await mallory.visit(misled.url)
    expect([back.url.origin, back.status]).toEqual([server.baseUrl, 400])
    expect(server.events('signed_in')).toEqual([])
  })

  it('connections are served while the app is down, and the log says so', async () => {
    const world = await startWorld(frameworks['Hono'] as Framework)
    const { server, appUrl } = world
    const browser = createServerBrowser(server)
    await (frameworks['Hono'] as Framework).signUp(browser, appUrl, 'ada@example.com')
    const tokens = await connect(world, browser)
    await world.stop()
    await expect
      .poll(async () => {
        const status = await statusOfCall(server, tokens.access_token)
        return [status, server.events('provider_probe_failed').length > 0]
      })
      .toEqual([200, true])
  })
})
