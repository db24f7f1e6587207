import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createSealer } from '../core/seal.ts'
import { createSessionKeeper, sealProviderSession, type SessionKeeperPorts } from '../core/session-keeper.ts'
import type { ProviderFailure, SessionProvider, SignIn } from '../core/session-provider.ts'
import { createMemoryStore } from '../store/memory.ts'
import { createFakeRuntime, type FakeRuntime } from '../testing/fake-runtime.ts'
import { addGrant, grantSample, race, start } from '../testing/grant-sample.ts'
import { createEmbeddedProvider, type EmbeddedProvider } from './embedded/embedded-provider.ts'
import { walkGoogle } from './embedded/provider-fixture.ts'
import { createGotrueProvider, type GotrueConfig } from './gotrue.ts'

const siteUrl = 'http://localhost:8788'
const url = `${siteUrl}/auth/v1`
const callbackUrl = 'http://localhost:8787/oauth/callback'
const ada = { email: 'ada@example.com', password: 'correct horse battery' }
const config: GotrueConfig = {
  url,
  apiKey: 'sb_publishable_test',
  issuer: url,
  audience: 'authenticated',
  hs256Secret: undefined,
  social: undefined,
}

let runtime: FakeRuntime
let embedded: EmbeddedProvider
let provider: SessionProvider

beforeEach(() => {
  runtime = createFakeRuntime(start)
  embedded = createEmbeddedProvider(
    { url, siteUrl, redirectAllowList: [callbackUrl], tokenTtlSeconds: 3600, database: ':memory:' },
    runtime,
  )
  provider = createGotrueProvider(config, { ...runtime, fetch: embedded.fetch })
})
afterEach(() => embedded.close())

const failing = (failure: ProviderFailure) => ({ name: 'ProviderError', failure })

/** A return from the stand-in Google after its first account was chosen. */
async function returned(): Promise<{ params: URLSearchParams; secret: string }> {
  const begun = await provider.socialStart({ method: 'google', callbackUrl })
  const back = await walkGoogle(embedded, begun.url, '@')
  expect(back.origin + back.pathname).toBe(callbackUrl)
  return { params: back.searchParams, secret: begun.secret }
}

/** A session without a password, whose hash would take its time. */
async function signInSocially(): Promise<SignIn> {
  return provider.socialFinish(await returned())
}

describe('capabilities', () => {
  it('of a provider that fails for a while are the last ones known, asked again a minute later', async () => {
    expect(await provider.capabilities()).toMatchObject({ password: true })
    embedded.admin.setFaults({ failNext: { status: 503, count: 1000 } })
    runtime.advance(61)
    expect(await Promise.all([provider.capabilities(), provider.capabilities()])).toEqual([
      { password: true, social: ['google'] },
      { password: true, social: ['google'] },
    ])
    embedded.admin.setFaults({})
    runtime.advance(61)
    expect(await provider.capabilities()).toMatchObject({ password: true })
  })

  it('are what the provider reports', async () => {
    expect(await provider.capabilities()).toEqual({ password: true, social: ['google'] })
  })

  it('are those configured, when they are', async () => {
    const limited = createGotrueProvider({ ...config, social: [] }, { ...runtime, fetch: embedded.fetch })
    expect(await limited.capabilities()).toEqual({ password: true, social: [] })
  })

  it('are asked for once a minute', async () => {
    let settings: unknown = {
      external: { email: true, google: true, github: false, phone: true, saml: true },
    }
    let asked = 0
    const counted = createGotrueProvider(config, {
      ...runtime,
      async fetch(request) {
        expect(request.url).toBe(`${url}/settings`)
        asked += 1
        return Response.json(settings)
      },
    })
    expect(await counted.capabilities()).toEqual({ password: true, social: ['google'] })
    settings = { external: { email: false, anonymous_users: true, azure: true, web3_solana: true } }
    runtime.advance(59)
    expect(await counted.capabilities()).toMatchObject({ password: true })
    expect(asked).toBe(1)
    runtime.advance(1)
    expect(await counted.capabilities()).toEqual({ password: false, social: ['azure'] })
    expect(asked).toBe(2)
  })

  it.each<[what: string, response: () => Response, failure: ProviderFailure]>([
    ['no settings in the answer', () => Response.json({}), 'protocol'],
    ['null', () => Response.json(null), 'protocol'],
    ['a page of a gateway', () => new Response('<html>', { status: 502 }), 'transient'],
  ])('fail for %s', async (_what, response, failure) => {
    const broken = createGotrueProvider(config, { ...runtime, fetch: async () => response() })
    await expect(broken.capabilities()).rejects.toMatchObject(failing(failure))
  })
})

