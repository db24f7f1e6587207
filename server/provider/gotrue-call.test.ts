import { afterEach, describe, expect, it, vi } from 'vitest'
import type { ProviderError, ProviderFailure } from '../core/session-provider.ts'
import { callGotrue, type GotrueRequest } from './gotrue-call.ts'

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

const answering =
  (response: () => Response) =>
  (request: GotrueRequest): Promise<unknown> =>
    callGotrue(address, request, { fetch: async () => response() })

/** The failure of `request` when the API gives `response`. */
async function failureOf(request: GotrueRequest, response: () => Response): Promise<ProviderError> {
  const result = await answering(response)(request).catch((error: unknown) => error)
  expect(result).toMatchObject({ name: 'ProviderError' })
  return result as ProviderError
}

const refusing = (status: number, code: string) => () => Response.json({ code, message: 'text' }, { status })

describe('the request', () => {
  async function sent(request: GotrueRequest, apiKey: string | undefined = address.apiKey): Promise<Request> {
    let seen: Request | undefined
    await callGotrue({ ...address, apiKey }, request, {
      async fetch(given) {
        seen = given
        return Response.json({})
      },
    })
    if (!seen) throw new Error('Nothing was sent.')
    return seen
  }

  it('carries the key as apikey only: it is no token', async () => {
    const { url, method, headers } = await sent(password)
    expect([method, url]).toEqual(['POST', `${address.url}/token?grant_type=password`])
    expect(Object.fromEntries(headers)).toEqual({
      accept: 'application/json',
      apikey: 'sb_publishable_key',
      'content-type': 'application/json;charset=UTF-8',
      'x-supabase-api-version': '2024-01-01',
    })
  })

  it('sends its body as JSON and secrets nowhere else', async () => {
    const request = await sent(password)
    expect(await request.json()).toEqual(password.body)
    expect(request.url).not.toContain('hunter2')
  })

  it('carries a bearer token when there is one, and no key when none is configured', async () => {
    const { headers } = await sent({ method: 'POST', path: '/logout', bearer: 'token' })
    expect(headers.get('authorization')).toBe('Bearer token')
    const bare = await callGotrue(
      { ...address, apiKey: undefined },
      { method: 'GET', path: '/settings' },
      {
        fetch: async (request) => Response.json(Object.fromEntries(request.headers)),
      },
    )
    expect(bare).toEqual({ accept: 'application/json', 'x-supabase-api-version': '2024-01-01' })
  })

  it('waits at most eight seconds, less than a lease, and follows no redirect with its secrets', async () => {
    const timeout = vi.spyOn(AbortSignal, 'timeout')
    expect((await sent(refresh)).redirect).toBe('error')
    expect(timeout.mock.calls).toEqual([[8000]])
  })
})

describe('a good answer', () => {
  it('is its JSON', async () => {
    expect(await answering(() => Response.json({ a: 1 }))(password)).toEqual({ a: 1 })
  })
  it('204 is nothing', async () => {
    expect(await answering(() => new Response(null, { status: 204 }))(password)).toBeUndefined()
  })
})

describe('answers that nobody can read', () => {
  it.each<[what: string, response: () => Response, failure: ProviderFailure]>([
    ['200 with a page', () => new Response('<!doctype html>'), 'protocol'],
    ['200 with broken JSON', () => new Response('{"access_token":'), 'protocol'],
    ['200 with nothing', () => new Response(''), 'protocol'],
    ['200 with more than a megabyte', () => new Response(`"${'x'.repeat(1_000_001)}"`), 'protocol'],
    ['502 with a page', () => new Response('<html>Bad gateway</html>', { status: 502 }), 'transient'],
    ['503 with nothing', () => new Response('', { status: 503 }), 'transient'],
    ['400 with a page', () => new Response('<html>', { status: 400 }), 'protocol'],
    ['400 with null', () => Response.json(null, { status: 400 }), 'protocol'],
    ['400 with a list', () => Response.json(['invalid_credentials'], { status: 400 }), 'protocol'],
  ])('%s', async (_what, response, failure) => {
    expect((await failureOf(password, response)).failure).toBe(failure)
  })
})

describe('no answer', () => {
  it.each<[what: string, error: Error]>([
    ['no connection', new TypeError('fetch failed')],
    ['a timeout', new DOMException('The operation was aborted due to timeout', 'TimeoutError')],
    ['a redirect', new TypeError('unexpected redirect')],
  ])('%s is transient and keeps its cause', async (_what, error) => {
    const result = callGotrue(address, refresh, { fetch: () => Promise.reject(error) })
    await expect(result).rejects.toMatchObject({ failure: 'transient', cause: error })
  })

  it('an answer that breaks off is transient', async () => {
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('{"access_token":"x'))
        controller.error(new TypeError('terminated'))
      },
    })
    expect((await failureOf(refresh, () => new Response(body))).failure).toBe('transient')
  })
})

