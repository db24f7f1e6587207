import { describe, expect, it } from 'vitest'
import type { Visit } from '../support/server/browser.ts'
import { createLoginFixture } from '../support/server/login-fixture.ts'
import { newAddress } from './accounts.ts'
import { createAdapter, createAdapterDriver } from './adapter-driver.ts'
import { createAuthJsDriver } from './client-driver.ts'
import { codeIn, mailCases, useMailbox, wrongCode } from './mail-cases.ts'
import { describeOnServers, type Stage } from './stage.ts'

// In one file: the mails of a real server come to one port.
describeOnServers('our adapter', { servers: 'all', makeDriver: createAdapterDriver }, (stage) => {
  describe('a mail', () => mailCases(stage))
  describe('the sign-in page', () => pageCases(stage))
})

describeOnServers('@supabase/auth-js', { servers: 'first', makeDriver: createAuthJsDriver }, (stage) => {
  describe('a mail', () => mailCases(stage))
})

/** Cases of the pages in front of the server. */
function pageCases(stage: () => Stage): void {
  const mailbox = useMailbox(stage)

  async function open() {
    const { server, send } = stage()
    const login = await createLoginFixture(createAdapter(server, send))
    const browser = login.browser()
    const ask = async (email: string): Promise<Visit> =>
      browser.submit(await login.open(browser), 'email', { email, action: 'email' })
    return { login, browser, ask }
  }

  it('is the same for an address without an account, in the log too', async (context) => {
    const mails = mailbox(context)
    const { email } = await stage().server.accounts.create()
    const unknown = newAddress()
    const seen = []
    for (const address of [email, unknown]) {
      const { login, ask } = await open()
      const { response, html } = await ask(address)
      const page = html.replaceAll(address, '').replaceAll(/value="[^"]{60,}"/g, '')
      seen.push({ status: response?.status, page, log: login.logged() })
    }
    expect(seen[1]).toEqual(seen[0])
    await mails.next(email)
  })

  it('takes no code after five wrong ones', async (context) => {
    const mails = mailbox(context)
    const { email } = await stage().server.accounts.create()
    const { browser, ask } = await open()
    let page = await ask(email)
    const code = codeIn(await mails.next(email), context)
    const waiting = page
    for (let tries = 0; tries < 5; tries += 1) {
      page = await browser.submit(waiting, 'code', { code: wrongCode(code) })
      expect(page.response?.status).toBe(400)
    }
    expect(page.html).toContain('That code can no longer be used')
    expect((await browser.submit(waiting, 'code', { code })).html).toContain(
      'That code can no longer be used',
    )
  })
}