describe('password sign-in', () => {
  it('yields a session and a verified identity', async () => {
    const user = await embedded.admin.createUser(ada)
    const { session, identity } = await provider.passwordSignIn(ada)
    expect(session).toEqual({
      accessToken: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
      refreshToken: expect.any(String),
      expiresAt: start + 3600,
    })
    expect(identity).toMatchObject({ sub: user.id, email: ada.email, expiresAt: start + 3600 })
    expect(await provider.verify(session.accessToken)).toEqual(identity)
  })

  it.each<[what: string, user: object, given: object, failure: ProviderFailure]>([
    ['a wrong password', {}, { password: 'wrong' }, 'invalid_credentials'],
    ['an unknown account', {}, { email: 'eve@example.com' }, 'invalid_credentials'],
    ['a banned account', { banned: true }, {}, 'invalid_credentials'],
    ['an account without a password', { password: undefined }, {}, 'invalid_credentials'],
    ['an unconfirmed account', { confirmed: false }, {}, 'email_unconfirmed'],
    [
      'an unconfirmed account and a wrong password',
      { confirmed: false },
      { password: 'wrong' },
      'invalid_credentials',
    ],
  ])('%s', async (_what, user, given, failure) => {
    const { password, ...account } = { ...ada, ...user }
    await embedded.admin.createUser(password === undefined ? account : { ...account, password })
    await expect(provider.passwordSignIn({ ...ada, ...given })).rejects.toMatchObject(failing(failure))
  })

  it('too many attempts', async () => {
    embedded.admin.setFaults({ rateLimit: { limit: 1, windowSeconds: 60 } })
    await expect(provider.passwordSignIn(ada)).rejects.toMatchObject(failing('invalid_credentials'))
    await expect(provider.passwordSignIn(ada)).rejects.toMatchObject(failing('rate_limited'))
  })

  it('a token that another issuer signed is refused, although the sign-in succeeded', async () => {
    await embedded.admin.createUser(ada)
    const strict = createGotrueProvider(
      { ...config, issuer: 'https://other' },
      { ...runtime, fetch: embedded.fetch },
    )
    await expect(strict.passwordSignIn(ada)).rejects.toMatchObject(failing('invalid_token'))
  })

  it('HS256 projects need the configured secret', async () => {
    await embedded.admin.createUser(ada)
    embedded.admin.setAlgorithm('HS256')
    await expect(provider.passwordSignIn(ada)).rejects.toMatchObject(failing('invalid_token'))
    const { jwtSecret: hs256Secret } = embedded.admin
    const configured = createGotrueProvider({ ...config, hs256Secret }, { ...runtime, fetch: embedded.fetch })
    expect((await configured.passwordSignIn(ada)).identity.email).toBe(ada.email)
  })
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

  it('yields a session and a verified identity', async () => {
    const { session, identity } = await provider.socialFinish(await returned())
    expect(identity.email).toMatch(/@/)
    expect(await provider.verify(session.accessToken)).toEqual(identity)
  })

  it('the verifier of another flow is expired, and the code survives for its own', async () => {
    const mine = await returned()
    const other = await provider.socialStart({ method: 'google', callbackUrl })
    await expect(provider.socialFinish({ ...mine, secret: other.secret })).rejects.toMatchObject(
      failing('expired'),
    )
    expect((await provider.socialFinish(mine)).identity.sub).toBeDefined()
    await expect(provider.socialFinish(mine)).rejects.toMatchObject(failing('expired'))
  })

  it('a return that took too long is expired', async () => {
    const late = await returned()
    runtime.advance(300)
    await expect(provider.socialFinish(late)).rejects.toMatchObject(failing('expired'))
  })

  it.each<[what: string, query: string, failure: ProviderFailure]>([
    ['the user said no', 'error=access_denied&error_description=x', 'denied'],
    ['the flow is over', 'error=invalid_request&error_code=flow_state_expired', 'expired'],
    ['the flow is unknown', 'error=server_error&error_code=flow_state_not_found', 'expired'],
    ['the state is unknown', 'error=invalid_request&error_code=bad_oauth_state', 'expired'],
    ['the provider failed', 'error=server_error&error_code=unexpected_failure', 'protocol'],
    ['neither code nor error', '', 'expired'],
    ['an empty code', 'code=', 'expired'],
  ])('%s', async (_what, query, failure) => {
    const result = provider.socialFinish({ params: new URLSearchParams(query), secret: 'x'.repeat(43) })
    await expect(result).rejects.toMatchObject(failing(failure))
    expect(embedded.admin.counters.token.pkce).toBe(0)
  })
})

