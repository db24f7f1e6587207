import type { Socket } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import {
  account,
  baseUrl,
  codeVerifier,
  type DrawbridgeFixture,
  redirectUri,
  startDrawbridge,
  type Tokens,
} from '../../tests/support/server/drawbridge-fixture.ts'
import type { Settings } from '../config/setting-table.ts'
import type { RawRequest } from './listener/guarded-server.ts'

let drawbridge: DrawbridgeFixture | undefined
afterEach(() => drawbridge?.close())

async function start(settings: Settings = {}): Promise<DrawbridgeFixture> {
  drawbridge = await startDrawbridge(settings)
  return drawbridge
}

const metadata = {
  client_name: 'Client of 2025-03-26',
  redirect_uris: [redirectUri],
  token_endpoint_auth_method: 'none',
}

const registration = (address?: string): [Request, { address: string | undefined }] => [
  new Request(`${baseUrl}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(metadata),
  }),
  { address },
]

describe('at the root of the origin', () => {
  it('a client registers, signs in, redeems and refreshes at /register, /authorize and /token', async () => {
    const { app, authorizeUrl, browser, postForm, callTool } = await start()
    const registered = await app.fetch(...registration())
    expect(registered.status).toBe(201)
    const { client_id: clientId } = (await registered.json()) as { client_id: string }

    const visitor = browser()
    const asked = authorizeUrl(clientId)
    asked.pathname = '/authorize'
    const login = await visitor.visit(asked)
    expect(login.response?.status).toBe(200)
    const { url } = await visitor.submit(login, 'password', account)
    expect(url.href).toContain(redirectUri)
    expect(url.searchParams.get('iss')).toBe(baseUrl)

    const redeemed = await postForm('/token', {
      grant_type: 'authorization_code',
      client_id: clientId,
      code: url.searchParams.get('code') ?? '',
      code_verifier: codeVerifier,
      redirect_uri: redirectUri,
    })
    expect(redeemed.status).toBe(200)
    const first = (await redeemed.json()) as Tokens
    const refreshed = await postForm('/token', {
      grant_type: 'refresh_token',
      client_id: clientId,
      refresh_token: first.refresh_token,
    })
    expect(refreshed.status).toBe(200)
    expect(refreshed.headers.get('cache-control')).toBe('no-store')
    const tokens = (await refreshed.json()) as Tokens
    expect((await callTool(tokens.access_token, 'whoami')).text).toContain(account.email)
  })

  it('the limits are shared with the paths of the metadata', async () => {
    const { app } = await start({ registrationLimit: '2' })
    const address = '203.0.113.7'
    expect((await app.fetch(...registration(address))).status).toBe(201)
    const [{ body, headers, method }] = registration()
    const atOther = new Request(`${baseUrl}/oauth/register`, { body, headers, method, duplex: 'half' })
    expect((await app.fetch(atOther, { address })).status).toBe(201)
    const limited = await app.fetch(...registration(address))
    expect(limited.status).toBe(429)
    expect(limited.headers.get('retry-after')).not.toBeNull()
  })

  it('a refresh at /token is still judged when an address has used up what it may cause elsewhere', async () => {
    const { gate } = (await start()).app
    const request = (url: string): RawRequest => ({
      method: 'POST',
      url,
      headers: {},
      socket: { remoteAddress: '203.0.113.7' } as Socket,
    })
    while (!gate.refuse(request('/register'))) gate.answered(request('/register'), 400)
    expect(gate.refuse(request('/mcp'))?.status).toBe(429)
    expect(gate.refuse(request('/token'))).toBeUndefined()
  })

  it('a refused token request is logged as one', async () => {
    const { postForm, logged } = await start()
    const refused = await postForm('/token', { grant_type: 'refresh_token', client_id: 'mcpc_nobody' })
    expect(refused.status).toBe(401)
    expect(logged()).toContain('"event":"token_refused"')
  })

  it('the root of the origin is named in no metadata, and registrations are managed below /oauth/register', async () => {
    const { app, fetch } = await start()
    for (const name of ['oauth-authorization-server', 'openid-configuration']) {
      const document = (await (await fetch(`/.well-known/${name}`)).json()) as Record<string, unknown>
      expect(document).toMatchObject({
        authorization_endpoint: `${baseUrl}/oauth/authorize`,
        token_endpoint: `${baseUrl}/oauth/token`,
        registration_endpoint: `${baseUrl}/oauth/register`,
      })
    }
    const registered = await app.fetch(...registration())
    const { client_id: id, registration_client_uri: uri } = (await registered.json()) as Record<
      string,
      string
    >
    expect(uri).toBe(`${baseUrl}/oauth/register/${id}`)
    expect((await fetch(`/register/${id}`)).status).toBe(404)
    expect((await fetch('/register')).status).toBe(405)
    expect((await fetch('/token')).status).toBe(405)
  })

  it('/register is not found if clients may not register', async () => {
    const { app } = await start({ registration: 'off' })
    expect((await app.fetch(...registration())).status).toBe(404)
  })
})

it('a base URL with a path serves no OAuth at the root of the origin, which is not ours', async () => {
  const { app } = await start({ baseUrl: `${baseUrl}/door` })
  for (const path of ['/token', '/authorize', '/register', '/door/token']) {
    const answer = await app.fetch(new Request(baseUrl + path, { method: 'POST' }))
    expect([path, answer.status]).toEqual([path, 404])
  }
})
