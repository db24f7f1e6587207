import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { freePort } from '../support/server/free-port.ts'
import { findChromium, type RunningChromium, startChromium } from '../support/server/headless-chromium.ts'
import { openPhone, patienceMs } from './phone.ts'
import { callTool, registerPlainClient } from './plain-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'

const executable = findChromium()
const account = { email: 'ada@example.com', password: 'correct horse battery staple' }

let chromium: RunningChromium
let server: ServerProcess
let client: Server
let callback: string

// The trial with sign-in in its demo app, as docs/supabase.md says to try it; app and server are two sites for the browser.
beforeAll(async () => {
  if (executable === undefined) return
  chromium = await startChromium(executable)
  const appUrl = `http://localhost:${await freePort()}`
  const host = `127.0.0.1:${await freePort()}`
  server = await startServer({
    BASE_URL: `http://${host}`,
    LISTEN: host,
    APP_URL: appUrl,
    SIGN_IN_URL: `${appUrl}/connect`,
  })
  client = createServer((_request, response) => {
    const page = '<meta name="viewport" content="width=device-width"><title>Client</title>Back at the client.'
    response.setHeader('content-type', 'text/html').end(page)
  }).listen(0, '127.0.0.1')
  await once(client, 'listening')
  callback = `http://127.0.0.1:${(client.address() as AddressInfo).port}/callback`
}, patienceMs)
afterAll(async () => {
  await chromium?.close()
  client?.close()
  await server?.close()
})

describe.skipIf(executable === undefined)(
  'sign-in in the demo app, in Chromium',
  { timeout: patienceMs },
  () => {
    it.each([true, false])(
      'connects a client with one click by keyboard, with scripts: %s, after signing in there once',
      async (scripts) => {
        const phone = await openPhone(chromium.browser, { scripts })
        const { page } = phone
        const codeOf = (): string => new URL(page.url()).searchParams.get('code') ?? ''
        const email = scripts ? account.email : `noscript-${account.email}`
        const first = await registerPlainClient(server, 'First client', callback)
        await phone.open(first.authorizationUrl.href)
        await phone.open(`${server.appUrl}/sign-up`)
        await phone.tabTo('input[name=email]')
        await phone.insert(email)
        await phone.tabTo('input[name=password]')
        await phone.insert(account.password)
        await phone.enter()
        expect(new URL(page.url()).pathname).toBe('/connect')
        expect(await page.content()).toContain('First client')
        await phone.tabTo('button[value=allow]')
        await phone.enter()
        expect(await page.title()).toBe('Client')
        const redeemed = await first.redeem(codeOf())
        const { access_token: token } = (await redeemed.json()) as { access_token: string }
        await callTool(server, token, 'add_note', { text: 'by the first client' })

        const second = await registerPlainClient(server, 'Second client', callback)
        await phone.open(second.authorizationUrl.href)
        expect(await page.content()).toContain('Second client')
        // Two tabs of one browser: each comes back for itself.
        const tab = await page.browserContext().newPage()
        await tab.goto(second.authorizationUrl.href)
        await phone.tabTo('button[value=allow]')
        await phone.enter()
        expect(codeOf()).not.toBe('')
        await Promise.all([tab.waitForNavigation(), tab.click('button[value=allow]')])
        expect(await tab.title()).toBe('Client')
        expect((await second.redeem(new URL(tab.url()).searchParams.get('code') ?? '')).status).toBe(200)

        // Back to the page, and a second click on it: nothing more is given.
        await tab.goBack()
        await tab.waitForSelector('button[value=allow]')
        await Promise.all([tab.waitForNavigation(), tab.click('button[value=allow]')])
        expect(new URL(tab.url()).origin).toBe(server.appUrl)
        expect(await tab.content()).toContain('answered already')
        await phone.close()
      },
    )
  },
)
