import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { readJwt } from '@drawbridge/shared/oauth/jwt.ts'
import {
  ProviderError,
  type ProviderFailure,
  type ProviderSession,
} from '../../core/session/session-provider.ts'
import type { FakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { start } from '../../../tests/support/server/core/grant-sample.ts'
import type { ControlledProvider } from '../../../tests/support/sandbox/controlled-provider.ts'
import { walkGoogle } from '../../../tests/support/sandbox/provider-fixture.ts'
import { computeTotp } from '../../sandbox/provider/accounts/totp.ts'
import {
  ada,
  answering,
  callbackUrl,
  completed,
  type GotrueFixture,
  startGotrue,
} from '../../../tests/support/server/supabase-fixture.ts'

let fixture: GotrueFixture
let runtime: FakeRuntime
let embedded: ControlledProvider
let provider: GotrueFixture['provider']

beforeEach(() => {
  fixture = startGotrue()
  ;({ runtime, embedded, provider } = fixture)
})
afterEach(() => embedded.close())

const failing = (failure: ProviderFailure, more: Partial<ProviderError> = {}) => ({
  name: 'ProviderError',
  failure,
  ...more,
})

it('a password sign-in with a token of another issuer is refused, and its session ended', async () => {
  const { id } = await embedded.admin.createUser(ada)
  const strict = fixture.configured({ issuer: 'https://other' })
  await expect(strict.passwordSignIn(ada)).rejects.toMatchObject(failing('invalid_token'))
  expect(embedded.admin.listSessions(id)).toEqual([])
})

it('a mail is waited for longer than the API waits for its mail server', async () => {
  const timeout = vi.spyOn(AbortSignal, 'timeout')
  await provider.emailStart({ email: ada.email, callbackUrl, captchaToken: undefined }).catch(() => undefined)
  const [longest] = timeout.mock.calls.flat().toSorted((a, b) => b - a)
  timeout.mockRestore()
  expect(longest).toBeGreaterThan(11_000)
})

describe('single sign-on', () => {
  const domain = 'company.example'
  const start = { domain, callbackUrl, captchaToken: undefined }

  it('single sign-on passes a captcha response on', async () => {
    embedded.admin.setCaptcha({ secret: 'solved' })
    await expect(provider.ssoStart(start)).rejects.toMatchObject(failing('captcha'))
    expect((await provider.ssoStart({ ...start, captchaToken: 'solved' })).url).toContain('/company/')
  })

  it.each([{}, { url: 1 }, { url: 'no URL' }, { url: 'javascript:alert(1)' }, null])(
    'single sign-on leads nowhere for the answer %j',
    async (body) => {
      const result = answering(() => Response.json(body)).ssoStart(start)
      await expect(result).rejects.toMatchObject(failing('protocol'))
    },
  )
})

describe('social sign-in', () => {
  it('a database that is behind by a refresh: the session is over, not in trouble for good', async () => {
    const { session } = await fixture.signInSocially()
    const refreshed = await provider.refresh(session)
    for (const { id } of embedded.admin.listSessions((await provider.verify(session.accessToken)).sub)) {
      embedded.admin.rewindSession(id)
    }
    await expect(provider.refresh(refreshed)).rejects.toMatchObject(failing('terminal'))
  })

  it('a key that is newer than the key set known here is asked for at once: the provider has just used it', async () => {
    await fixture.signInSocially()
    for (let rotations = 0; rotations < 3; rotations += 1) {
      embedded.admin.rotateSigningKey()
      runtime.advance(1)
      const { session } = await fixture.signInSocially()
      expect((await provider.verify(session.accessToken)).sub).toBeDefined()
    }
  })

  it.each([
    ['google', undefined],
    ['keycloak', 'openid'],
    ['azure', 'email'],
  ])('by %s requests the scopes that it needs besides those of the API: %s', async (method, scopes) => {
    const begun = await provider.socialStart({ method, callbackUrl })
    expect(new URL(begun.url).searchParams.get('scopes') ?? undefined).toBe(scopes)
    const params = (await walkGoogle(embedded, begun.url, '@')).searchParams
    const step = await provider.socialFinish({ params, secret: begun.secret, callbackUrl })
    expect(completed(step).identity.email).toContain('@')
  })

  it('social sign-in requests the configured scopes instead', async () => {
    const socialScopes = new Map([
      ['keycloak', 'openid profile roles'],
      ['google', undefined],
    ])
    const configured = fixture.configured({ socialScopes })
    const scopesOf = async (method: string) =>
      new URL((await configured.socialStart({ method, callbackUrl })).url).searchParams.get('scopes')
    expect(await Promise.all(['keycloak', 'google', 'azure'].map(scopesOf))).toEqual([
      'openid profile roles',
      null,
      'email',
    ])
  })

  it('social sign-in handles a return without a code without a request to the provider', async () => {
    const params = new URLSearchParams('error=access_denied')
    const returned = { params, secret: 'x'.repeat(43), callbackUrl }
    await expect(provider.socialFinish(returned)).rejects.toMatchObject(failing('denied'))
    expect(embedded.admin.counters.token.pkce).toBe(0)
  })
})

describe('a second factor', () => {
  async function enrolled() {
    const { session, identity } = await fixture.signInSocially()
    await provider.signOut(session)
    const { factorId, secret } = embedded.admin.enrollTotp(identity.sub)
    return { id: identity.sub, factorId, code: () => computeTotp(secret, runtime.now()) }
  }

  async function halfWay() {
    const account = await enrolled()
    const step = await provider.socialFinish(await fixture.returned())
    if (step.kind !== 'second_factor') throw new Error('Nothing more was asked.')
    return { ...account, ...step }
  }

  it.each(['', '..', '00000000-0000-4000-8000-000000000000', '../../user'])(
    'a second factor %j is none of the account',
    async (factorId) => {
      const { session, code } = await halfWay()
      const result = provider.verifySecondFactor({ session, factorId, code: code() })
      await expect(result).rejects.toMatchObject(failing('expired'))
    },
  )

  it.each<[what: string, challenge: unknown]>([
    ['a challenge without id', {}],
    ['a list', []],
    ['nothing', undefined],
  ])('a second factor answered with %s is a protocol failure', async (_what, challenge) => {
    const session = { accessToken: 'a', refreshToken: 'r', expiresAt: start }
    const factorId = '00000000-0000-4000-8000-000000000000'
    const odd = answering(() =>
      challenge === undefined ? new Response(null, { status: 204 }) : Response.json(challenge),
    )
    const result = odd.verifySecondFactor({ session, factorId, code: '123456' })
    await expect(result).rejects.toMatchObject(failing('protocol'))
  })

  it('a provider that takes the code and answers a session without it proves nothing', async () => {
    const { session, factorId, code, id } = await halfWay()
    const first = embedded.admin.listSessions(id)
    const lying = startLying(session)
    const result = lying.verifySecondFactor({ session, factorId, code: code() })
    await expect(result).rejects.toMatchObject(failing('protocol'))
    expect(first).toHaveLength(1)
    expect(embedded.admin.listSessions(id)).toEqual([])
  })

  /** Responds to a valid code with the previous session. */
  function startLying({ accessToken, refreshToken }: ProviderSession) {
    const before = { access_token: accessToken, refresh_token: refreshToken, expires_in: 3600 }
    return fixture.configured({}, async (request) =>
      request.url.endsWith('/verify') ? Response.json(before) : embedded.fetch(request),
    )
  }

  it('a second factor of an unsupported kind ends the half-way session', async () => {
    const { id } = await enrolled()
    const phoneOnly = fixture.configured({}, async (request) => {
      const response = await embedded.fetch(request)
      return Response.json(
        JSON.parse((await response.text()).replaceAll('"factor_type":"totp"', '"factor_type":"phone"')),
        response,
      )
    })
    const result = phoneOnly.socialFinish(await fixture.returned())
    await expect(result).rejects.toMatchObject(failing('second_factor_unusable'))
    expect(embedded.admin.listSessions(id)).toEqual([])
  })

  describe('policy require', () => {
    it('the policy require refuses an account without a second factor, and ends the session', async () => {
      const { identity } = await fixture.signInSocially()
      const before = embedded.admin.listSessions(identity.sub).length
      const requiring = fixture.configured({ secondFactor: 'require' })
      const result = requiring.socialFinish(await fixture.returned())
      await expect(result).rejects.toMatchObject(failing('second_factor_missing'))
      expect(embedded.admin.listSessions(identity.sub)).toHaveLength(before)
      expect(embedded.admin.counters.signOuts).toEqual({ global: 0, local: 1 })
    })

    it('the policy require ends a session that is refreshed without a second factor, as after the factor was deleted', async () => {
      const requiring = fixture.configured({ secondFactor: 'require' })
      const { session, factorId, code, id } = await halfWay()
      const proven = await requiring.verifySecondFactor({ session, factorId, code: code() })
      const next = await requiring.refresh(proven.session)
      expect(readJwt(next.accessToken)?.claims['aal']).toBe('aal2')
      const { session: plain } = await fixture
        .configured({ secondFactor: 'ignore' })
        .socialFinish(await fixture.returned())
        .then(completed)
      const before = embedded.admin.listSessions(id).length
      await expect(requiring.refresh(plain)).rejects.toMatchObject(failing('terminal'))
      expect(embedded.admin.listSessions(id)).toHaveLength(before - 1)
    })

    it('the policy require refuses the tokens of a sign-in without a second factor', async () => {
      const requiring = fixture.configured({ secondFactor: 'require' })
      const { session, factorId, code } = await halfWay()
      await expect(requiring.verify(session.accessToken)).rejects.toMatchObject(failing('invalid_token'))
      const signIn = await requiring.verifySecondFactor({ session, factorId, code: code() })
      expect(await requiring.verify(signIn.session.accessToken)).toEqual(signIn.identity)
    })
  })
})

it.each<[what: string, failure: ProviderFailure, response: () => Response]>([
  [
    'a wrong API key at the gateway',
    'protocol',
    () => Response.json({ message: 'Invalid API key' }, { status: 401 }),
  ],
  [
    'too many requests',
    'transient',
    () => Response.json({ code: 'over_request_rate_limit' }, { status: 429 }),
  ],
  ['a server error', 'transient', () => new Response('<html>', { status: 502 })],
  ['a page with 200', 'transient', () => new Response('<html>')],
])('a probe that meets %s says nothing: %s', async (_what, failure, response) => {
  await expect(answering(response).probe({ accessToken: 'token' })).rejects.toMatchObject(failing(failure))
})

describe('sign-out', () => {
  it('a sign-out with an expired token needs a fresh one', async () => {
    const { session } = await fixture.signInSocially()
    runtime.advance(3600)
    await expect(provider.signOut(session)).rejects.toMatchObject(failing('invalid_token'))
    await expect(provider.signOut(await provider.refresh(session))).resolves.toBeUndefined()
  })

  const session = { accessToken: 'a', refreshToken: 'r', expiresAt: start }

  it('a sign-out that is answered with 404 and a code that says so is done', async () => {
    const gone = answering(() => Response.json({ code: 'session_not_found' }, { status: 404 }))
    await expect(gone.signOut(session)).resolves.toBeUndefined()
  })

  it.each<[what: string, response: () => Response]>([
    ['a wrong API key at the gateway', () => Response.json({ message: 'Invalid API key' }, { status: 401 })],
    ['a server error', () => new Response('<html>', { status: 500 })],
  ])('a sign-out that meets %s is to be tried again', async (_what, response) => {
    await expect(answering(response).signOut(session)).rejects.toMatchObject(failing('transient'))
  })
})

describe('a ping', () => {
  it.each<[what: string, response: () => Response]>([
    ['settings', () => Response.json({ external: {} })],
    ['a limit', () => new Response(null, { status: 429 })],
  ])('a ping that gets %s finds the provider up', async (_what, response) => {
    await expect(answering(response).ping()).resolves.toBeUndefined()
  })

  it.each<[what: string, response: () => Response, failure: ProviderFailure]>([
    ['a server error', () => new Response('<html>', { status: 502 }), 'transient'],
    [
      'no answer',
      () => {
        throw new TypeError('fetch failed')
      },
      'transient',
    ],
    ['the refusal of its API key', () => Response.json({ message: 'no key' }, { status: 401 }), 'protocol'],
  ])('a ping that gets %s does not find the provider up', async (_what, response, failure) => {
    await expect(answering(response).ping()).rejects.toMatchObject(failing(failure))
  })

  it('a ping checks the database after a call that failed as without one, at most every ten seconds', async () => {
    let isDown = true
    const asked: string[] = []
    const tested = fixture.configured({}, async (request) => {
      const { pathname } = new URL(request.url)
      asked.push(pathname)
      return isDown && !pathname.endsWith('/settings')
        ? Response.json({ code: 'unexpected_failure' }, { status: 500 })
        : embedded.fetch(request)
    })
    await tested.ping()
    expect(asked).toEqual(['/auth/v1/settings'])
    await expect(tested.probe({ accessToken: 'token' })).rejects.toMatchObject(failing('transient'))
    for (const _ of [1, 2]) await expect(tested.ping()).rejects.toMatchObject(failing('transient'))
    expect(asked.filter((path) => path.endsWith('/token'))).toHaveLength(1)
    isDown = false
    runtime.advance(10)
    await tested.ping()
    await tested.ping()
    expect(asked.filter((path) => path.endsWith('/token'))).toHaveLength(2)
  })

  it('a ping sends a new request each time, also once the capabilities are known', async () => {
    let answers = true
    const tested = fixture.configured({}, async (request) => {
      if (answers) return embedded.fetch(request)
      throw new TypeError('fetch failed')
    })
    await tested.capabilities()
    await tested.ping()
    answers = false
    await expect(tested.capabilities()).resolves.toBeDefined()
    await expect(tested.ping()).rejects.toMatchObject(failing('transient'))
  })
})
