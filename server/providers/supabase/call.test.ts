import { afterEach, describe, expect, it, vi } from 'vitest'
import { start } from '../../../tests/support/server/core/grant-sample.ts'
import { callGotrue, type GotrueAnswer, type GotrueRequest } from './call.ts'

const address = { url: 'https://ref.supabase.co/auth/v1', apiKey: 'sb_publishable_key' }
const refresh: GotrueRequest = {
  method: 'POST',
  path: '/token?grant_type=refresh_token',
  body: { refresh_token: 'a-secret-refresh-token' },
}
const password: GotrueRequest = {
  method: 'POST',
  path: '/token?grant_type=password',
  body: { email: 'ada@example.com', password: 'hunter2' },
}

afterEach(() => {
  vi.restoreAllMocks()
})

/** Returns the result of `request` when the API sends `response`. */
function answerTo(request: GotrueRequest, response: () => Response): Promise<GotrueAnswer> {
  return callGotrue(address, request, { now: () => start, fetch: async () => response() })
}

const refusal = (status: number, code?: string) => ({
  kind: 'refusal',
  call: 'POST /token',
  status,
  code,
  retryAfterSeconds: undefined,
})

describe('the request', () => {
  async function sent(request: GotrueRequest, apiKey: string | undefined = address.apiKey): Promise<Request> {
    let seen: Request | undefined
    await callGotrue({ ...address, apiKey }, request, {
      now: () => start,
      async fetch(given) {
        seen = given
        return Response.json({})
      },
    })
    if (!seen) throw new Error('Nothing was sent.')
    return seen
  }

  it('a Supabase request sends the key as apikey only, not as a token', async () => {
    const { url, method, headers } = await sent(password)
    expect([method, url]).toEqual(['POST', `${address.url}/token?grant_type=password`])
    expect(Object.fromEntries(headers)).toEqual({
      accept: 'application/json',
      apikey: 'sb_publishable_key',
      'content-type': 'application/json;charset=UTF-8',
      'x-supabase-api-version': '2024-01-01',
    })
  })

  it('a Supabase request sends its body as JSON and secrets nowhere else', async () => {
    const request = await sent(password)
    expect(await request.json()).toEqual(password.body)
    expect(request.url).not.toContain('hunter2')
  })

  it('a Supabase request carries a bearer token if there is one, and no key if none is configured', async () => {
    const { headers } = await sent({ method: 'POST', path: '/logout', bearer: 'token' })
    expect(headers.get('authorization')).toBe('Bearer token')
    const bare = await callGotrue(
      { ...address, apiKey: undefined },
      { method: 'GET', path: '/settings' },
      {
        now: () => start,
        fetch: async (request) => Response.json(Object.fromEntries(request.headers)),
      },
    )
    expect(bare).toEqual({
      kind: 'success',
      body: { accept: 'application/json', 'x-supabase-api-version': '2024-01-01' },
    })
  })

  it('a Supabase request waits at most eight seconds, less than a lease, and follows no redirect with its secrets', async () => {
    const timeout = vi.spyOn(AbortSignal, 'timeout')
    expect((await sent(refresh)).redirect).toBe('error')
    expect(timeout.mock.calls).toEqual([[8000]])
    await sent({ ...refresh, timeoutMs: 20_000 })
    expect(timeout.mock.calls.at(-1)).toEqual([20_000])
  })
})

it.each<[what: string, response: () => Response, body: unknown]>([
  ['JSON', () => Response.json({ a: 1 }), { a: 1 }],
  ['nothing', () => new Response(null, { status: 204 }), undefined],
  ['a page', () => new Response('<!doctype html>'), undefined],
  ['broken JSON', () => new Response('{"access_token":'), undefined],
])('a good answer: %s', async (_what, response, body) => {
  expect(await answerTo(password, response)).toEqual({ kind: 'success', body })
})

describe('the shapes of an error', () => {
  it.each<[what: string, body: unknown]>([
    ['since 2024-01-01', { code: 'invalid_credentials', message: 'Invalid login credentials' }],
    ['before', { code: 400, error_code: 'invalid_credentials', msg: 'Invalid login credentials' }],
    ['OAuth endpoints', { error: 'invalid_credentials', error_description: 'Invalid login credentials' }],
  ])('the code of an error is found in the shape of %s', async (_what, body) => {
    const answer = await answerTo(password, () => Response.json(body, { status: 400 }))
    expect(answer).toEqual(refusal(400, 'invalid_credentials'))
  })

  it('an error code is read from a header if the body has none', async () => {
    const init = { status: 400, headers: { 'x-sb-error-code': 'user_banned' } }
    expect(await answerTo(password, () => new Response('<html>', init))).toEqual(refusal(400, 'user_banned'))
    expect(await answerTo(password, () => Response.json({ code: 'bad_json' }, init))).toEqual(
      refusal(400, 'bad_json'),
    )
  })

  it.each<[what: string, response: () => Response, status: number]>([
    ['a page', () => new Response('<html>Bad gateway</html>', { status: 502 }), 502],
    ['text only', () => Response.json({ message: 'invalid_credentials' }, { status: 400 }), 400],
    [
      'a sentence for a code',
      () => Response.json({ error: 'requested path is invalid' }, { status: 404 }),
      404,
    ],
    ['a code without end', () => Response.json({ code: 'x'.repeat(65) }, { status: 400 }), 400],
  ])('an error in %s has no code', async (_what, response, status) => {
    expect(await answerTo(password, response)).toEqual(refusal(status))
  })
})

it.each<[status: number, text: string, seconds: number | undefined]>([
  [429, '30', 30],
  [503, '30', 30],
  [429, new Date((start + 60) * 1000).toUTCString(), 60],
  [500, '30', undefined],
  [400, '30', undefined],
])('Retry-After of a %i that says %j: %s', async (status, text, seconds) => {
  const headers = { 'retry-after': text }
  const answer = await answerTo(refresh, () => new Response('', { status, headers }))
  expect(answer).toEqual({ ...refusal(status), retryAfterSeconds: seconds })
})

describe('a redirect', () => {
  const location = 'https://app.example.com/consent?authorization_id=1'
  const redirect = (status: number) => () => Response.json({ a: 1 }, { status, headers: { location } })

  it('of a Supabase request that expects one is its answer, and is not followed', async () => {
    const request: GotrueRequest = {
      method: 'GET',
      path: '/oauth/authorize?client_id=1',
      expects: 'redirect',
    }
    expect(await answerTo(request, redirect(302))).toEqual({ kind: 'success', body: location })
    expect(await answerTo(request, () => Response.json({ code: 'off' }, { status: 404 }))).toMatchObject({
      kind: 'refusal',
      code: 'off',
    })
  })

  it('of any other Supabase request decides nothing', async () => {
    expect(await answerTo(password, redirect(201))).toEqual({ kind: 'success', body: { a: 1 } })
  })
})
