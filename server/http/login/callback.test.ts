import { afterAll, expect, it } from 'vitest'
import { baseUrl, redirectUri, startDrawbridge } from '../../../tests/support/server/drawbridge-fixture.ts'
import type { Browser, Visit } from '../../../tests/support/server/browser.ts'

const drawbridge = await startDrawbridge()
const clientId = (await drawbridge.register()).client_id
afterAll(() => drawbridge.close())

async function toGoogle(browser: Browser, state: string): Promise<Visit> {
  const login = await browser.visit(drawbridge.authorizeUrl(clientId, { state }))
  return browser.submit(login, 'provider', { provider: 'google' })
}

/** Presses the first button of the fake Google, or the one that refuses. */
function choose(browser: Browser, google: Visit, button: 'allow' | 'deny'): Promise<Visit> {
  const controls = [...google.html.matchAll(/<button\b[^>]*\bname="([^"]*)"[^>]*\bvalue="([^"]*)"/g)]
  const wanted = controls.find(([, , value = '']) => (button === 'deny') === /deny|cancel/i.test(value))
  if (!wanted) throw new Error('The stand-in Google shows no such button.')
  const [, name = '', value = ''] = wanted
  return browser.submit(google, name, { [name]: value })
}

it('Spec 5.2: a social sign-in goes to the provider and comes back to the client without another click', async () => {
  const browser = drawbridge.browser()
  const google = await toGoogle(browser, 's1')
  expect(google.url.pathname).toMatch(/^\/google/)
  const { url } = await choose(browser, google, 'allow')
  expect(url.origin + url.pathname).toBe(redirectUri)
  expect(Object.fromEntries(url.searchParams)).toMatchObject({ state: 's1', iss: baseUrl })
  const tokens = await drawbridge.redeem(clientId, url.searchParams.get('code') ?? '')
  const { access_token: token } = (await tokens.json()) as { access_token: string }
  expect((await drawbridge.callTool(token, 'whoami')).text).toMatch(/^You are .+@/)
})

it('a refusal at the social provider leads back to the login page, which still works', async () => {
  const browser = drawbridge.browser()
  const back = await choose(browser, await toGoogle(browser, 's2'), 'deny')
  expect(back.url.pathname).toBe('/oauth/callback')
  expect(back.html).toContain('cancelled')
  const google = await browser.submit(back, 'provider', { provider: 'google' })
  expect((await choose(browser, google, 'allow')).url.searchParams.get('state')).toBe('s2')
})

it('login CSRF: a social sign-in finishes only in its own browser, and only once', async () => {
  const browser = drawbridge.browser()
  const google = await toGoogle(browser, 's3')
  const stranger = drawbridge.browser()
  await stranger.visit(drawbridge.authorizeUrl(clientId))
  const taken = await choose(stranger, google, 'allow')
  expect(taken.html).toContain('took too long')
  const callback = `${baseUrl}/oauth/callback?code=00000000-0000-4000-8000-000000000000`
  expect((await browser.visit(callback)).status).toBe(400)
  expect((await drawbridge.browser().visit(callback)).status).toBe(400)
})
