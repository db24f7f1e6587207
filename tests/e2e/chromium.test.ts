import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, Page } from 'puppeteer-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { computeTotp } from '../../server/sandbox/provider/accounts/totp.ts'
import { freePort } from '../support/server/free-port.ts'
import { findChromium, type RunningChromium, startChromium } from '../support/server/headless-chromium.ts'
import { accountCases } from './chromium-account-cases.ts'
import { choiceCases } from './chromium-choice-cases.ts'
import { connectCases } from './chromium-connect-cases.ts'
import { deviceCases } from './chromium-device-cases.ts'
import { signInCases } from './chromium-sign-in-cases.ts'
import { patienceMs } from './phone.ts'
import { postMcp, registerPlainClient } from './plain-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'

const executable = findChromium()
const guide = new URL('../../docs/extension.md', import.meta.url)
const account = { email: 'ada@example.com', password: 'correct horse battery staple' }

let chromium: RunningChromium
let server: ServerProcess
let client: Server
let clientOrigin: string
const codes: string[] = []

// One browser and one server for all, below a path: starting them costs more than most tests.
beforeAll(async () => {
  if (executable === undefined) return
  chromium = await startChromium(executable)
  const port = await freePort()
  server = await startServer({
    BASE_URL: `http://localhost:${port}/tools`,
    LISTEN: `127.0.0.1:${port}`,
    EMAIL_SIGN_IN: 'both',
    SIGN_IN_LIMIT: '1000',
  })
  client = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://127.0.0.1')
    // Chromium requests the icon too.
    if (url.pathname === '/callback') codes.push(url.search)
    const page = '<meta name="viewport" content="width=device-width"><title>Client</title>Back at the client.'
    response.setHeader('content-type', 'text/html').end(page)
  }).listen(0, '127.0.0.1')
  await once(client, 'listening')
  clientOrigin = `http://127.0.0.1:${(client.address() as AddressInfo).port}`
}, patienceMs)
afterAll(async () => {
  await chromium?.close()
  client?.close()
  await server?.close()
})

