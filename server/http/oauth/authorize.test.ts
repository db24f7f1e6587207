import { afterAll, describe, expect, it } from 'vitest'
import {
  account,
  appUrl,
  baseUrl,
  startDrawbridge,
} from '../../../tests/support/server/drawbridge-fixture.ts'

const drawbridge = await startDrawbridge()
const clientId = (await drawbridge.register({ client_name: 'Quill' })).client_id
afterAll(() => drawbridge.close())

describe('GET /oauth/authorize', () => {
  it('Spec 4, Spec 5.2, MCP auth Localhost-Redirect-URI-Risks, MCP security Confused-Deputy: GET /oauth/authorize shows who asks, where it returns to, and no way to sign up here', async () => {
    const { html, response } = await drawbridge.browser().visit(drawbridge.authorizeUrl(clientId))
    expect(response?.status).toBe(200)
    expect(html).toContain('Quill')
    expect(html).toContain('127.0.0.1')
    // The app alone makes accounts.
    expect(html).toContain(`href="${appUrl}/sign-up?`)
    expect(html).not.toMatch(/<form[^>]*sign-?up|new-password/i)
    expect(html).toContain('value="google"')
  })

  it('OAuth 2.1 7.11: the login page fills in login_hint and keeps a hostile name in its quotes', async () => {
    const { client_id: hostile } = await drawbridge.register({ client_name: '<script>alert(1)</script>' })
    const { html } = await drawbridge
      .browser()
      .visit(drawbridge.authorizeUrl(hostile, { login_hint: 'ada@example.com"><b>' }))
    expect(html).not.toContain('<script')
    expect(html).not.toContain('"><b>')
    expect(html).toContain('ada@example.com&quot;&gt;')
  })

  it('the login page says so if the provider is down, and works again afterwards', async () => {
    const other = await startDrawbridge()
    const { client_id: id } = await other.register()
    other.admin.setFaults({ failNext: { status: 503, count: 1 } })
    const { response, html } = await other.browser().visit(other.authorizeUrl(id))
    expect(response?.status).toBe(503)
    expect(response?.headers.get('retry-after')).toBe('5')
    expect(html).toContain('not available right now')
    expect((await other.browser().visit(other.authorizeUrl(id))).status).toBe(200)
    await other.close()
  })
})

describe('POST /oauth/authorize', () => {
  it('OAuth 2.1 7.7: a wrong password, an unknown and a banned account look the same, and keep the typed email', async () => {
    const admin = drawbridge.admin
    await admin?.createUser({ email: 'banned@example.com', password: account.password, banned: true })
    const browser = drawbridge.browser()
    const login = await browser.visit(drawbridge.authorizeUrl(clientId))
    const seen = []
    for (const [email, password] of [
      [account.email, 'wrong'],
      ['nobody@example.com', 'wrong'],
      ['banned@example.com', 'wrong'],
      ['banned@example.com', account.password],
    ] as const) {
      const { html, response } = await browser.submit(login, 'password', { email, password })
      expect(html).toContain(`value="${email}"`)
      const { 'x-request-id': id, ...headers } = Object.fromEntries(response?.headers ?? [])
      expect(id).toBeDefined()
      const body = html.replaceAll(email, '').replaceAll(/name="transaction" value="[^"]*"/g, '')
      seen.push({ status: response?.status, headers, body })
    }
    expect(seen[0]).toMatchObject({
      status: 400,
      body: expect.stringContaining('Wrong email or password'),
    })
    for (const each of seen) expect(each).toEqual(seen[0])
    const again = await browser.submit(login, 'password', account)
    expect(again.url.searchParams.has('code')).toBe(true)
  })

  it('RFC 6749 4.1.2.1: cancelling returns access_denied to the client', async () => {
    const browser = drawbridge.browser()
    const login = await browser.visit(drawbridge.authorizeUrl(clientId))
    const { url } = await browser.submit(login, 'action', { action: 'deny' })
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      error: 'access_denied',
      state: 'state-1',
      iss: baseUrl,
    })
  })

  it('several tabs of one browser can sign in at once', async () => {
    const browser = drawbridge.browser()
    const first = await browser.visit(drawbridge.authorizeUrl(clientId, { state: 'first' }))
    const second = await browser.visit(drawbridge.authorizeUrl(clientId, { state: 'second' }))
    expect((await browser.submit(first, 'password', account)).url.searchParams.get('state')).toBe('first')
    expect((await browser.submit(second, 'password', account)).url.searchParams.get('state')).toBe('second')
  })

  it('MCP security Confused-Deputy, RFC 6749 10.12: login CSRF: a page of one browser is useless in another', async () => {
    const login = await drawbridge.browser().visit(drawbridge.authorizeUrl(clientId))
    const other = drawbridge.browser()
    await other.visit(drawbridge.authorizeUrl(clientId))
    const stolen = await other.submit(login, 'password', account)
    expect(stolen.status).toBe(403)
    expect(stolen.html).toContain('another browser')
    const fresh = await drawbridge.browser().submit(login, 'password', account)
    expect(fresh.status).toBe(403)
  })

  it('the login page refuses a form that is too large or of another type', async () => {
    const large = await drawbridge.postForm('/oauth/authorize', { transaction: 'x'.repeat(70_000) })
    expect(await large.text()).toContain('cannot be read')
    const json = await drawbridge.fetch('/oauth/authorize', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    })
    expect(json.status).toBe(400)
  })

  it('a login page that was open for over an hour says so', async () => {
    const other = await startDrawbridge()
    const { client_id: id } = await other.register()
    const browser = other.browser()
    const login = await browser.visit(other.authorizeUrl(id))
    other.runtime.advance(3601)
    const { html, response } = await browser.submit(login, 'password', account)
    expect(response?.status).toBe(400)
    expect(html).toContain('has expired')
    await other.close()
  })
})
