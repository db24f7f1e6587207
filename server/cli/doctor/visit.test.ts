import { describe, expect, it } from 'vitest'
import { visit } from './visit.ts'

const url = 'https://provider.example/settings'

function answering(answer: () => Response | Promise<Response>): {
  fetch: (request: Request) => Promise<Response>
} {
  return { fetch: async () => answer() }
}

function failing(failure: Error): { fetch: () => Promise<Response> } {
  return { fetch: () => Promise.reject(failure) }
}

describe('visit', () => {
  it('answers status, headers and a JSON object', async () => {
    const runtime = answering(() => Response.json({ a: 1 }, { status: 401, headers: { date: 'now' } }))
    const found = await visit(url, runtime)
    expect(found).toMatchObject({ kind: 'answered', status: 401, json: { a: 1 } })
    expect(found.kind === 'answered' && found.headers.get('date')).toBe('now')
  })

  it.each(['', '<html>', '[1]', 'null'])('%j is no JSON object', async (body) => {
    expect(
      await visit(
        url,
        answering(() => new Response(body)),
      ),
    ).toMatchObject({ status: 200, json: undefined })
  })

  it('sends what it is given, and follows no redirect', async () => {
    let seen: Request | undefined
    const fetch = async (request: Request): Promise<Response> => {
      seen = request
      return new Response('')
    }
    await visit(url, { fetch }, { method: 'POST', headers: { apikey: 'key' }, body: '{}' })
    expect([seen?.method, seen?.redirect, seen?.headers.get('apikey')]).toEqual(['POST', 'manual', 'key'])
  })

  it.each([
    ['ECONNREFUSED', 'nothing listens there'],
    ['ENOTFOUND', 'its host name is not known'],
    ['CERT_HAS_EXPIRED', 'its certificate has expired'],
    ['EWHATEVER', 'EWHATEVER'],
  ])('%s is said as "%s"', async (code, reason) => {
    const error = new TypeError('fetch failed', { cause: Object.assign(new Error('secret'), { code }) })
    expect(await visit(url, failing(error))).toEqual({ kind: 'unreachable', reason })
  })

  it('an error without a code says nothing of its text', async () => {
    const found = await visit(url, failing(new TypeError('https://user:password@host')))
    expect(found).toEqual({ kind: 'unreachable', reason: 'the request failed' })
  })

  it('no answer in time is said as such', async () => {
    const found = await visit(url, failing(new DOMException('timed out', 'TimeoutError')))
    expect(found).toEqual({ kind: 'unreachable', reason: 'no answer within 5 seconds' })
  })

  it('an answer that breaks off is no answer', async () => {
    const body = new ReadableStream({
      pull: (controller) => controller.error(Object.assign(new Error(), { code: 'ECONNRESET' })),
    })
    expect(
      await visit(
        url,
        answering(() => new Response(body)),
      ),
    ).toEqual({
      kind: 'unreachable',
      reason: 'the connection was cut',
    })
  })
})
