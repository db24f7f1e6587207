import { expect, it } from 'vitest'
import type { Browser } from 'puppeteer-core'
import { createPerson } from './person.ts'
import { openPhone, signInOn } from './phone.ts'
import { registerPlainClient, statusOfCall } from './plain-client.ts'
import type { ServerProcess } from './server-process.ts'

/** Tests the page of one’s connections. */
export function accountCases(browser: () => Browser, given: () => ServerProcess): void {
  it('the account page on a phone by keyboard: sign in, see connections, end one, then all, and sign out', async () => {
    const server = given()
    const person = await createPerson(server)
    const connect = async (name: string): Promise<string> =>
      (await (await registerPlainClient(server, name)).connect(person)).access_token
    const status = (token: string): Promise<number> => statusOfCall(server, token)
    const tokens = new Map<string, string>()
    for (const name of ['Quill', 'Old Laptop', 'Pocket Editor']) tokens.set(`“${name}”`, await connect(name))
    const phone = await openPhone(browser(), { scripts: true })

    await phone.open(`${server.baseUrl}/account/connections`)
    expect(await phone.heading()).toBe('Sign in to manage your connections')
    expect(await phone.page.$('button[value=deny]')).toBeNull()
    await signInOn(phone, person)
    expect(new URL(phone.page.url()).pathname).toBe('/tools/account/connections')
    expect(await phone.heading()).toBe('Your connections')
    const names = await phone.page.$$eval('.connection h3', (headings) =>
      headings.map(({ innerText }) => innerText),
    )
    expect(new Set(names)).toEqual(new Set(tokens.keys()))
    const [first = '', second = '', third = ''] = names.map((name) => tokens.get(name))
    expect(await phone.text()).toMatch(new RegExp(`${person.email}.*Returns to 127.0.0.1`))

    // The button is behind a question.
    expect(await phone.page.$eval('button[value=end]', (button) => button.checkVisibility())).toBe(false)
    await phone.tabTo('.end-one summary')
    await phone.type(' ')
    await phone.tabTo('button[value=end]')
    await phone.enter()
    expect(await phone.text()).toContain(`${names[0]} is no longer connected.`)
    expect([await status(first), await status(second)]).toEqual([401, 200])
    await phone.tabTo('.end-all summary')
    await phone.type(' ')
    await phone.tabTo('button[value=end_all]')
    await phone.enter()
    expect(await phone.text()).toContain('All connections ended.')
    expect([await status(second), await status(third)]).toEqual([401, 401])

    await phone.tabTo('button[value=sign_out]')
    await phone.enter()
    expect(await phone.heading()).toBe('You’re signed out of this page')
    await phone.tabTo('main a')
    await phone.enter()
    expect(await phone.heading()).toBe('Sign in to manage your connections')
    await phone.close()
  })
}
