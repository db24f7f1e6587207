import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { readJwt } from '@drawbridge/shared/oauth/jwt.ts'
import {
  ProviderError,
  type ProviderFailure,
  type ProviderSession,
} from '../../core/session/session-provider.ts'
import type { FakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { start } from '../../../tests/support/server/core/grant-sample.ts'
import type { ControlledProvider } from '../../../tests/support/sandbox/controlled-provider.ts'
import { chooseAt } from '../../../tests/support/sandbox/provider-fixture.ts'
import { computeTotp } from '../../sandbox/provider/accounts/totp.ts'
import {
  ada,
  answering,
  callbackUrl,
  completed,
  gotrueConfig,
  type GotrueFixture,
  startGotrue,
} from '../../../tests/support/server/supabase-fixture.ts'

const { url } = gotrueConfig

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

describe('capabilities', () => {
  it('are what the provider reports, with what people call it', async () => {
    expect(await provider.capabilities()).toMatchObject({
      password: true,
      social: [{ id: 'google', label: 'Google' }],
      captcha: undefined,
    })
  })

  it('hold what is configured', async () => {
    const captcha = { kind: 'hcaptcha', siteKey: 'key' } as const
    expect(await fixture.configured({ social: [], captcha }).capabilities()).toMatchObject({
      password: true,
      social: [],
      captcha,
    })
  })
})

describe('password sign-in', () => {
  it('yields a session and a verified identity', async () => {
    const user = await embedded.admin.createUser(ada)
    const { session, identity } = completed(await provider.passwordSignIn(ada))
    expect(session).toEqual({
      accessToken: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      refreshToken: expect.any(String),
      expiresAt: start + 3600,
    })
    expect(identity).toMatchObject({ sub: user.id, email: ada.email, expiresAt: start + 3600 })
    expect(await provider.verify(session.accessToken)).toEqual(identity)
  })

  it('a token that another issuer signed is refused, and its session ended: nobody will use it', async () => {
    const { id } = await embedded.admin.createUser(ada)
    const strict = fixture.configured({ issuer: 'https://other' })
    await expect(strict.passwordSignIn(ada)).rejects.toMatchObject(failing('invalid_token'))
    expect(embedded.admin.listSessions(id)).toEqual([])
  })

  it('an answer without tokens is a protocol failure', async () => {
    const result = answering(() => Response.json({})).passwordSignIn(ada)
    await expect(result).rejects.toMatchObject(failing('protocol'))
  })
})

describe('single sign-on', () => {
  const domain = 'company.example'
  const start = { domain, callbackUrl, captchaToken: undefined }

  it('sends the browser to the identity provider of the domain, and ends as social sign-in does', async () => {
    const { url: next, secret } = await provider.ssoStart(start)
    expect(next).toMatch(/^http:\/\/localhost:8788\/company\/authorize\?/)
    const { searchParams: params } = await chooseAt(embedded, next, 'Lin')
    const { identity } = completed(await provider.socialFinish({ params, secret, callbackUrl }))
    expect(identity.email).toBe('lin@company.example')
    const { providers } = provider.profileOf({ kind: 'identity', identity }, undefined)
    expect(providers).toEqual([expect.stringMatching(/^sso:[\da-f-]{36}$/)])
    const { secret: other } = await provider.ssoStart(start)
    const again = await chooseAt(embedded, (await provider.ssoStart(start)).url, 'Lin')
    const foreign = { params: again.searchParams, secret: other, callbackUrl }
    await expect(provider.socialFinish(foreign)).rejects.toMatchObject(failing('expired'))
  })

  it('for a domain without one is refused', async () => {
    const result = provider.ssoStart({ ...start, domain: 'other.example' })
    await expect(result).rejects.toMatchObject(failing('unknown_domain'))
  })

  it('passes a captcha response on', async () => {
    embedded.admin.setCaptcha({ secret: 'solved' })
    await expect(provider.ssoStart(start)).rejects.toMatchObject(failing('captcha'))
    expect((await provider.ssoStart({ ...start, captchaToken: 'solved' })).url).toContain('/company/')
  })

  it.each([{}, { url: 1 }, { url: 'no URL' }, { url: 'javascript:alert(1)' }, null])(
    'the answer %j leads nowhere',
    async (body) => {
      const result = answering(() => Response.json(body)).ssoStart(start)
      await expect(result).rejects.toMatchObject(failing('protocol'))
    },
  )
})

describe('social sign-in', () => {
  it('starts at the provider with S256 PKCE and a fresh verifier, which stays here', async () => {
    const begun = await provider.socialStart({ method: 'google', callbackUrl })
    const { origin, pathname, searchParams } = new URL(begun.url)
    expect(origin + pathname).toBe(`${url}/authorize`)
    expect(Object.fromEntries(searchParams)).toEqual({
      provider: 'google',
      redirect_to: callbackUrl,
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 's256',
    })
    expect(begun.url).not.toContain(begun.secret)
    expect((await provider.socialStart({ method: 'google', callbackUrl })).secret).not.toBe(begun.secret)
  })

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

  it('a return without a code asks nobody', async () => {
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

  it('is asked for after a social sign-in', async () => {
    const { factors, factorId, session } = await halfWay()
    expect(factors).toEqual([{ id: factorId, label: 'totp 1' }])
    expect(session.expiresAt).toBe(start + 3600)
  })

  it('proven yields a session of its own; the half-way one is of no use any more', async () => {
    const { session, factorId, code, id } = await halfWay()
    const signIn = await provider.verifySecondFactor({ session, factorId, code: code() })
    expect(signIn.identity).toMatchObject({ sub: id, secondFactor: true })
    expect(await provider.verify(signIn.session.accessToken)).toEqual(signIn.identity)
    const next = await provider.refresh(signIn.session)
    expect((await provider.verify(next.accessToken)).secondFactor).toBe(true)
    await expect(provider.refresh(session)).rejects.toMatchObject(failing('terminal'))
  })

  it('a session older than its token: the sign-in is over', async () => {
    const { session, factorId, code } = await halfWay()
    runtime.advance(3600)
    const result = provider.verifySecondFactor({ session, factorId, code: code() })
    await expect(result).rejects.toMatchObject(failing('expired'))
  })

  it.each(['', '..', '00000000-0000-4000-8000-000000000000', '../../user'])(
    'the factor %j is none of the account',
    async (factorId) => {
      const { session, code } = await halfWay()
      const result = provider.verifySecondFactor({ session, factorId, code: code() })
      await expect(result).rejects.toMatchObject(failing('expired'))
    },
  )

  it('an outage costs nothing: the same code is good afterwards', async () => {
    const { session, factorId, code } = await halfWay()
    for (const path of ['/challenge', '/verify']) {
      embedded.admin.setFaults({ failNext: { status: 502, count: 1, path } })
      const result = provider.verifySecondFactor({ session, factorId, code: code() })
      await expect(result).rejects.toMatchObject(failing('transient'))
    }
    const { identity } = await provider.verifySecondFactor({ session, factorId, code: code() })
    expect(identity.secondFactor).toBe(true)
  })

  it.each<[what: string, challenge: unknown]>([
    ['a challenge without id', {}],
    ['a list', []],
    ['nothing', undefined],
  ])('%s is a protocol failure', async (_what, challenge) => {
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

  it('that cannot be asked for here ends the half-way session', async () => {
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
    it('refuses an account without one, and ends the session', async () => {
      const { identity } = await fixture.signInSocially()
      const before = embedded.admin.listSessions(identity.sub).length
      const requiring = fixture.configured({ secondFactor: 'require' })
      const result = requiring.socialFinish(await fixture.returned())
      await expect(result).rejects.toMatchObject(failing('second_factor_missing'))
      expect(embedded.admin.listSessions(identity.sub)).toHaveLength(before)
      expect(embedded.admin.counters.signOuts).toEqual({ global: 0, local: 1, others: 0 })
    })

    it('ends a session that is refreshed without one, as after the factor was deleted', async () => {
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

    it('refuses the tokens of a sign-in without one', async () => {
      const requiring = fixture.configured({ secondFactor: 'require' })
      const { session, factorId, code } = await halfWay()
      await expect(requiring.verify(session.accessToken)).rejects.toMatchObject(failing('invalid_token'))
      const signIn = await requiring.verifySecondFactor({ session, factorId, code: code() })
      expect(await requiring.verify(signIn.session.accessToken)).toEqual(signIn.identity)
    })
  })
})

describe('refresh', () => {
  let session: ProviderSession
  beforeEach(async () => {
    ;({ session } = await fixture.signInSocially())
  })

  it.each([
    [504, false],
    [403, true],
  ])('a page with status %i is transient, its outcome known: %s', async (status, outcomeKnown) => {
    embedded.admin.setFaults({ failNext: { status, count: 1, path: '/token' } })
    await expect(provider.refresh(session)).rejects.toMatchObject(failing('transient', { outcomeKnown }))
    expect((await provider.refresh(session)).accessToken).toBeDefined()
  })

  it('a reply that is lost after rotation is transient, and the same token brings the active one', async () => {
    embedded.admin.setFaults({ dropReplyAfterRotation: 1 })
    await expect(provider.refresh(session)).rejects.toMatchObject(
      failing('transient', { outcomeKnown: false }),
    )
    expect(embedded.admin.counters.rotations).toBe(1)
    const second = await provider.refresh(session)
    expect(embedded.admin.counters.rotations).toBe(1)
    expect((await provider.refresh(second)).refreshToken).not.toBe(second.refreshToken)
  })

  it('a session without its tokens leaves the outcome open', async () => {
    const odd = answering(() => Response.json({ access_token: 'a' }))
    await expect(odd.refresh(session)).rejects.toMatchObject(failing('protocol', { outcomeKnown: false }))
  })
})

describe('a probe', () => {
  it.each<[what: string, life: string, act: (id: string) => void]>([
    ['a session nobody touched', 'live', () => undefined],
    [
      'a signed-out session',
      'ended',
      (id) => embedded.admin.endSession(embedded.admin.listSessions(id)[0]?.id ?? ''),
    ],
    ['a banned user', 'ended', (id) => embedded.admin.banUser(id)],
    ['a deleted user', 'ended', (id) => embedded.admin.deleteUser(id)],
    ['a token that has expired', 'token_refused', () => runtime.advance(3600)],
    [
      'a token whose key was revoked',
      'token_refused',
      () => embedded.admin.rotateSigningKey({ dropOld: true }),
    ],
  ])('of %s: %s', async (_what, life, act) => {
    const { session, identity } = await fixture.signInSocially()
    act(identity.sub)
    expect(await provider.probe(session.accessToken)).toMatchObject({ life })
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
  ])('that meets %s says nothing: %s', async (_what, failure, response) => {
    await expect(answering(response).probe('token')).rejects.toMatchObject(failing(failure))
  })
})

describe('sign-out', () => {
  it.each<[what: string, act: (id: string) => void]>([
    [
      'a session that is over',
      (id) => embedded.admin.endSession(embedded.admin.listSessions(id)[0]?.id ?? ''),
    ],
    ['a deleted user', (id) => embedded.admin.deleteUser(id)],
    ['a banned user', (id) => embedded.admin.banUser(id)],
  ])('of %s is done', async (_what, act) => {
    const { session, identity } = await fixture.signInSocially()
    act(identity.sub)
    await expect(provider.signOut(session)).resolves.toBeUndefined()
  })

  it('with an expired token needs a fresh one', async () => {
    const { session } = await fixture.signInSocially()
    runtime.advance(3600)
    await expect(provider.signOut(session)).rejects.toMatchObject(failing('invalid_token'))
    await expect(provider.signOut(await provider.refresh(session))).resolves.toBeUndefined()
  })

  const session = { accessToken: 'a', refreshToken: 'r', expiresAt: start }

  it.each<[what: string, response: () => Response]>([
    ['204', () => new Response(null, { status: 204 })],
    ['404 with a code that says so', () => Response.json({ code: 'session_not_found' }, { status: 404 })],
  ])('that is answered with %s is done', async (_what, response) => {
    await expect(answering(response).signOut(session)).resolves.toBeUndefined()
  })

  it.each<[what: string, response: () => Response]>([
    ['a wrong API key at the gateway', () => Response.json({ message: 'Invalid API key' }, { status: 401 })],
    ['a server error', () => new Response('<html>', { status: 500 })],
  ])('that meets %s is to be tried again', async (_what, response) => {
    await expect(answering(response).signOut(session)).rejects.toMatchObject(failing('transient'))
  })
})

describe('a ping', () => {
  it.each<[what: string, response: () => Response]>([
    ['settings', () => Response.json({ external: {} })],
    ['a limit', () => new Response(null, { status: 429 })],
  ])('that gets %s finds the provider up', async (_what, response) => {
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
  ])('that gets %s does not', async (_what, response, failure) => {
    await expect(answering(response).ping()).rejects.toMatchObject(failing(failure))
  })

  it('asks for the database after a call that failed as without one, at most every ten seconds', async () => {
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
    await expect(tested.probe('token')).rejects.toMatchObject(failing('transient'))
    for (const _ of [1, 2]) await expect(tested.ping()).rejects.toMatchObject(failing('transient'))
    expect(asked.filter((path) => path.endsWith('/token'))).toHaveLength(1)
    isDown = false
    runtime.advance(10)
    await tested.ping()
    await tested.ping()
    expect(asked.filter((path) => path.endsWith('/token'))).toHaveLength(2)
  })

  it('is a new question each time, also once the capabilities are known', async () => {
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