describe('refresh', () => {
  let first: string
  let userId: string
  beforeEach(async () => {
    const { session, identity } = await signInSocially()
    first = session.refreshToken
    userId = identity.sub
  })

  it('rotates; the parent brings the active token at any later time', async () => {
    runtime.advance(3000)
    const second = await provider.refresh(first)
    expect(second).toMatchObject({ expiresAt: start + 6600 })
    expect(second.refreshToken).not.toBe(first)
    runtime.advance(86_400)
    expect((await provider.refresh(first)).refreshToken).toBe(second.refreshToken)
  })

  it('a grandparent is terminal, and so is the whole session then', async () => {
    const second = await provider.refresh(first)
    const third = await provider.refresh(second.refreshToken)
    runtime.advance(60)
    await expect(provider.refresh(first)).rejects.toMatchObject(failing('terminal'))
    await expect(provider.refresh(third.refreshToken)).rejects.toMatchObject(failing('terminal'))
  })

  it.each<[what: string, end: () => void]>([
    ['a ban', () => embedded.admin.banUser(userId)],
    ['a deleted account', () => embedded.admin.deleteUser(userId)],
    [
      'a signed-out session',
      () => embedded.admin.endSession(embedded.admin.listSessions(userId)[0]?.id ?? ''),
    ],
  ])('%s is terminal', async (_what, end) => {
    end()
    await expect(provider.refresh(first)).rejects.toMatchObject(failing('terminal'))
  })

  it.each([500, 502, 503, 504, 429, 401, 403])('a page with status %i is transient', async (status) => {
    embedded.admin.setFaults({ failNext: { status, count: 1, path: '/token' } })
    await expect(provider.refresh(first)).rejects.toMatchObject(failing('transient'))
    expect((await provider.refresh(first)).accessToken).toBeDefined()
  })

  it('a reply that is lost after rotation is transient, and the same token brings the active one', async () => {
    embedded.admin.setFaults({ dropReplyAfterRotation: 1 })
    await expect(provider.refresh(first)).rejects.toMatchObject(failing('transient'))
    expect(embedded.admin.counters.rotations).toBe(1)
    const second = await provider.refresh(first)
    expect(embedded.admin.counters.rotations).toBe(1)
    expect((await provider.refresh(second.refreshToken)).refreshToken).not.toBe(second.refreshToken)
  })

  it('too many refreshes are transient: a session survives its own provider', async () => {
    embedded.admin.setFaults({ rateLimit: { limit: 0, windowSeconds: 60 } })
    await expect(provider.refresh(first)).rejects.toMatchObject(failing('transient'))
  })

  it('nonsense is terminal', async () => {
    await expect(provider.refresh('nonsense')).rejects.toMatchObject(failing('terminal'))
  })
})

describe('the session in an answer', () => {
  const session = { access_token: 'a', refresh_token: 'r', expires_in: 3600, expires_at: 1 }
  const refreshWith = (body: unknown) =>
    createGotrueProvider(config, { ...runtime, fetch: async () => Response.json(body) }).refresh('x')

  it.each([
    ['an hour', 3600, 3600],
    ['half a second more', 3600.5, 3600],
    ['one second', 1, 1],
  ])('%s is counted from our clock, not from theirs', async (_what, expires_in, seconds) => {
    expect(await refreshWith({ ...session, expires_in })).toEqual({
      accessToken: 'a',
      refreshToken: 'r',
      expiresAt: start + seconds,
    })
  })

  it.each<[what: string, body: unknown]>([
    ['no access token', { ...session, access_token: undefined }],
    ['an access token that is no text', { ...session, access_token: 1 }],
    ['no refresh token', { ...session, refresh_token: undefined }],
    ['no expires_in', { ...session, expires_in: undefined }],
    ['expires_in as text', { ...session, expires_in: '3600' }],
    ['expires_in 0', { ...session, expires_in: 0 }],
    ['expires_in below a second', { ...session, expires_in: 0.9 }],
    ['expires_in below zero', { ...session, expires_in: -1 }],
    ['null', null],
    ['a list', []],
    ['a text', 'session'],
  ])('%s is a protocol failure', async (_what, body) => {
    await expect(refreshWith(body)).rejects.toMatchObject(failing('protocol'))
  })
})

