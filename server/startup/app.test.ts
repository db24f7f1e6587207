import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { createSignal, settledWithin } from '@drawbridge/shared/async.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { temporaryFolder } from '../../tests/support/temporary-folder.ts'
import type { RawRequest } from '../http/listener/guarded-server.ts'
import {
  account,
  appUrl,
  type DrawbridgeFixture,
  redirectUri,
  startDrawbridge,
} from '../../tests/support/server/drawbridge-fixture.ts'
import { createFakeRuntime } from '../../tests/support/server/fake-runtime.ts'

let drawbridge: DrawbridgeFixture
let isClosed: boolean
beforeEach(() => void (isClosed = false))
afterEach(() => (isClosed ? undefined : drawbridge.close()))

it('Spec 1, Spec 5.2: the whole way, in one process: registers, signs in with the password, redeems the code and calls tools as the user', async () => {
  drawbridge = await startDrawbridge()
  const { client_id: clientId } = await drawbridge.register()
  const { url } = await drawbridge.signIn(clientId)
  expect(url.href.startsWith(`${redirectUri}?`)).toBe(true)
  expect(url.searchParams.get('state')).toBe('state-1')
  expect(url.searchParams.get('iss')).toBe('http://localhost:8787')
  const answer = await drawbridge.redeem(clientId, url.searchParams.get('code') ?? '')
  expect(answer.status).toBe(200)
  const tokens = (await answer.json()) as { access_token: string }
  expect(await drawbridge.callTool(tokens.access_token, 'whoami')).toEqual({
    text: `You are ${account.email}.`,
    isError: false,
  })
  const added = await drawbridge.callTool(tokens.access_token, 'add_note', { text: 'from a tool' })
  expect(added.text).toMatch(/^Added note /)
  expect((await drawbridge.callTool(tokens.access_token, 'list_notes')).text).toContain('from a tool')
})

it.each([
  ['the connect page', '/', 200],
  ['the login page', '/account/connections', 200],
  ['the page of a device', '/oauth/device', 200],
  ['an error of the login flow', '/oauth/authorize', 400],
  ['the page that is not found', '/nowhere', 404],
])('the app has the look of %s', async (_name, path, status) => {
  const folder = temporaryFolder()
  const appLogo = join(folder, 'logo')
  const logo = '<svg xmlns="http://www.w3.org/2000/svg"/>'
  writeFileSync(appLogo, logo)
  drawbridge = await startDrawbridge({ appName: 'Notes', appLogo, appAccent: '#6d28d9' })
  const answer = await drawbridge.fetch(path, { headers: { accept: 'text/html' } })
  expect(answer.status).toBe(status)
  const page = await answer.text()
  expect(page).toContain(`src="data:image/svg+xml;base64,${btoa(logo)}" alt="Notes"`)
  const [, sheet = ''] = /<style>([\s\S]*?)<\/style>/.exec(page) ?? []
  expect(sheet).toContain('--accent: #9969e4;')
  const hash = createHash('sha256').update(sheet).digest('base64')
  expect(answer.headers.get('content-security-policy')).toContain(`style-src 'sha256-${hash}'`)
})

it.each<[header: string, value: string]>([
  ['forwarded', 'for=203.0.113.1'],
  ['x-forwarded-for', '203.0.113.1'],
  ['x-forwarded-host', 'mcp.example.com'],
  ['x-forwarded-proto', 'https'],
])('the embedded provider refuses requests that a proxy sent with %s', async (header, value) => {
  drawbridge = await startDrawbridge()
  for (const path of ['/', '/auth/v1/settings', '/google/authorize', '/api/notes']) {
    const ask = (headers: Record<string, string>): Promise<Response> | undefined =>
      drawbridge.app.sandbox?.fetch(new Request(`${appUrl}${path}`, { headers }))
    expect((await ask({}))?.status).not.toBe(403)
    const refused = await ask({ [header]: value })
    expect([refused?.status, await refused?.text()]).toEqual([403, expect.stringContaining('PROVIDER')])
  }
})

