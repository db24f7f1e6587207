import { expect, it } from 'vitest'
import { probe } from './probe.ts'

const url = 'https://provider.example/settings'

const answering = (answer: Response) => ({ fetch: async () => answer })

it('a probe returns status, headers and a JSON object', async () => {
  const runtime = answering(Response.json({ a: 1 }, { status: 401, headers: { date: 'now' } }))
  const found = await probe(url, runtime)
  expect(found).toMatchObject({ kind: 'answered', status: 401, json: { a: 1 } })
  expect(found.kind === 'answered' && found.headers.get('date')).toBe('now')
})

it.each(['', '<html>', '[1]', 'null'])('a probe returns no JSON object for the body %j', async (body) => {
  expect(await probe(url, answering(new Response(body)))).toMatchObject({ status: 200, json: undefined })
})

it('a probe sends method, headers and body, and follows no redirect', async () => {
  let seen: Request | undefined
  const fetch = async (request: Request): Promise<Response> => {
    seen = request
    return new Response('')
  }
  await probe(url, { fetch }, { method: 'POST', headers: { apikey: 'key' }, body: '{}' })
  expect([seen?.method, seen?.redirect, seen?.headers.get('apikey')]).toEqual(['POST', 'manual', 'key'])
})

const failed = (code?: string): Error =>
  new TypeError('https://user:password@host', { cause: Object.assign(new Error('secret'), { code }) })

it.each([
  [failed('ECONNREFUSED'), 'nothing listens there'],
  [failed('ENOTFOUND'), 'its host name is unknown'],
  [failed('CERT_HAS_EXPIRED'), 'its certificate has expired, by the clock of this machine'],
  [failed('EWHATEVER'), 'EWHATEVER'],
  [failed(), 'the request failed'],
  [new DOMException('timed out', 'TimeoutError'), 'no answer within 5 seconds'],
])('a probe describes the failure %s without its text: %s', async (thrown, reason) => {
  const found = await probe(url, { fetch: () => Promise.reject(thrown) })
  expect(found).toEqual({ kind: 'unreachable', reason })
})

it('a probe treats a response that breaks off as a failure', async () => {
  const body = new ReadableStream({
    pull: (controller) => controller.error(Object.assign(new Error(), { code: 'ECONNRESET' })),
  })
  const found = await probe(url, answering(new Response(body)))
  expect(found).toEqual({ kind: 'unreachable', reason: 'the connection was cut' })
})
