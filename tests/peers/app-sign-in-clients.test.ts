import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createServerBrowser } from '../e2e/person.ts'
import { type ServerProcess, startServer } from '../e2e/server-process.ts'
import { appJwt } from '../support/server/app-fixture.ts'
import { freePort } from '../support/server/free-port.ts'
import { buildGoServer } from '../support/bridge/process/go-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { startGoClient } from './go-client.ts'
import { hasPythonPeers, type PythonPeer, type PythonRun, runPythonClient } from './python/python-peer.ts'

const email = 'ada@example.com'
const aheadSeconds = 2 * 3600

/** A server whose SIGN_IN_URL is a page of the app, and a person who is signed in there. */
interface World {
  server: ServerProcess
  /** Paths of the pages where requests ended that were answered. */
  pages: string[]
  /** Answers an authorization request on the page of the app with one click. */
  answer(authorizationUrl: URL, isAllowed: boolean): Promise<URL>
}

/** The demo app, which hands over a session of its provider. */
async function startDemoApp(): Promise<World> {
  const appUrl = `http://localhost:${await freePort()}`
  const server = await startServer({ APP_URL: appUrl, SIGN_IN_URL: `${appUrl}/connect` })
  const browser = createServerBrowser(server)
  const password = 'correct horse battery'
  await browser.submit(await browser.visit(`${appUrl}/sign-up`), 'password', { email, password })
  const pages: string[] = []
  return {
    server,
    pages,
    async answer(authorizationUrl, isAllowed) {
      const page = await browser.visit(authorizationUrl)
      pages.push(page.url.pathname)
      return (await browser.submit(page, 'answer', { answer: isAllowed ? 'allow' : 'deny' })).url
    },
  }
}

/** An app with sessions of its own, reduced to the one JWT that its server signs at a click. */
async function startOwnApp(): Promise<World> {
  const appUrl = `http://localhost:${await freePort()}`
  const secret = randomBytes(32).toString('base64')
  const server = await startServer({
    APP_URL: appUrl,
    PROVIDER: 'app',
    SIGN_IN_URL: `${appUrl}/connect`,
    SIGN_IN_SECRET: secret,
    SECRET_KEYS: `test:${randomBytes(32).toString('base64')}`,
  })
  const browser = createServerBrowser({ ...server, appUrl: server.baseUrl })
  const pages: string[] = []
  return {
    server,
    pages,
    async answer(authorizationUrl, isAllowed) {
      const { url } = await browser.visit(authorizationUrl)
      pages.push(url.pathname)
      const who = { aud: server.baseUrl, email, email_verified: true }
      const bearer = appJwt('user', Math.floor(Date.now() / 1000), who, { secret })
      const response = await server.fetch(`${server.baseUrl}/oauth/app`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${bearer}` },
        body: JSON.stringify({ request: url.searchParams.get('request'), allow: isAllowed }),
      })
      const { redirect_to: next } = (await response.json()) as { redirect_to: string }
      return (await browser.visit(next)).url
    },
  }
}

const pythonPeers: [name: string, peer: PythonPeer][] = [
  ['mcp 1', { line: 'mcp-1', library: 'mcp' }],
  ['fastmcp 3', { line: 'mcp-1', library: 'fastmcp' }],
  ['mcp 2', { line: 'mcp-2', library: 'mcp' }],
  ['fastmcp 4', { line: 'mcp-2', library: 'fastmcp' }],
]
const denial = { code: null, error: 'access_denied' }
const outcome = ({ searchParams }: URL): object => ({
  code: searchParams.get('code'),
  error: searchParams.get('error'),
})

const hasPython = hasPythonPeers()
const hasGo = await buildGoServer()

describe.each([
  ['the demo app', startDemoApp],
  ['an app with PROVIDER=app', startOwnApp],
])('sign-in in %s', { timeout: 120_000 }, (app, start) => {
  let world: World
  const folder = temporaryFolder(afterAll)
  beforeAll(async () => {
    world = await start()
  })
  afterAll(() => world?.server.close())

  const refreshed = (): number =>
    world.server.events('token_issued').filter(({ grant_type: type }) => type === 'refresh_token').length

  const runPython = (name: string, peer: PythonPeer, run: Partial<PythonRun>) => {
    const own = join(folder, name)
    mkdirSync(own, { recursive: true })
    return runPythonClient(peer, { url: world.server.mcpUrl, folder: own, ...run })
  }

  it.skipIf(!hasPython).each(pythonPeers)(
    `the Python client %s connects by one click in ${app}, and goes on after a restart`,
    async (name, peer) => {
      const before = world.pages.length
      const signIn = (url: URL): Promise<URL> => world.answer(url, true)
      const both = await runPython(name, peer, { runs: 2, signIn })
      expect(both).toEqual({ signIns: 1, texts: Array(2).fill(`You are ${email}.`), failures: [] })
      expect(world.pages.slice(before)).toEqual(['/connect'])
    },
  )

  it.skipIf(!hasPython).each(pythonPeers)(
    `the Python client %s is told of a denial in ${app}, and does not ask again`,
    async (name, peer) => {
      const denials: URL[] = []
      const signIn = async (url: URL): Promise<URL> => {
        const back = await world.answer(url, false)
        denials.push(back)
        return back
      }
      const denied = await runPython(`${name}, denied`, peer, { signIn })
      expect([denied.signIns, denied.texts, denied.failures.length > 0]).toEqual([1, [], true])
      expect(denials.map(outcome)).toEqual([denial])
    },
  )

  it.skipIf(!hasGo)(`the Go SDK connects by one click in ${app}, and calls as its user`, async () => {
    const before = world.pages.length
    const client = startGoClient(world.server.mcpUrl, { allow: (url) => world.answer(url, true) })
    try {
      const said = { text: `You are ${email}.` }
      expect(await client.call('whoami')).toEqual({ signIns: 1, ...said })
      expect(await client.call('whoami')).toEqual({ signIns: 0, ...said })
      expect(world.pages.slice(before)).toEqual(['/connect'])
    } finally {
      await client.close()
    }
  })

  it.skipIf(!hasGo)(`the Go SDK is told of a denial in ${app}, and gets no code`, async () => {
    const denials: URL[] = []
    const allow = async (url: URL): Promise<URL> => {
      const back = await world.answer(url, false)
      denials.push(back)
      return back
    }
    const client = startGoClient(world.server.mcpUrl, { allow })
    try {
      const { signIns, failed } = await client.call('whoami')
      expect(failed).toContain('access_denied')
      // The library asks once for each revision that it tries.
      expect(signIns).toBeLessThanOrEqual(2)
      expect(denials.map(outcome)).toEqual(Array.from({ length: signIns }, () => denial))
    } finally {
      await client.close()
    }
  })

  it.skipIf(!hasPython)(
    `Python clients connected in ${app} refresh without a sign-in at expiry`,
    async () => {
      const { server } = world
      expect(await server.kill('SIGTERM')).toEqual({ code: 0, signal: null })
      await server.start({ aheadSeconds })
      const before = refreshed()
      for (const [name, peer] of pythonPeers) {
        const later = await runPython(name, peer, { aheadSeconds })
        expect(later).toEqual({ signIns: 0, texts: [`You are ${email}.`], failures: [] })
      }
      await expect.poll(refreshed).toBe(before + pythonPeers.length)
    },
  )
})
