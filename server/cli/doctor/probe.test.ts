import { expect, it } from 'vitest'
import { probe, redirectOf } from './probe.ts'

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

it('a probe reads a million characters of a body at most, however long it is', async () => {
  let parts = 0
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      parts += 1
      if (parts > 100) controller.close()
      else controller.enqueue(new Uint8Array(100_000).fill(0x61))
    },
  })
  const found = await probe(url, answering(new Response(body)))
  expect(found.kind === 'answered' && found.text.length).toBe(1_000_000)
  expect(parts).toBeLessThan(20)
})

it.each([
  [302, 'https://sign-in.example/start?token=secret#part', 'to https://sign-in.example/start'],
  [308, '/other', 'to /other'],
  [301, undefined, 'to nowhere'],
  [200, '/other', undefined],
  [401, '/other', undefined],
])(
  'the target of a response with status %i and Location %s is shown as %s',
  async (status, location, shown) => {
    const headers = location === undefined ? {} : { location }
    const found = await probe(url, answering(new Response(null, { status, headers })))
    expect(redirectOf(found)).toBe(shown)
  },
)
