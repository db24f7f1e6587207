import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Browser } from 'puppeteer-core'
import { openPhone, patienceMs, type Phone } from './phone.ts'
import type { ServerProcess } from './server-process.ts'

/** Tests the connect page. */
export function connectCases(browser: () => Browser, given: () => ServerProcess): void {
  describe('the connect page, on a phone', { timeout: patienceMs }, () => {
    let server: ServerProcess
    let phone: Phone

    beforeAll(async () => {
      server = given()
      phone = await openPhone(browser(), { scripts: true })
    }, patienceMs)
    afterAll(() => phone?.close())

    it.each(['/mcp', '/mcp/', '/', ''])(
      'the connect page is shown to a browser at %s of the base URL',
      async (end) => {
        await phone.open(`${server.baseUrl}${end}`)
        expect(await phone.heading()).toContain('Connect an AI client to')
        expect(await phone.text()).toContain(server.mcpUrl)
      },
    )

    it('the connect page is shown to a user of the app, whose cookie the browser sends', async () => {
      await phone.open(`${server.appUrl}/sign-up`)
      await phone.tabTo('input[name=email]')
      await phone.insert('bea@example.com')
      await phone.tabTo('input[name=password]')
      await phone.insert('correct horse battery')
      await phone.enter()
      await phone.tabTo(`a[href="${server.mcpUrl}"]`)
      await phone.enter()
      expect(await phone.heading()).toContain('Connect an AI client to')
      const cookies = await phone.page.cookies()
      expect(cookies.some(({ name }) => name.endsWith('auth-token'))).toBe(true)
      // A script of the app on the same host still gets the usual response.
      const options = { headers: { cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; ') } }
      expect((await fetch(server.mcpUrl, options)).status).not.toBe(200)
    })

    it('the connect page copies the address', async () => {
      await phone.page
        .browserContext()
        .overridePermissions(new URL(server.baseUrl).origin, ['clipboard-read', 'clipboard-sanitized-write'])
      await phone.page.bringToFront()
      await phone.page.click('button[data-copies=address]')
      await expect
        .poll(() => phone.page.$eval('#copy-status', ({ textContent }) => textContent))
        .toBe('Copied')
      expect(await phone.page.evaluate('navigator.clipboard.readText()')).toBe(server.mcpUrl)
    })

    it('the connect page selects the address where the browser lets no page write to the clipboard', async () => {
      const origin = new URL(server.baseUrl).origin
      await phone.page.browserContext().overridePermissions(origin, ['clipboard-read'])
      await phone.page.click('button[data-copies=address]')
      await expect.poll(() => phone.page.evaluate('getSelection().toString()')).toBe(server.mcpUrl)
    })

    it('the connect page links to the account page', async () => {
      await phone.tabTo('.court-foot a')
      await phone.enter()
      expect(new URL(phone.page.url()).pathname).toBe('/tools/account/connections')
    })
  })
}
