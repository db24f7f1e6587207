import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Mailbox, openMailPage } from '../provider-contract/mailbox.ts'
import type { Browser } from 'puppeteer-core'
import { type DeviceClient, registerDeviceClient } from './device.ts'
import { createPerson, type Person } from './person.ts'
import { openPhone, patienceMs, type Phone, signInOn } from './phone.ts'
import { callTool, type PlainClient, registerPlainClient } from './plain-client.ts'
import type { ServerProcess } from './server-process.ts'

let server: ServerProcess
let phone: Phone
let mailbox: Mailbox

/** Sign in on the page that the phone shows, and return the email address of the signed-in user. */
const methods = {
  'a password': async (person: Person): Promise<string> => {
    await signInOn(phone, person)
    return person.email
  },
  'a mailed code': async ({ email }: Person): Promise<string> => {
    await askForMail(email)
    const { code = '' } = await mailbox.next(email)
    await phone.tabTo('input[name=code]')
    await phone.insert(code)
    await phone.enter()
    return email
  },
  'a mailed link': async ({ email }: Person): Promise<string> => {
    await askForMail(email)
    const { link = '' } = await mailbox.next(email)
    await phone.open(link)
    return email
  },
  Google: async (): Promise<string> => {
    await phone.tabTo('button[value=google]')
    await phone.enter()
    return chooseAccount()
  },
  'single sign-on': async (): Promise<string> => {
    await phone.tabTo('input[name=email]')
    await phone.insert('lin@company.example')
    await phone.tabTo('button[value=sso]')
    await phone.enter()
    return chooseAccount()
  },
}

/** Show their sign-in page, and return what proves that the person of an email address was signed in there. */
const places = {
  'for a client': async (): Promise<(email: string) => Promise<void>> => {
    await phone.open(client.authorizationUrl.href)
    return async (email) => {
      const back = new URL(phone.page.url())
      expect(back.origin + back.pathname).toBe(clientCallback)
      const answer = await client.redeem(back.searchParams.get('code') ?? '')
      const { access_token: token } = (await answer.json()) as { access_token: string }
      expect(await callTool(server, token, 'whoami')).toBe(`You are ${email}.`)
    }
  },
  'for a device': async (): Promise<(email: string) => Promise<void>> => {
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
  'to see one’s connections': async (): Promise<(email: string) => Promise<void>> => {
    await phone.open(`${server.baseUrl}/account/connections`)
    return async (email) => {
      expect(await phone.heading()).toBe('Your connections')
      expect(await phone.text()).toContain(email)
    }
  },
}

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

/** Tests each method of signing in, and each place that asks for it. */
export function signInCases(
  browser: () => Browser,
  given: () => { server: ServerProcess; clientCallback: string },
): void {
  describe('signing in on a phone without scripts, by keyboard', { timeout: patienceMs }, () => {
    beforeAll(async () => {
      ;({ server, clientCallback } = given())
      phone = await openPhone(browser(), { scripts: false })
      mailbox = openMailPage(`${server.appUrl}/mail`)
      client = await registerPlainClient(server, 'Client', clientCallback)
      deviceClient = await registerDeviceClient(server, 'Kitchen Screen')
    }, patienceMs)
    afterAll(() => phone?.close())
    beforeEach(async () => {
      const context = phone.page.browserContext()
      await context.deleteCookie(...(await context.cookies()))
    })

    it.each<[method: keyof typeof methods, place: keyof typeof places]>([
      ['a password', 'for a device'],
      ['a mailed code', 'to see one’s connections'],
      ['a mailed link', 'for a client'],
      ['Google', 'to see one’s connections'],
      ['single sign-on', 'for a device'],
    ])('signing in by keyboard with %s, %s', async (method, place) => {
      const person = await createPerson(server)
      const expectSignedIn = await places[place]()
      await expectSignedIn(await methods[method](person))
    })
  })
}
