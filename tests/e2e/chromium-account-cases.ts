import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Browser } from 'puppeteer-core'
import { createPerson, type Person } from './person.ts'
import { openPhone, patienceMs, type Phone, signInOn, startServerAt } from './phone.ts'
import { callTool, type PlainClient, postMcp, registerPlainClient, type Tokens } from './plain-client.ts'
import type { ServerProcess } from './server-process.ts'

/** A user's connection with a client of that name. */
interface Connection {
  client: PlainClient
  tokens: Tokens
}

/** Tests the page of one’s connections. */
export function accountCases(browser: () => Browser): void {
  describe('the page of one’s connections, on a phone by keyboard', { timeout: patienceMs }, () => {
    let server: ServerProcess
    let person: Person
    let phone: Phone
    let used: Connection
    let copied: Connection

    async function connect(name: string, by = person): Promise<Connection> {
      const client = await registerPlainClient(server, name)
      return { client, tokens: await client.connect(by) }
    }

    async function expectEnded({ client, tokens }: Connection): Promise<void> {
      const authorization = `Bearer ${tokens.access_token}`
      const call = await postMcp(server, { method: 'tools/list' }, { authorization })
      expect(call.status).toBe(401)
      expect(call.headers.get('www-authenticate')).toContain('error="invalid_token"')
      const refresh = await client.refresh(tokens.refresh_token)
      expect([refresh.status, await refresh.json()]).toMatchObject([400, { error: 'invalid_grant' }])
    }

    const names = (): Promise<string[]> =>
      phone.page.$$eval('.connection h3', (headings) => headings.map(({ innerText }) => innerText))

    beforeAll(async () => {
      server = await startServerAt('')
      person = await createPerson(server)
      phone = await openPhone(browser(), { scripts: true })
      used = await connect('Quill')
      copied = await connect('Old Laptop')
      await callTool(server, used.tokens.access_token, 'whoami')
      await copied.client.refresh(copied.tokens.refresh_token)
      // Pending uses are written at the end; and a used refresh token still gets a response for two minutes.
      await server.kill('SIGTERM')
      await server.start({ aheadSeconds: 300 })
    }, patienceMs)
    afterAll(async () => {
      await phone?.close()
      await server?.close()
    })

    it('is behind a sign-in that allows nothing to anybody, and says why it asked', async () => {
      await phone.open(`${server.baseUrl}/account/connections`)
      expect(await phone.heading()).toBe('Sign in to manage your connections')
      expect(await phone.page.$('button[value=deny]')).toBeNull()
      expect(await phone.text()).toContain('For safety this page asks you to sign in again')
      await signInOn(phone, person)
      expect(new URL(phone.page.url()).pathname).toBe('/account/connections')
      expect(await phone.heading()).toBe('Your connections')
    })

    it('lists what is connected, what it may do, and when and from where it was used', async () => {
      expect((await names()).toSorted()).toEqual(['“Old Laptop”', '“Quill”'])
      const text = await phone.text()
      for (const fact of [person.email, 'Allowed to Use the tools of the web app as you'])
        expect(text).toContain(fact)
      expect(text).toMatch(/“Quill”.*Returns to 127\.0\.0\.1.*Last used 5 minutes ago from 127\.0\.0\.1/)
    })

    it('says which connection was ended because its key was used twice', async () => {
      const reused = await copied.client.refresh(copied.tokens.refresh_token)
      expect(reused.status).toBe(400)
      await phone.open(phone.page.url())
      expect(await phone.text()).toContain('“Old Laptop” was disconnected for your security just now')
      expect(await names()).toEqual(['“Quill”'])
      await expectEnded(copied)
    })

    it('ends one connection: its tokens are of no use from the next request on', async () => {
      expect(await phone.page.$eval('button[value=end]', (button) => button.checkVisibility())).toBe(false)
      await phone.tabTo('.end-one summary')
      await phone.type(' ')
      await phone.tabTo('button[value=end]')
      await phone.enter()
      expect(await phone.text()).toContain('“Quill” is no longer connected.')
      expect(await phone.text()).toContain('No app is connected')
      await expectEnded(used)
      await phone.open(phone.page.url())
      expect(await phone.text()).not.toContain('is no longer connected')
    })

    it('ends all connections, and nobody else’s', async () => {
      const mine = [await connect('Quill'), await connect('Pocket Editor')]
      const other = await createPerson(server)
      const { tokens: theirs } = await connect('Quill', other)
      await phone.open(phone.page.url())
      expect(await names()).toHaveLength(2)
      await phone.tabTo('.end-all summary')
      await phone.type(' ')
      await phone.tabTo('button[value=end_all]')
      await phone.enter()
      expect(await phone.text()).toContain('All connections ended.')
      for (const connection of mine) await expectEnded(connection)
      expect(await callTool(server, theirs.access_token, 'whoami')).toBe(`You are ${other.email}.`)
    })

    it('signs out of the page', async () => {
      await phone.tabTo('button[value=sign_out]')
      await phone.enter()
      expect(await phone.heading()).toBe('You’re signed out of this page')
      await phone.tabTo('main a')
      await phone.enter()
      expect(await phone.heading()).toBe('Sign in to manage your connections')
    })
  })
}