describe('the three shapes of an error body', () => {
  it.each<[what: string, body: unknown]>([
    ['since 2024-01-01', { code: 'invalid_credentials', message: 'Invalid login credentials' }],
    ['before', { code: 400, error_code: 'invalid_credentials', msg: 'Invalid login credentials' }],
    ['OAuth endpoints', { error: 'invalid_credentials', error_description: 'Invalid login credentials' }],
  ])('%s', async (_what, body) => {
    const failure = await failureOf(password, () => Response.json(body, { status: 400 }))
    expect(failure.failure).toBe('invalid_credentials')
  })

  it('the text of an error decides nothing', async () => {
    const body = { code: 'unexpected_failure', message: 'invalid_credentials', msg: 'user_banned' }
    expect((await failureOf(password, () => Response.json(body, { status: 500 }))).failure).toBe('transient')
  })

  it.each(['constructor', '__proto__', 'toString'])('a code named %s is an unknown one', async (code) => {
    expect((await failureOf(password, refusing(400, code))).failure).toBe('protocol')
  })
})

describe('sign-in failures', () => {
  it.each<[code: string, status: number, failure: ProviderFailure]>([
    ['invalid_credentials', 400, 'invalid_credentials'],
    ['invalid_credentials', 422, 'invalid_credentials'],
    // Told apart, these would say which accounts exist.
    ['user_banned', 400, 'invalid_credentials'],
    ['user_banned', 403, 'invalid_credentials'],
    ['email_not_confirmed', 400, 'email_unconfirmed'],
    ['over_request_rate_limit', 429, 'rate_limited'],
    ['something_else', 429, 'rate_limited'],
    ['email_provider_disabled', 422, 'disabled'],
    ['provider_disabled', 422, 'disabled'],
    ['flow_state_not_found', 404, 'expired'],
    ['flow_state_expired', 422, 'expired'],
    ['bad_code_verifier', 400, 'expired'],
    ['conflict', 409, 'transient'],
    ['request_timeout', 408, 'transient'],
    ['request_timeout', 504, 'transient'],
    ['unexpected_failure', 500, 'transient'],
    ['no_authorization', 401, 'protocol'],
    ['validation_failed', 400, 'protocol'],
    ['not_found', 404, 'protocol'],
  ])('%s (%i): %s', async (code, status, failure) => {
    expect((await failureOf(password, refusing(status, code))).failure).toBe(failure)
  })
})

describe('refresh failures: only a definitive refusal is terminal', () => {
  const terminal = [
    'refresh_token_not_found',
    'refresh_token_already_used',
    'session_not_found',
    'session_expired',
    'user_banned',
    'user_not_found',
  ]
  it.each(terminal.flatMap((code) => [400, 401, 403].map((status) => [code, status] as const)))(
    '%s (%i): terminal',
    async (code, status) => {
      expect((await failureOf(refresh, refusing(status, code))).failure).toBe('terminal')
    },
  )

  it.each<[code: string, status: number]>([
    ['conflict', 409],
    ['over_request_rate_limit', 429],
    ['unexpected_failure', 500],
    ['request_timeout', 504],
    ['no_authorization', 401],
    ['bad_jwt', 403],
    ['validation_failed', 400],
    ['invalid_credentials', 400],
    ['email_not_confirmed', 400],
    // The right code with a status that says something else.
    ['refresh_token_not_found', 404],
    ['session_not_found', 429],
    ['session_not_found', 502],
    ['refresh_token_not_found ', 400],
    ['REFRESH_TOKEN_NOT_FOUND', 400],
  ])('%s (%i): transient', async (code, status) => {
    expect((await failureOf(refresh, refusing(status, code))).failure).toBe('transient')
  })

  it.each([400, 401, 403, 404, 418, 500, 502, 530])('%i without a code: transient', async (status) => {
    expect((await failureOf(refresh, () => new Response('<html>', { status }))).failure).toBe('transient')
    expect((await failureOf(refresh, () => Response.json({}, { status }))).failure).toBe('transient')
  })

  it('a wrong API key at the gateway ends no session', async () => {
    const gateway = () => Response.json({ message: 'Invalid API key' }, { status: 401 })
    expect((await failureOf(refresh, gateway)).failure).toBe('transient')
  })

  it.each([
    ['30', 30],
    ['0', 0],
    ['Fri, 31 Dec 2027 23:59:59 GMT', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    ['9999999', undefined],
    ['', undefined],
  ])('Retry-After %j: %s', async (text, seconds) => {
    const headers = { 'retry-after': text }
    const failure = await failureOf(refresh, () => new Response('', { status: 429, headers }))
    expect(failure.retryAfterSeconds).toBe(seconds)
  })
})

describe('the message of a failure', () => {
  it.each([refresh, password])('holds nothing of the request but its path: $path', async (request) => {
    const { message } = await failureOf(request, () =>
      Response.json({ code: 'bad', message: 'a-secret-refresh-token hunter2' }, { status: 400 }),
    )
    expect(message).toBe('The auth API refused POST /token: 400 bad')
  })
})