describe.skipIf(executable === undefined)('in a real browser', { timeout: patienceMs }, () => {
  const browser = (): Browser => chromium.browser
  signInCases(browser, () => ({ server, clientCallback: `${clientOrigin}/callback` }))
  accountCases(browser, () => server)
  deviceCases(browser, () => server)
  connectCases(browser, () => server)
  choiceCases(browser, () => `${clientOrigin}/callback`)

  /** Returns the result of the lines of docs/extension.md, typed into the console of a page of the app. */
  async function tokenByReadme(page: Page): Promise<string> {
    const lines = /```js\n(const chunks.*?)```/s.exec(readFileSync(guide, 'utf8'))?.[1] ?? ''
    return String(await page.evaluate(lines))
  }

  async function openLogin(page: Page, returnTo = `${clientOrigin}/callback`): Promise<void> {
    const { authorizationUrl } = await registerPlainClient(server, 'Client', returnTo)
    await page.goto(authorizationUrl.href)
  }

  it('sign up in the web app; its page calls /mcp with the cookie, and its token works by hand', async () => {
    const page = await chromium.browser.newPage()
    await page.goto(`${server.appUrl}/sign-up`)
    await page.type('input[name=email]', account.email)
    await page.type('input[name=password]', account.password)
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
    expect(new URL(page.url()).pathname).toBe('/notes')

    // As from the console: the page's own policy applies.
    const byCookie = await page.evaluate(
      async (url, body) => {
        const response = await fetch(url, {
          method: 'POST',
          credentials: 'include',
          headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
          body,
        })
        return { status: response.status, text: await response.text() }
      },
      server.mcpUrl,
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    )
    expect(byCookie.status).toBe(200)
    expect(byCookie.text).toContain('"list_notes"')

    const authorization = `Bearer ${await tokenByReadme(page)}`
    const byHand = await postMcp(server, { method: 'tools/list' }, { authorization })
    expect(await byHand.text()).toContain('"list_notes"')
    await page.close()
  })

  it('a Google session, split over several cookies, gives its token the same way', async () => {
    const context = await chromium.browser.createBrowserContext()
    const page = await context.newPage()
    await page.goto(server.appUrl)
    await Promise.all([page.waitForNavigation(), page.click('form[action="/sign-in/google"] button')])
    await Promise.all([page.waitForNavigation(), page.click('button[name=account]')])
    expect((await page.cookies()).map(({ name }) => name)).toContain('sb-localhost-auth-token.1')
    const authorization = `Bearer ${await tokenByReadme(page)}`
    const byHand = await postMcp(server, { method: 'tools/list' }, { authorization })
    expect(await byHand.text()).toContain('"list_notes"')
    await context.close()
  })

  it('Google with a second factor: its page comes in between, and from there straight to the client', async () => {
    const context = await chromium.browser.createBrowserContext()
    const page = await context.newPage()
    const second = 'button[name=account] + button[name=account]:not([value=deny])'
    await page.goto(server.appUrl)
    await Promise.all([page.waitForNavigation(), page.click('form[action="/sign-in/google"] button')])
    await Promise.all([page.waitForNavigation(), page.click(second)])
    const secret = await enrollTotp(server, await tokenByReadme(page))

    await openLogin(page)
    await Promise.all([page.waitForNavigation(), page.click('button[value=google]')])
    await Promise.all([page.waitForNavigation(), page.click(second)])
    expect(page.url()).toMatch(new RegExp(`^${server.baseUrl}/oauth/callback`))
    // The field has the focus: typing and Enter suffice.
    await page.waitForFunction(`document.activeElement.name === 'code'`)
    await page.keyboard.type(computeTotp(secret, Math.floor(Date.now() / 1000)))
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
    expect(page.url()).toMatch(new RegExp(`^${clientOrigin}/callback\\?code=`))
    expect(new URL(page.url()).search).toBe(codes.at(-1))
    await context.close()
  })

  it('a private-use scheme ends on the page that says so', async () => {
    const page = await chromium.browser.newPage()
    await openLogin(page, 'cursor://anysphere.cursor-mcp/oauth/callback')
    await page.type('input[name=email]', account.email)
    await page.type('input[name=password]', account.password)
    await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')])
    expect(await page.$eval('a[href^="cursor:"]', (link) => link.getAttribute('href'))).toContain('code=')
    await page.close()
  })

  it('RFC 9700 4.16: the login page does not load inside a frame of another page', async () => {
    const page = await chromium.browser.newPage()
    await openLogin(page)
    const login = page.url()
    await page.goto(`${clientOrigin}/`)
    await page.setContent(`<iframe src="${login.replaceAll('&', '&amp;')}"></iframe>`, { waitUntil: 'load' })
    const framed = page.frames().find((frame) => frame !== page.mainFrame())
    expect(framed?.url()).toMatch(/^chrome-error:/)
    await page.close()
  })
})

/** Enables a second factor at the auth API, as a web app does; returns its base32 secret. */
async function enrollTotp(server: ServerProcess, accessToken: string): Promise<string> {
  const post = async <Answer>(path: string, body: unknown): Promise<Answer> => {
    const response = await fetch(`${server.appUrl}/auth/v1/factors${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${accessToken}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`/factors${path} answered ${response.status}.`)
    return (await response.json()) as Answer
  }
  type Enrolled = { id: string; totp: { secret: string } }
  const { id, totp } = await post<Enrolled>('', { factor_type: 'totp', friendly_name: 'Phone' })
  const challenge = await post<{ id: string }>(`/${id}/challenge`, {})
  const code = computeTotp(totp.secret, Math.floor(Date.now() / 1000))
  await post(`/${id}/verify`, { challenge_id: challenge.id, code })
  return totp.secret
}
