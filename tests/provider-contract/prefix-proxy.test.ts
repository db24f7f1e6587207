import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Listener, listen } from '../../server/http/listener/listener.ts'
import { type PrefixProxy, startPrefixProxy } from './prefix-proxy.ts'

let listener: Listener
let proxy: PrefixProxy

beforeAll(async () => {
  listener = await listen(
    async (request) => {
      const { pathname, search } = new URL(request.url)
      if (pathname === '/moved') return Response.redirect('https://elsewhere.example/', 302)
      if (pathname === '/nothing') return new Response(null, { status: 204 })
      const { method, headers } = request
      const answer = {
        method,
        path: pathname + search,
        key: headers.get('apikey'),
        body: await request.text(),
      }
      return Response.json(answer, { status: 201, headers: { 'x-own': 'kept' } })
    },
    { host: '127.0.0.1', port: 0 },
  )
  proxy = await startPrefixProxy(`http://127.0.0.1:${listener.port}`)
})
afterAll(async () => {
  await proxy?.close()
  await listener?.close()
})

it('strips the prefix and passes on method, query, headers, body and status', async () => {
  const response = await fetch(`${proxy.projectUrl}/auth/v1/token?grant_type=pkce`, {
    method: 'POST',
    headers: { apikey: 'key' },
    body: '{"a":1}',
  })
  expect([response.status, response.headers.get('x-own')]).toEqual([201, 'kept'])
  expect(await response.json()).toEqual({
    method: 'POST',
    path: '/token?grant_type=pkce',
    key: 'key',
    body: '{"a":1}',
  })
})

it('passes redirects and empty answers on as they are', async () => {
  const moved = await fetch(`${proxy.projectUrl}/auth/v1/moved`, { redirect: 'manual' })
  expect([moved.status, moved.headers.get('location')]).toEqual([302, 'https://elsewhere.example/'])
  expect((await fetch(`${proxy.projectUrl}/auth/v1/nothing`)).status).toBe(204)
})

it.each(['/', '/token', '/auth/v10/token'])(
  'answers 404 for %s, which is not below the prefix',
  async (path) => {
    expect((await fetch(proxy.projectUrl + path)).status).toBe(404)
  },
)
