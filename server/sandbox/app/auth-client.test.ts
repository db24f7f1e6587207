import { describe, expect, it } from 'vitest'
import { type AuthClient, createAuthClient, explainFault, explainRedirect } from './auth-client.ts'

const AUTH = 'http://localhost:8788/auth/v1'
const SESSION = { access_token: 'a', refresh_token: 'r', expires_in: 3600, user: { id: 'u' } }

function clientOf(answer: () => Response): { auth: AuthClient; requests: Request[] } {
  const requests: Request[] = []
  const auth = createAuthClient(AUTH, async (request) => {
    requests.push(request)
    return answer()
  })
  return { auth, requests }
}

describe('a call', () => {
  it.each([
    {
      what: 'signIn',
      run: (auth: AuthClient) => auth.signIn('e', 'p'),
      path: '/token?grant_type=password',
      body: { email: 'e', password: 'p' },
    },
    {
      what: 'refresh',
      run: (auth: AuthClient) => auth.refresh('r'),
      path: '/token?grant_type=refresh_token',
      body: { refresh_token: 'r' },
    },
    {
      what: 'exchangeCode',
      run: (auth: AuthClient) => auth.exchangeCode('c', 'v'),
      path: '/token?grant_type=pkce',
      body: { auth_code: 'c', code_verifier: 'v' },
    },
    {
      what: 'signUp',
      run: (auth: AuthClient) => auth.signUp('e', 'p'),
      path: '/signup',
      body: { email: 'e', password: 'p' },
    },
  ])('$what posts JSON and returns the whole session', async ({ run, path, body }) => {
    const { auth, requests } = clientOf(() => Response.json(SESSION))
    expect(await run(auth)).toEqual({ ok: true, value: SESSION })
    const [request] = requests
    expect(request?.url).toBe(`${AUTH}${path}`)
    expect(request?.method).toBe('POST')
    expect(request?.headers.get('content-type')).toBe('application/json')
    expect(await request?.json()).toEqual(body)
  })

  it('for the user sends the token', async () => {
    const { auth, requests } = clientOf(() => Response.json({ id: 'u', email: 'e', role: 'authenticated' }))
    expect(await auth.user('token')).toEqual({ ok: true, value: { id: 'u', email: 'e' } })
    expect(requests[0]?.headers.get('authorization')).toBe('Bearer token')
  })

  it('to sign up returns no session when the address must be confirmed', async () => {
    const { auth } = clientOf(() => Response.json({ id: 'u', email: 'e' }))
    expect(await auth.signUp('e', 'p')).toEqual({ ok: true, value: undefined })
  })

  it('to sign out ends this session only, and never fails', async () => {
    const { auth, requests } = clientOf(() => new Response(null, { status: 204 }))
    await auth.signOut('token')
    expect(requests[0]?.url).toBe(`${AUTH}/logout?scope=local`)
    const down = createAuthClient(AUTH, () => Promise.reject(new TypeError('fetch failed')))
    await expect(down.signOut('token')).resolves.toBeUndefined()
  })
})

describe('an answer', () => {
  const refused = (code: string) => ({ ok: false, fault: { kind: 'refused', code } })
  const unavailable = { ok: false, fault: { kind: 'unavailable' } }

  it.each([
    {
      what: 'a refusal',
      answer: () => Response.json({ code: 'invalid_credentials', message: 'x' }, { status: 400 }),
      result: refused('invalid_credentials'),
    },
    {
      what: 'too many requests',
      answer: () => Response.json({ code: 'over_request_rate_limit' }, { status: 429 }),
      result: refused('over_request_rate_limit'),
    },
    {
      what: 'a refusal without a code',
      answer: () => Response.json({}, { status: 400 }),
      result: unavailable,
    },
    {
      what: 'a refusal in the old dialect',
      answer: () => Response.json({ code: 400, error_code: 'x' }, { status: 400 }),
      result: unavailable,
    },
    {
      what: 'a failure with a code',
      answer: () => Response.json({ code: 'unexpected_failure' }, { status: 500 }),
      result: unavailable,
    },
    {
      what: 'a page of a gateway',
      answer: () => new Response('<html>', { status: 502 }),
      result: unavailable,
    },
    { what: 'a page with a good status', answer: () => new Response('<html>'), result: unavailable },
    { what: 'a list', answer: () => Response.json([]), result: unavailable },
    { what: 'null', answer: () => Response.json(null), result: unavailable },
    {
      what: 'a session without a refresh token',
      answer: () => Response.json({ access_token: 'a' }),
      result: unavailable,
    },
    {
      what: 'a session of the wrong types',
      answer: () => Response.json({ access_token: 1, refresh_token: 'r' }),
      result: unavailable,
    },
  ])('that is $what is $result', async ({ answer, result }) => {
    expect(await clientOf(answer).auth.signIn('e', 'p')).toEqual(result)
  })

  it('that does not come is unavailable', async () => {
    const auth = createAuthClient(AUTH, () => Promise.reject(new TypeError('fetch failed')))
    expect(await auth.user('t')).toEqual(unavailable)
    expect(await auth.refresh('t')).toEqual(unavailable)
  })
})

it('the address of a Google sign-in carries everything the provider needs', () => {
  const url = new URL(
    clientOf(() => Response.json({})).auth.googleUrl('http://localhost:8788/auth/callback?a=b', 'challenge'),
  )
  expect(url.origin + url.pathname).toBe(`${AUTH}/authorize`)
  expect(Object.fromEntries(url.searchParams)).toEqual({
    provider: 'google',
    redirect_to: 'http://localhost:8788/auth/callback?a=b',
    code_challenge: 'challenge',
    code_challenge_method: 's256',
  })
})

describe('a refusal', () => {
  it('of a banned user reads like a wrong password', () => {
    const wrong = explainFault({ kind: 'refused', code: 'invalid_credentials' })
    expect(explainFault({ kind: 'refused', code: 'user_banned' })).toBe(wrong)
  })

  it.each([
    ['email_not_confirmed', /not confirmed/],
    ['user_already_exists', /Sign in instead/],
    ['weak_password', /at least 6/],
    ['over_request_rate_limit', /Wait a moment/],
    ['flow_state_expired', /took too long/],
    ['flow_state_not_found', /already been used/],
    ['unheard_of', /Try again/],
    ['constructor', /Try again/],
    ['', /Try again/],
  ])('with %j says what to do', (code, sentence) => {
    expect(explainFault({ kind: 'refused', code })).toMatch(sentence)
  })

  it('is not what a silent provider means', () => {
    expect(explainFault({ kind: 'unavailable' })).toMatch(/does not answer/)
  })
})

describe('an error in a redirect', () => {
  it.each([
    ['error=access_denied', /cancelled/],
    ['error=access_denied&error_code=user_banned', /cannot sign in/],
    ['error=server_error&error_code=flow_state_expired', /took too long/],
    ['error=server_error', /did not work/],
    ['error_description=Call+this+number', /did not work/],
    ['', /did not work/],
  ])('%j is explained in our words', (query, sentence) => {
    const text = explainRedirect(new URLSearchParams(query))
    expect(text).toMatch(sentence)
    expect(text).not.toContain('number')
  })
})
