import { readFileSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Browser } from 'puppeteer-core'
import { type Mailbox, openMailPage } from '../provider-contract/mailbox.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { type ChoiceWorld, createChoiceWorld, type Place, placeIn } from './choice.ts'
import { registerDeviceClient } from './device.ts'
import { createPerson, type Person } from './person.ts'
import { openPhone, patienceMs, type Phone, signInOn } from './phone.ts'
import { callTool, type PlainClient, postMcp, registerPlainClient, type Tokens } from './plain-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'

const sixty = Array.from({ length: 60 }, (_, index) => `team-${index}`)
const write = 'input[value="notes:write"]'
const allScopes = 'mcp notes:read notes:write'

/** Tests what a person chooses for a client: scopes, a workspace, and both again later. */
export function choiceCases(browser: () => Browser, clientCallback: () => string): void {
  describe('choosing on a phone without scripts, by keyboard', { timeout: patienceMs }, () => {
    let server: ServerProcess
    let world: ChoiceWorld
    let person: Person
    let phone: Phone
    let client: PlainClient
    let tokens: Tokens
    let mailbox: Mailbox
    const folder = temporaryFolder(afterAll)

    beforeAll(async () => {
      world = createChoiceWorld(folder)
      const settings = {
        ...world.settings,
        SIGN_IN_LIMIT: '1000',
        SESSION_CHECK: '1s',
        EMAIL_SIGN_IN: 'both',
      }
      server = await startServer(settings, { environment: world.environment })
      mailbox = openMailPage(`${server.appUrl}/mail`)
      phone = await openPhone(browser(), { scripts: false })
    }, patienceMs)
    afterAll(async () => {
      await phone?.close()
      await server?.close()
    })
    beforeEach(async () => {
      const context = phone.page.browserContext()
      await context.deleteCookie(...(await context.cookies()))
      person = await createPerson(server)
      client = await registerPlainClient(server, 'Quill', clientCallback())
      client.authorizationUrl.searchParams.set('scope', allScopes)
    })

    const path = (): string => new URL(phone.page.url()).pathname
    const chosen = (): Promise<string[]> =>
      phone.page.$$eval('input:checked', (inputs) => inputs.map((input) => input.getAttribute('value') ?? ''))
    /** Presses a key that submits nothing, and Enter where the form is not complete. */
    const press = async (key: 'Space' | 'Enter' | 'ArrowDown' | 'ArrowUp', times = 1): Promise<void> => {
      for (let count = 0; count < times; count += 1) await phone.page.keyboard.press(key)
    }
    const where = async (): Promise<Place> => placeIn(await callTool(server, tokens.access_token, 'where'))
    const statusOf = async (tool: string): Promise<number> => {
      const message = { method: 'tools/call', params: { name: tool, arguments: {} } }
      return (await postMcp(server, message, { authorization: `Bearer ${tokens.access_token}` })).status
    }
    async function redeem(): Promise<void> {
      const back = new URL(phone.page.url())
      expect(back.origin + back.pathname).toBe(clientCallback())
      const answer = await client.redeem(back.searchParams.get('code') ?? '')
      tokens = (await answer.json()) as Tokens
    }

    /** Connects with all scopes and the first workspace. */
    async function connect(): Promise<void> {
      await phone.open(client.authorizationUrl.href)
      await signInOn(phone, person)
      if (path() === '/oauth/authorize') {
        await phone.tabTo('input[name=workspace]')
        await press('Space')
        await phone.enter()
      }
      await redeem()
    }

    it('a person unticks a scope, chooses one of 60 workspaces with the arrow keys, and changes both later', async () => {
      world.list(person.email, sixty)
      await phone.open(client.authorizationUrl.href)
      expect(await chosen()).toEqual(['notes:read', 'notes:write'])
      await phone.tabTo(write)
      await press('Space')
      // The form is not complete: Enter sends nothing, and never what the last button would.
      await press('Enter')
      expect([path(), await chosen()]).toEqual(['/oauth/authorize', ['notes:read']])
      await signInOn(phone, person)

      expect(await phone.text()).toContain('Choose a workspace')
      expect(await chosen()).toEqual([])
      await phone.tabTo('input[name=workspace]')
      await press('Enter')
      expect([path(), await chosen()]).toEqual(['/oauth/authorize', []])
      await press('ArrowDown', 41)
      expect(await chosen()).toEqual(['team-41'])
      await phone.enter()
      await redeem()
      expect(tokens.scope).toBe('mcp notes:read')
      expect(await where()).toMatchObject({ scope: 'mcp notes:read', workspace: 'team-41' })
      expect(await statusOf('write')).toBe(403)

      await phone.open(`${server.baseUrl}/account/connections`)
      await signInOn(phone, person)
      expect(await phone.text()).toMatch(/Workspace Workspace team-41/)
      await phone.tabTo('.connection a.link')
      await phone.enter()
      expect(await phone.heading()).toBe('Change a connection')
      expect(await chosen()).toEqual(['notes:read', 'team-41'])
      await phone.tabTo('input[value="notes:read"]')
      await press('Space')
      await phone.tabTo('input[value=team-41]')
      await press('ArrowUp')
      await phone.enter()
      expect(await phone.text()).toContain('team-40')
      expect(await where()).toMatchObject({ scope: 'mcp', workspace: 'team-40' })
    })

    it('a step-up has a box for what is new only, and it comes unticked where it was left out', async () => {
      await phone.open(client.authorizationUrl.href)
      await phone.tabTo(write)
      await press('Space')
      await signInOn(phone, person)
      await redeem()
      await phone.open(client.authorizationUrl.href)
      expect(await phone.page.$$eval('input[name=scope]', (boxes) => boxes.length)).toBe(1)
      expect(await chosen()).toEqual([])
      await phone.tabTo(write)
      await press('Space')
      await signInOn(phone, person)
      await redeem()
      expect(tokens.scope).toBe(allScopes)
      expect(await statusOf('write')).toBe(200)
    })

    it('a person chooses for a device on its page, and Enter in a box or a list allows', async () => {
      world.list(person.email, sixty)
      const deviceClient = await registerDeviceClient(server, 'Kitchen Screen')
      const device = await deviceClient.start(allScopes)
      await phone.open(device.verification_uri_complete)
      await phone.tabTo('button[type=submit]')
      await phone.enter()
      expect(await chosen()).toEqual(['notes:read', 'notes:write'])
      await phone.tabTo('input[name=email]')
      await phone.insert(person.email)
      await phone.tabTo('input[name=password]')
      await phone.insert(person.password)
      await phone.tabTo(write)
      await press('Space')
      await phone.enter()
      await phone.tabTo('input[name=workspace]')
      // Around the end of the list.
      await press('ArrowUp')
      expect(await chosen()).toEqual(['team-59'])
      await phone.enter()
      expect(await phone.heading()).toBe('Your device can connect now')
      tokens = await deviceClient.takeTokens(device)
      expect(tokens.scope).toBe('mcp notes:read')
      expect(await where()).toMatchObject({ workspace: 'team-59' })
    })

    const pressIn = async (selector: string): Promise<void> => {
      await phone.tabTo(selector)
      await phone.enter()
    }
    const methods = {
      async 'a mailed code'() {
        await askForMail()
        await phone.tabTo('input[name=code]')
        await phone.insert((await mailbox.next(person.email)).code ?? '')
        await phone.enter()
      },
      async 'a mailed link'() {
        await askForMail()
        await phone.open((await mailbox.next(person.email)).link ?? '')
      },
      async Google() {
        await pressIn('button[value=google]')
        await chooseAccount()
      },
      async 'single sign-on'() {
        await phone.tabTo('input[name=email]')
        await phone.insert('lin@company.example')
        await pressIn('button[value=sso]')
        await chooseAccount()
      },
    }
    async function askForMail(): Promise<void> {
      world.list(person.email, ['sales', 'legal'])
      await phone.tabTo('input[name=email]')
      await phone.insert(person.email)
      await pressIn('button[value=email]')
    }
    /** Chooses the first account of a page that stands in for another company's. */
    async function chooseAccount(): Promise<void> {
      const account = await phone.page.$eval('button[name=account]', (button) => button.innerText)
      world.list(/\S+@\S+/.exec(account)?.[0] ?? '', ['sales', 'legal'])
      await pressIn('button[name=account]')
    }

    it.each(Object.keys(methods) as (keyof typeof methods)[])(
      'a person who unticks a scope and signs in with %s still chooses a workspace, and allows the rest',
      async (method) => {
        await phone.open(client.authorizationUrl.href)
        await phone.tabTo(write)
        await press('Space')
        await methods[method]()
        await phone.tabTo('input[name=workspace]')
        await press('ArrowDown')
        await phone.enter()
        await redeem()
        expect(tokens.scope).toBe('mcp notes:read')
        expect(await where()).toMatchObject({ scope: 'mcp notes:read', workspace: 'legal' })
      },
    )

    it('a person tries again while the web app does not list workspaces, without signing in again', async () => {
      world.list(person.email, ['sales', 'legal'])
      const listed = readFileSync(world.environment.WORKSPACES, 'utf8')
      writeFileSync(world.environment.WORKSPACES, 'not JSON')
      await phone.open(client.authorizationUrl.href)
      await signInOn(phone, person)
      for (let tries = 0; tries < 2; tries += 1) {
        expect(await phone.page.title()).toMatch(/^Not /)
        expect(await phone.text()).toContain('Your workspaces cannot be listed right now.')
        await phone.tabTo('form:has(button.primary) button')
        if (tries === 1) writeFileSync(world.environment.WORKSPACES, listed)
        await phone.enter()
      }
      await phone.tabTo('input[name=workspace]')
      await press('Space')
      await phone.enter()
      await redeem()
      expect(await where()).toMatchObject({ scope: allScopes, workspace: 'sales' })
    })

    it('a person cancels on the page of workspaces by its own button, and the client hears of it', async () => {
      world.list(person.email, ['sales', 'legal'])
      await phone.open(client.authorizationUrl.href)
      await signInOn(phone, person)
      await phone.tabTo('button[value=deny]')
      await phone.enter()
      expect(phone.page.url()).toContain(`${clientCallback()}?error=access_denied`)
    })

    it('the demo app takes a scope back and disconnects an assistant on a page of its own', async () => {
      world.list(person.email, ['sales', 'legal'])
      await connect()
      expect(await statusOf('write')).toBe(200)
      await phone.open(server.appUrl)
      await signInOn(phone, person)
      await phone.tabTo('a[href="/connections"]')
      await phone.enter()
      expect(await phone.heading()).toBe('Connected assistants')
      expect(await phone.text()).toMatch(/Quill Workspace Workspace sales/)
      await phone.tabTo(write)
      await press('Space')
      await phone.enter()
      expect(await phone.text()).toContain('Saved.')
      expect(await chosen()).toEqual(['notes:read'])
      expect([await statusOf('where'), await statusOf('write')]).toEqual([200, 403])
      await phone.tabTo('button[value=end]')
      await phone.enter()
      expect(await phone.text()).toContain('No assistant is connected')
      expect(await statusOf('where')).toBe(401)
    })

    it('a page of the app changes and ends a connection with the session cookie, and no page of another origin can', async () => {
      world.list(person.email, ['sales', 'legal'])
      await connect()
      await phone.open(server.appUrl)
      await signInOn(phone, person)
      const { page } = phone
      const ask = (method: string, id = '', body?: object): Promise<Asked> =>
        page.evaluate(
          async (url, init) => {
            try {
              const response = await fetch(url, init)
              return { status: response.status, text: await response.text() }
            } catch {
              return { status: 0, text: '' }
            }
          },
          `${server.baseUrl}/account/api/connections${id}`,
          {
            method,
            credentials: 'include' as const,
            ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
          },
        )
      const list = async (): Promise<{ id: string; scope: string }[]> =>
        (JSON.parse((await ask('GET')).text) as { connections: { id: string; scope: string }[] }).connections
      const [first] = await list()
      const id = `/${first?.id}`
      const changed = await ask('PATCH', id, { scope: 'mcp notes:read', workspace: 'legal' })
      expect([changed.status, await where()]).toMatchObject([
        200,
        { scope: 'mcp notes:read', workspace: 'legal' },
      ])

      // On the same host, so that the browser would send the cookie.
      await page.goto(clientCallback().replace('127.0.0.1', 'localhost'))
      expect((await page.cookies()).length).toBeGreaterThan(0)
      for (const [method, body] of [['GET'], ['PATCH', { scope: 'mcp' }], ['DELETE']] as const)
        expect(await ask(method, method === 'GET' ? '' : id, body)).toEqual({ status: 0, text: '' })
      expect(await where()).toMatchObject({ scope: 'mcp notes:read' })

      await phone.open(`${server.appUrl}/notes`)
      expect((await ask('DELETE', id)).status).toBe(204)
      expect([await list(), await statusOf('where')]).toEqual([[], 401])
    })
  })
}

interface Asked {
  status: number
  text: string
}