describe('sign-out', () => {
  it('ends this session only: the web app stays signed in', async () => {
    const { session, identity } = await signInSocially()
    const other = await signInSocially()
    await provider.signOut(session)
    expect(embedded.admin.listSessions(identity.sub)).toHaveLength(1)
    await expect(provider.refresh(session.refreshToken)).rejects.toMatchObject(failing('terminal'))
    expect((await provider.refresh(other.session.refreshToken)).accessToken).toBeDefined()
  })
})

describe('keys of the provider', () => {
  it('tokens of an old key verify after a rotation, those of a new key half a minute later', async () => {
    const { session, identity } = await signInSocially()
    embedded.admin.rotateSigningKey()
    expect((await provider.verify(session.accessToken)).sub).toBe(identity.sub)
    runtime.advance(30)
    expect((await signInSocially()).identity.sub).toBe(identity.sub)
    expect((await provider.verify(session.accessToken)).sub).toBe(identity.sub)
  })

  it('tokens of a dropped key stop verifying', async () => {
    const { session } = await signInSocially()
    embedded.admin.rotateSigningKey({ dropOld: true })
    runtime.advance(600)
    await expect(provider.verify(session.accessToken)).rejects.toMatchObject(failing('invalid_token'))
  })

  it.each<[what: string, claims: Record<string, unknown>]>([
    ['the anon key', { role: 'anon', iss: url, exp: start + 3600 }],
    ['the service_role key', { role: 'service_role', iss: url, exp: start + 3600 }],
    ['nothing but a lifetime', { exp: start + 3600 }],
  ])('%s, signed by the provider itself, is nobody', async (_what, claims) => {
    await expect(provider.verify(await embedded.admin.signClaims(claims))).rejects.toMatchObject(
      failing('invalid_token'),
    )
  })
})

describe('keeping a real session', () => {
  const sealer = createSealer([{ kid: 'k', key: new Uint8Array(32).fill(5) }], (length) =>
    runtime.randomBytes(length),
  )

  async function connect() {
    const { session, identity } = await signInSocially()
    const store = createMemoryStore()
    const sample = grantSample('a')
    const row = { grantId: sample.grant.id, version: 1, issuedAt: start }
    await addGrant(store, { ...sample, session: sealProviderSession(session, row, sealer) })
    const keeperOf = (owner: string, ports: Pick<SessionKeeperPorts, 'runtime' | 'report'>) =>
      createSessionKeeper({ store, provider, sealer, owner, ...ports })
    const stored = async () => {
      const found = await store.findProviderSession(sample.grant.id)
      if (!found) throw new Error('The grant has ended.')
      return found
    }
    return { keeperOf, stored, sub: identity.sub }
  }

  it('fifty calls on two instances at expiry rotate once', async () => {
    const { keeperOf, stored } = await connect()
    // The provider signs in real time, so who waits for the other instance waits for its report, not for a clock.
    let report = (): void => {}
    const refreshed = new Promise<void>((resolve) => {
      report = resolve
    })
    const ports = { runtime: { now: runtime.now, sleep: () => refreshed }, report: () => report() }
    const keepers = [keeperOf('one', ports), keeperOf('two', ports)] as const
    runtime.advance(3600)
    const session = await stored()
    const kept = await race((index) => keepers[index % 2 === 0 ? 0 : 1].keep(session))
    expect(kept.every(({ kind }) => kind === 'live')).toBe(true)
    expect(embedded.admin.counters.rotations).toBe(1)
    expect(embedded.admin.counters.token.refresh_token).toBe(1)
  })

  it('ten days of hourly refreshes, with every tenth reply lost and every tenth answer a 503', async () => {
    const { keeperOf, stored, sub } = await connect()
    const ports = { runtime, report: () => {} }
    const keepers = [keeperOf('one', ports), keeperOf('two', ports)] as const
    embedded.admin.setReuseInterval(0)
    for (let hour = 1; hour <= 240; hour += 1) {
      runtime.advance(3600)
      if (hour % 10 === 3) embedded.admin.setFaults({ dropReplyAfterRotation: 1 })
      if (hour % 10 === 7) embedded.admin.setFaults({ failNext: { status: 503, count: 1 } })
      const kept = await keepers[hour % 2 === 0 ? 0 : 1].keep(await stored())
      if (kept.kind !== 'live') throw new Error(`Hour ${hour}: ${kept.kind}.`)
      const token = keepers[0].accessToken(kept.session)
      expect((await provider.verify(token)).sub).toBe(sub)
    }
    expect(embedded.admin.counters.rotations).toBe(240)
    expect(await stored()).toMatchObject({ version: 241 })
  })
})
