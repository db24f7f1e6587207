import { afterAll, describe, expect, it } from 'vitest'
import {
  baseUrl,
  type DrawbridgeFixture,
  redirectUri,
  startDrawbridge,
} from '../../../tests/support/server/drawbridge-fixture.ts'

const drawbridge = await startDrawbridge()
afterAll(() => drawbridge.close())

describe('limits of registration', () => {
  const register = (own: DrawbridgeFixture, address?: string): Promise<Response> => {
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' })
    const request = new Request(`${baseUrl}/oauth/register`, { method: 'POST', headers, body })
    return own.app.fetch(request, { address })
  }

  it('RFC 7591 3: a registration over the limit of its address is answered 429 with Retry-After, and not stored', async () => {
    const own = await startDrawbridge({ registrationLimit: '2' })
    const answers = []
    for (let index = 0; index < 3; index += 1) answers.push(await register(own, '192.0.2.1'))
    expect(answers.map(({ status }) => status)).toEqual([201, 201, 429])
    const [, , limited] = answers
    expect(limited?.headers.get('retry-after')).toBe('3600')
    expect(limited?.headers.get('access-control-allow-origin')).toBe('*')
    expect(await limited?.json()).toEqual({
      error: 'temporarily_unavailable',
      error_description: 'Too many registrations from this address. Try again in 3600 seconds.',
    })
    expect(await own.app.store.listClients({ after: '', limit: 10 })).toHaveLength(2)
    expect((await register(own, '192.0.2.2')).status).toBe(201)
    await own.close()
  })

  it('MCP auth Overview: with REGISTRATION off the endpoint does not exist', async () => {
    const own = await startDrawbridge({ registration: 'off' })
    expect((await register(own)).status).toBe(404)
    const managed = await own.fetch('/oauth/register/mcpc_a', { headers: { authorization: 'Bearer mcpm_a' } })
    expect(managed.status).toBe(404)
    await own.close()
  })
})

it('a registration whose login page was shown can be used for thirty days, one that was not for one day', async () => {
  const own = await startDrawbridge()
  const [shown, other] = [(await own.register()).client_id, (await own.register()).client_id]
  await own.browser().visit(own.authorizeUrl(shown))
  const open = async (id: string) => (await own.browser().visit(own.authorizeUrl(id))).status
  own.runtime.advance(86_400)
  await own.app.store.collectExpired(own.runtime.now(), 1000)
  expect([await open(shown), await open(other)]).toEqual([200, 400])
  own.runtime.advance(30 * 86_400 - 1)
  await own.app.store.collectExpired(own.runtime.now(), 1000)
  expect((await own.signIn(shown)).url.searchParams.has('code')).toBe(true)
  await own.close()
})

it('a registration whose login page is open is not trimmed for ten minutes, however many others come from its network', async () => {
  const { client_id: waiting } = await drawbridge.register()
  await drawbridge.browser().visit(drawbridge.authorizeUrl(waiting))
  drawbridge.runtime.advance(300)
  const { client_id: newer } = await drawbridge.register()
  const { store } = drawbridge.app
  const trim = (): Promise<number> => store.trimClients(0, 1000, drawbridge.runtime.now() - 600)
  expect(await trim()).toBeGreaterThan(0)
  expect(await store.findClient(newer)).toBeUndefined()
  expect(await store.findClient(waiting)).toBeDefined()
  drawbridge.runtime.advance(301)
  expect(await trim()).toBe(1)
  expect(await store.findClient(waiting)).toBeUndefined()
})
