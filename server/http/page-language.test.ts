import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../tests/support/temporary-folder.ts'
import { english } from '../texts/built-in.ts'
import { type Browser, type Visit } from '../../tests/support/server/browser.ts'
import { account, baseUrl, startDrawbridge } from '../../tests/support/server/drawbridge-fixture.ts'
import { checkSettings } from '../config/config.ts'
import { faultTexts, fileFaults } from '../config/setting-file.ts'
import { settingsOfObject } from '../config/setting-source.ts'

const folder = temporaryFolder(afterAll)
const write = (name: string, content: unknown): string => {
  const path = join(folder, name)
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}
const login = { ...english.login, heading: 'Connectez-vous avec votre compte {app}' }
const french = { language: 'fr', texts: { ...english, login } }

const drawbridge = await startDrawbridge({ texts: write('fr.json', french), emailSignIn: 'code' })
const clientId = (await drawbridge.register({ client_name: 'Quill” <b>' })).client_id
afterAll(() => drawbridge.close())

function expectGerman({ html, response }: Visit, text: string): void {
  expect(html).toContain('<html lang="de">')
  expect(response?.headers.get('content-language')).toBe('de')
  expect(html).toContain(text)
}

describe('the language of the pages', () => {
  it('OpenID Connect Core 3.1.2.1: follows ui_locales, also on the later pages of the sign-in', async () => {
    const browser = drawbridge.browser('en')
    const first = await browser.visit(drawbridge.authorizeUrl(clientId, { ui_locales: 'it de-AT' }))
    expectGerman(first, 'Melden Sie sich mit Ihrem Konto bei')
    expectGerman(first, '„<bdi>Quill’ &lt;b&gt;</bdi>“')
    expectGerman(first, '30 Tage lang verbunden bleiben')
    expectGerman(first, 'Die Werkzeuge der Web-App in Ihrem Namen nutzen')
    const wrong = await browser.submit(first, 'password', { ...account, password: 'x' })
    expectGerman(wrong, 'E-Mail-Adresse oder Passwort ist falsch.')
    const mailed = await browser.submit(wrong, 'email', { action: 'email', email: account.email })
    expectGerman(mailed, 'Sehen Sie in Ihr Postfach')
    expectGerman(await browser.submit(mailed, 'code', { code: '000000' }), 'Versuche bleiben.')
    const foreign = drawbridge.browser('en')
    await foreign.visit(drawbridge.authorizeUrl(clientId))
    const page = await foreign.submit(first, 'password', account)
    // Whoever it belongs to: nothing of a sealed form of another browser is read.
    expect(page.html).toContain('This sign-in page belongs to another browser')
  })

  it('the error page after a posted form has the language of the sign-in', async () => {
    const registered = (await drawbridge.register()) as Record<string, string>
    const { client_id: id = '', registration_access_token: token = '' } = registered
    const browser = drawbridge.browser('en')
    const first = await browser.visit(drawbridge.authorizeUrl(id, { ui_locales: 'de' }))
    const headers = { authorization: `Bearer ${token}` }
    const removed = await drawbridge.fetch(`/oauth/register/${id}`, { method: 'DELETE', headers })
    expect(removed.status).toBe(204)
    expectGerman(await browser.submit(first, 'password', account), 'Diese App ist hier nicht registriert')
  })

  it('a page after the return from a provider has the language of ui_locales', async () => {
    const browser = drawbridge.browser()
    const first = await browser.visit(drawbridge.authorizeUrl(clientId, { ui_locales: 'de' }))
    const google = await browser.submit(first, 'provider', { provider: 'google' })
    expectGerman(await refuse(browser, google), 'Die Anmeldung wurde abgebrochen.')
  })

  it('every page follows the language of the browser', async () => {
    const browser = drawbridge.browser('de-CH,de;q=0.9,en;q=0.8')
    expectGerman(await browser.visit(drawbridge.authorizeUrl(clientId)), 'Anmelden und Zugriff erlauben')
    expectGerman(
      await browser.visit(drawbridge.authorizeUrl('nobody')),
      'Diese App ist hier nicht registriert',
    )
    expectGerman(await browser.visit(`${baseUrl}/`), 'Einen KI-Client mit')
    const device = await browser.visit(`${baseUrl}/oauth/device`)
    expectGerman(device, 'Gerät verbinden')
    expectGerman(
      await browser.submit(device, 'user_code', { user_code: 'WDJBMJHT' }),
      'Kein Gerät wartet mit diesem Code.',
    )
    const connections = await browser.visit(`${baseUrl}/account/connections`)
    expectGerman(connections, 'Anmelden, um Ihre Verbindungen zu verwalten')
    expectGerman(await browser.submit(connections, 'password', account), 'Keine App ist verbunden')
    expectGerman(
      await browser.visit(`${baseUrl}/oauth/callback?code=x`),
      'Diese Anmeldung geht hier nicht weiter',
    )
  })

  it("a missing page is English for programs, and in the browser's language for a browser", async () => {
    const headers = { 'accept-language': 'de' }
    const asJson = await drawbridge.fetch('/nothing', { headers })
    expect(await asJson.json()).toMatchObject({
      error_description: expect.stringContaining('There is no page'),
    })
    const asPage = await drawbridge.fetch('/nothing', { headers: { ...headers, accept: 'text/html' } })
    expect(await asPage.text()).toContain('Seite nicht gefunden')
  })

  it('pages have the texts of a file of TEXTS, and the metadata lists its language', async () => {
    const { html } = await drawbridge.browser('fr-CA').visit(drawbridge.authorizeUrl(clientId))
    expect(html).toContain('<html lang="fr">')
    expect(html).toContain('Connectez-vous avec votre compte <bdi>')
    const metadata = await drawbridge.fetch('/.well-known/oauth-authorization-server')
    expect(await metadata.json()).toMatchObject({ ui_locales_supported: ['en', 'de', 'fr'] })
  })
})

function refuse(browser: Browser, google: Visit): Promise<Visit> {
  const [, name = '', value = ''] =
    /<button\b[^>]*\bname="([^"]*)"[^>]*\bvalue="(deny|cancel)"/.exec(google.html) ?? []
  return browser.submit(google, name, { [name]: value })
}

describe('an unusable file of TEXTS', () => {
  const faults = (...paths: string[]): string[] => {
    const checked = checkSettings(settingsOfObject({ texts: paths.join(', ') }), { production: false })
    return faultTexts(fileFaults(checked, ['texts'], 0), checked.nameOf)
  }

  it('an unusable file of TEXTS is reported with every key, of every file', () => {
    const { or: _, ...rest } = login
    const lacking = write('lacking.json', {
      language: 'it',
      texts: { ...english, login: { ...rest, extra: 'x' } },
    })
    const broken = write('broken.json', '{')
    expect(faults(lacking, broken, join(folder, 'none.json'))).toEqual([
      `texts: ${lacking}: texts.login.or is missing.`,
      `texts: ${lacking}: texts.login has an unknown member "extra".`,
      expect.stringContaining(`texts: ${broken} is not valid JSON`),
      `texts: file not found: ${join(folder, 'none.json')}. docs/languages.md says what it holds.`,
    ])
  })

  it('a file of TEXTS is unusable if another has its language', () => {
    const [one, other] = [write('one.json', french), write('other.json', french)]
    expect(faults(one, other)).toEqual([
      `texts: ${other}: the language is fr, as in ${one}. docs/languages.md says what it holds.`,
    ])
    expect(faults(one)).toEqual([])
  })
})
