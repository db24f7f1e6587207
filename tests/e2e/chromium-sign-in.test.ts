// Every method of signing in, at every place where a sign-in is asked for.
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Mailbox, openMailPage } from '../provider-contract/mailbox.ts'
import { findChromium, type RunningChromium, startChromium } from '../support/server/headless-chromium.ts'
import { type DeviceClient, registerDeviceClient } from './device.ts'
import { createPerson, type Person } from './person.ts'
import { openPhone, patienceMs, type Phone, signInOn } from './phone.ts'
import { callTool, createPlainClient, type PlainClient, registerPlainClient } from './plain-client.ts'
import { type ServerProcess, startServer } from './server-process.ts'

const executable = findChromium()

let server: ServerProcess
let chromium: RunningChromium
let phone: Phone
let mailbox: Mailbox

/** A method: signs in on the page that the phone shows, and returns the email address of who is signed in then. */
interface Method {
  method: string
  signIn(person: Person): Promise<string>
}

const methods: readonly Method[] = [
  {
    method: 'a password',
    async signIn(person) {
      await signInOn(phone, person)
      return person.email
    },
  },
  {
    method: 'a mailed code',
    async signIn({ email }) {
      await askForMail(email)
      const { code = '' } = await mailbox.next(email)
      await phone.tabTo('input[name=code]')
      await phone.insert(code)
      await phone.enter()
      return email
    },
  },
  {
    method: 'a mailed link',
    async signIn({ email }) {
      await askForMail(email)
      const { link = '' } = await mailbox.next(email)
      await phone.open(link)
      return email
    },
  },
  {
    method: 'Google',
    async signIn() {
      await phone.tabTo('button[value=google]')
      await phone.enter()
      return chooseAccount()
    },
  },
  {
    method: 'single sign-on',
    async signIn() {
      await phone.tabTo('input[name=email]')
      await phone.insert('lin@company.example')
      await phone.tabTo('button[value=sso]')
      await phone.enter()
      return chooseAccount()
    },
  },
]

/** A place: shows its sign-in page, and returns what proves that the person of an email address was signed in there. */
interface Place {
  place: string
  open(): Promise<(email: string) => Promise<void>>
}

const places: readonly Place[] = [
  {
    place: 'for a client',
    async open() {
      await phone.open(client.authorizationUrl.href)
      return async (email) => {
        const back = new URL(phone.page.url())
        expect(back.origin + back.pathname).toBe(clientCallback)
        const answer = await client.redeem(back.searchParams.get('code') ?? '')
        const { access_token: token } = (await answer.json()) as { access_token: string }
        expect(await callTool(server, token, 'whoami')).toBe(`You are ${email}.`)
      }
    },
  },
  {
    place: 'for a device',
    async open() {
      const device = await deviceClient.start()
      await phone.open(device.verification_uri_complete)
      await phone.tabTo('button[type=submit]')
      await phone.enter()
      return async (email) => {
        expect(await phone.heading()).toBe('Your device can connect now')
        const { access_token: token } = await deviceClient.takeTokens(device)
        expect(await callTool(server, token, 'whoami')).toBe(`You are ${email}.`)
      }
    },
  },
  {
    place: 'to see one’s connections',
    async open() {
      await phone.open(`${server.baseUrl}/account/connections`)
      return async (email) => {
        expect(await phone.heading()).toBe('Your connections')
        expect(await phone.text()).toContain(email)
      }
    },
  },
]

const clientPage =
  '<meta name="viewport" content="width=device-width"><title>Client</title>Back at the client.'
let callbacks: Server
let clientCallback: string
let client: PlainClient
let deviceClient: DeviceClient

/** Chooses the first account of a page that stands in for another company's. */
async function chooseAccount(): Promise<string> {
  const chosen = 'button[name=account]'
  const account = await phone.page.$eval(chosen, (button) => button.innerText)
  await phone.tabTo(chosen)
  await phone.enter()
  return /\S+@\S+/.exec(account)?.[0] ?? ''
}

async function askForMail(email: string): Promise<void> {
  await phone.tabTo('input[name=email]')
  await phone.insert(email)
  await phone.tabTo('button[value=email]')
  await phone.enter()
  expect(await phone.text()).toContain('Check your email')
}

describe.skipIf(executable === undefined)(
  'signing in on a phone without scripts, by keyboard',
  { timeout: patienceMs },
  () => {
    beforeAll(async () => {
      server = await startServer({ EMAIL_SIGN_IN: 'both', SIGN_IN_LIMIT: '1000' })
      chromium = await startChromium(executable ?? '')
      phone = await openPhone(chromium.browser, { scripts: false })
      mailbox = openMailPage(`${server.appUrl}/mail`)
      callbacks = createServer((_, response) => {
        response.setHeader('content-type', 'text/html').end(clientPage)
      }).listen(0, '127.0.0.1')
      await new Promise((resolve) => callbacks.once('listening', resolve))
      clientCallback = `http://127.0.0.1:${(callbacks.address() as AddressInfo).port}/callback`
      const { id } = await registerPlainClient(server)
      client = await createPlainClient(server, { id, redirectUri: clientCallback })
      deviceClient = await registerDeviceClient(server, 'Kitchen Screen')
    }, patienceMs)
    afterAll(async () => {
      await chromium?.close()
      callbacks?.close()
      await server?.close()
    })
    beforeEach(async () => {
      const context = phone.page.browserContext()
      await context.deleteCookie(...(await context.cookies()))
    })

    describe.each(methods)('with $method', ({ signIn }) => {
      it.each(places)('$place', async ({ open }) => {
        const person = await createPerson(server)
        const expectSignedIn = await open()
        await expectSignedIn(await signIn(person))
      })
    })
  },
)