it('the login page of a trial leads to where an account is created, and back', async () => {
  drawbridge = await startDrawbridge()
  const { client_id: clientId } = await drawbridge.register()
  const url = drawbridge.authorizeUrl(clientId)
  const { html } = await drawbridge.browser().visit(url)
  const link = /href="([^"]*\/sign-up[^"]*)"/.exec(html)?.[1] ?? ''
  const { origin, searchParams } = new URL(link)
  expect([origin, searchParams.get('return_to')]).toEqual([appUrl, String(url)])
})

it('a shutdown waits for a mail that is being sent, and its link is kept', async () => {
  const sending = createSignal()
  const runtime = createFakeRuntime()
  const { sleep } = runtime
  runtime.sleep = (ms) => (ms === 3000 ? sending.given : sleep(ms))
  drawbridge = await startDrawbridge({ emailSignIn: 'link' }, runtime)
  const { client_id: clientId } = await drawbridge.register()
  const browser = drawbridge.browser()
  const login = await browser.visit(drawbridge.authorizeUrl(clientId))
  drawbridge.admin.setFaults({ latencyMs: 3000 })
  const page = await browser.submit(login, 'email', { email: account.email, action: 'email' })
  expect(page.html).toContain('Check your email')
  const closing = drawbridge.close()
  isClosed = true
  expect(await settledWithin(closing, 50)).toBe('waiting')
  sending.give()
  await closing
  expect(drawbridge.events('email_requested')).toHaveLength(1)
  expect(drawbridge.events('email_link_lost')).toEqual([])
})

it('the id of a request is another each time, and neither tells how many there were nor which process answers', async () => {
  drawbridge = await startDrawbridge()
  const ids: string[] = []
  for (let count = 0; count < 20; count += 1) {
    const { headers } = await drawbridge.fetch('/healthz')
    ids.push(headers.get('x-request-id') ?? '')
  }
  expect(new Set(ids).size).toBe(20)
  for (const id of ids) expect(id).toMatch(/^[\w-]{16}$/)
  // What is the same at the same place in all of them would be something other than chance.
  const places = Array.from({ length: 16 }, (_, place) => new Set(ids.map((id) => id[place])).size)
  expect(Math.min(...places)).toBeGreaterThan(1)
})

describe('which good answers prove an Authorization header, for the time of a flood', () => {
  /** Whether the header of a good request to `path` is let in while its address floods. */
  async function passes(
    path: string,
    form: Record<string, string>,
    id: string,
    secret: string,
  ): Promise<boolean> {
    const authorization = `Basic ${btoa(`${encodeURIComponent(id)}:${secret}`)}`
    const { status } = await drawbridge.postForm(path, form, { authorization })
    expect(status).toBe(200)
    const { gate } = drawbridge.app
    const socket = { remoteAddress: '203.0.113.1' } as Socket
    const asked = (headers: RawRequest['headers'] = {}): RawRequest => ({
      method: 'POST',
      url: path,
      headers,
      socket,
    })
    gate.answered(asked({ authorization }), status)
    for (let count = 0; count < 200; count += 1) gate.answered(asked(), 401)
    expect(gate.refuse(asked())?.status).toBe(429)
    return gate.refuse(asked({ authorization })) === undefined
  }

  it('a good answer to introspection by a client with a secret proves its Authorization header', async () => {
    drawbridge = await startDrawbridge()
    const { client_id: id, client_secret: secret = '' } = await drawbridge.register({
      token_endpoint_auth_method: 'client_secret_basic',
    })
    expect(await passes('/oauth/introspect', { token: 'unknown' }, id, secret)).toBe(true)
  })

  it.each(['/oauth/revoke', '/oauth/device_authorization'])(
    'a good answer to %s proves no credential: a public client gets one there with a secret that it made up',
    async (path) => {
      drawbridge = await startDrawbridge()
      const { client_id: id } = await drawbridge.register({
        grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'],
      })
      expect(await passes(path, { token: 'unknown' }, id, 'made-up')).toBe(false)
    },
  )
})
