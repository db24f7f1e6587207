import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Browser } from 'puppeteer-core'
import { type DeviceClient, registerDeviceClient } from './device.ts'
import { createPerson, type Person } from './person.ts'
import { openPhone, patienceMs, type Phone, signInOn } from './phone.ts'
import { callTool } from './plain-client.ts'
import type { ServerProcess } from './server-process.ts'

const codeField = 'input[name=user_code]'

/** Tests a device that is allowed on a phone. */
export function deviceCases(browser: () => Browser, given: () => ServerProcess): void {
  describe(
    'a device that has no browser, allowed on a phone without scripts, below a path, by keyboard (RFC 8628)',
    { timeout: patienceMs },
    () => {
      let server: ServerProcess
      let person: Person
      let client: DeviceClient
      let phone: Phone

      beforeAll(async () => {
        server = given()
        person = await createPerson(server)
        client = await registerDeviceClient(server, 'Kitchen Screen')
        phone = await openPhone(browser(), { scripts: false })
      }, patienceMs)
      afterAll(() => phone?.close())

      it('the device page shows who asks once the code is typed, and the device gets its tokens (section 3.3)', async () => {
        const device = await client.start()
        expect(device.verification_uri).toBe(`${server.baseUrl}/oauth/device`)
        expect(await client.pollResult(device)).toBe('authorization_pending')

        await phone.open(device.verification_uri)
        expect(await phone.heading()).toBe('Connect a device')
        // The field has the focus, and is corrected in place; small letters and a blank work too.
        await phone.insert('BBBB-BBBB')
        await phone.enter()
        expect(await phone.text()).toContain('No device is waiting with this code.')
        await phone.tabTo(codeField)
        await phone.replace(device.user_code.toLowerCase().replace('-', ' '))
        await phone.enter()
        const asked = await phone.text()
        for (const fact of [device.user_code, 'Kitchen Screen', 'This computer', 'just now']) {
          expect(asked).toContain(fact)
        }
        expect(await client.pollResult(device)).not.toBe('tokens')

        await signInOn(phone, person)
        expect(await phone.heading()).toBe('Your device can connect now')
        expect(await phone.text()).toContain('Go back to your device')
        expect(new URL(phone.page.url()).pathname).toBe('/tools/oauth/device')

        const tokens = await client.takeTokens(device)
        expect(tokens.scope).toBe('mcp')
        expect(await callTool(server, tokens.access_token, 'whoami')).toBe(`You are ${person.email}.`)
      })

      it('a link to the device page brings the code, which is only to be compared (section 3.3.1)', async () => {
        const device = await client.start()
        await phone.open(device.verification_uri_complete)
        expect(await phone.text()).toContain('Is this the code on your device?')
        expect(await phone.page.$eval(codeField, (field) => field.getAttribute('value'))).toBe(
          device.user_code,
        )
        await phone.tabTo('button[type=submit]')
        await phone.enter()
        expect(await phone.heading()).toBe('Sign in to allow access for a device')

        await signInOn(phone, { ...person, password: 'wrong' })
        expect(await phone.page.title()).toContain('Not signed in')
        expect(await client.pollResult(device)).toBe('authorization_pending')
        // The email is still filled in, and the focus is in the field to correct.
        await phone.insert(person.password)
        await phone.enter()
        expect(await phone.heading()).toBe('Your device can connect now')
        const { access_token: token } = await client.takeTokens(device)
        expect(await callTool(server, token, 'whoami')).toContain(person.email)
      })
    },
  )
}
