import { readJwt } from '@drawbridge/shared/oauth/jwt.ts'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  ProviderError,
  type ProviderFailure,
  type Refusal,
  type SignInStep,
} from '../../core/session/session-provider.ts'
import { start } from '../../../tests/support/server/core/grant-sample.ts'
import {
  answering,
  callbackUrl,
  completed,
  type GotrueFixture,
  oauthClient,
  startGotrue,
} from '../../../tests/support/server/supabase-fixture.ts'
import { computeTotp } from '../../sandbox/provider/accounts/totp.ts'
import type { GotrueConfig } from './supabase.ts'

const client = { ...oauthClient, label: undefined }
const state = 'state-of-the-pending-sign-in'

let fixture: GotrueFixture
let provider: GotrueFixture['provider']
/** Method, path and authentication of each request, as `POST /oauth/token Basic`. */
let sent: string[]

beforeEach(() => {
  fixture = startGotrue()
  provider = configured()
})
afterEach(() => fixture.embedded.close())

const failing = (failure: ProviderFailure, more: Partial<ProviderError> = {}) => ({
  name: 'ProviderError',
  failure,
  ...more,
})

function configured(changes: Partial<GotrueConfig> = {}): GotrueFixture['provider'] {
  sent = []
  return fixture.configured({ client, ...changes }, async (request) => {
    const [scheme] = (request.headers.get('authorization') ?? '').split(' ')
    sent.push(`${request.method} ${new URL(request.url).pathname.replace('/auth/v1', '')} ${scheme}`.trim())
    return fixture.embedded.fetch(request)
  })
}

/** Signs in to the web app, perhaps without the second factor. */
async function openAppSession() {
  const step = await fixture.provider.socialFinish(await fixture.returned())
  return step.kind === 'signed_in' ? step.signIn.session : step.session
}
const openApp = async () => (await openAppSession()).accessToken

async function agree(proof: string, from = provider) {
  const { url, secret } = await from.appSignIn!({ proof, callbackUrl, state })
  return { params: new URL(url).searchParams, secret, callbackUrl }
}

const connect = async (from = provider): Promise<SignInStep> =>
  from.socialFinish(await agree(await openApp(), from))

const claimsOf = (token: string) => readJwt(token)?.claims ?? {}
const sessionsOf = (accessToken: string) =>
  fixture.embedded.admin.listSessions(String(claimsOf(accessToken)['sub']))

describe('a user who agreed in the web app', () => {
  it('a user who agreed in the app signs in with a session apart from that of the web app, which goes on', async () => {
    const proof = await openApp()
    const returned = await agree(proof)
    expect(Object.fromEntries(returned.params)).toEqual({ code: expect.any(String), state })
    const { session, identity } = completed(await provider.socialFinish(returned))
    expect(identity.sub).toBe(claimsOf(proof)['sub'])
    expect(claimsOf(session.accessToken)).toMatchObject({ client_id: oauthClient.id, aal: 'aal1' })
    expect(claimsOf(session.accessToken)['session_id']).not.toBe(claimsOf(proof)['session_id'])
    await provider.signOut(session)
    expect((await provider.probe({ ...session, accessToken: proof })).life).toBe('live')
  })

  it('a user who agreed in the app is described by their proof before the browser returns', async () => {
    const proof = await openApp()
    const { url, identity, providerToken, singleUse } = await provider.appSignIn!({
      proof,
      callbackUrl,
      state,
    })
    expect(new URL(url).origin + new URL(url).pathname).toBe(callbackUrl)
    expect(identity).toMatchObject({ sub: claimsOf(proof)['sub'], email: 'ada@google.example' })
    expect({ providerToken, singleUse }).toEqual({ providerToken: proof, singleUse: undefined })
  })

  it('a user who agreed in the app is approved in their own name, and at once the next time', async () => {
    const proof = await openApp()
    await agree(proof)
    const asked = sent.filter((request) => request.includes('/oauth/'))
    const paths = asked.map((request) => request.replace(/[\da-f-]{36}/, 'ID'))
    expect(paths).toEqual([
      'GET /oauth/authorize',
      'GET /oauth/authorizations/ID Bearer',
      'POST /oauth/authorizations/ID/consent Bearer',
    ])
    sent = []
    completed(await provider.socialFinish(await agree(proof)))
    expect(sent.filter((request) => request.includes('consent'))).toEqual([])
    expect(sent).toContain('POST /oauth/token Basic')
  })

  it('a user who agreed in the app is asked for with the scope email alone, as a project with HS256 has no ID tokens', async () => {
    let scope: string | null = null
    const asking = fixture.configured({ client }, async (request) => {
      scope ??= new URL(request.url).searchParams.get('scope')
      return fixture.embedded.fetch(request)
    })
    await agree(await openApp(), asking)
    expect(scope).toBe('email')
  })

  it('a user who agreed in the app is refused once their session in the web app has ended', async () => {
    const proof = await openApp()
    for (const { id } of sessionsOf(proof)) fixture.embedded.admin.endSession(id)
    await expect(agree(proof)).rejects.toMatchObject(failing('invalid_token'))
  })

  it('a user who agreed in the app is refused while banned, before the click and between click and return', async () => {
    const proof = await openApp()
    const returned = await agree(proof)
    fixture.embedded.admin.banUser(String(claimsOf(proof)['sub']))
    await expect(provider.socialFinish(returned)).rejects.toMatchObject(failing('terminal'))
    await expect(agree(proof)).rejects.toMatchObject(failing('terminal'))
    expect(sessionsOf(proof)).toHaveLength(1)
  })

  it.each<[what: string, changes: Record<string, unknown>]>([
    ['of another OAuth client of the project', { client_id: '11111111-0000-4000-8000-000000000000' }],
    ['of our own OAuth client', { client_id: oauthClient.id }],
    ['of an anonymous user', { is_anonymous: true }],
    ['of an administrator', { role: 'service_role' }],
    ['of another issuer', { iss: 'https://other.example/auth/v1' }],
    ['that has expired', { exp: start - 1 }],
  ])(
    'a user who agreed in the app proves nothing by a token %s, and the provider is asked nothing',
    async (_what, changes) => {
      const proof = await openApp()
      const token = await fixture.embedded.admin.signClaims({ ...claimsOf(proof), ...changes })
      await expect(agree(token)).rejects.toMatchObject(failing('invalid_token'))
      await expect(agree(`${token}x`)).rejects.toMatchObject(failing('invalid_token'))
      expect(sent.filter((request) => request.includes('/oauth/'))).toEqual([])
    },
  )
})

describe('an approval that the OAuth server does not give', () => {
  const json = (body: unknown, status = 200) => Response.json(body, { status })
  const toPage = (query: string) =>
    new Response(null, { status: 302, headers: { location: `http://localhost:8788/consent?${query}` } })
  const begun = () => toPage('authorization_id=abc')
  const redirect = (url: string) => json({ redirect_url: url })

  it.each<[what: string, failure: ProviderFailure, ...answers: (() => Response)[]]>([
    ['is switched off', 'protocol', () => json({ code: 'feature_disabled' }, 404)],
    ['does not know the redirect URI', 'protocol', () => json({ code: 'validation_failed' }, 400)],
    ['has no path', 'protocol', () => toPage('error=server_error&error_description=not+configured')],
    ['begins no authorization', 'protocol', () => toPage('')],
    ['answers a page', 'protocol', () => new Response('<html>')],
    ['names an authorization that is a path', 'protocol', () => toPage('authorization_id=..%2F..%2Fuser')],
    ['is down at the beginning', 'transient', () => json({}, 502)],
    ['is down when it is read', 'transient', begun, () => json({}, 503)],
    ['is down when it is approved', 'transient', begun, () => json({}), () => json({}, 500)],
    ['limits', 'rate_limited', begun, () => json({ code: 'over_request_rate_limit' }, 429)],
    ['approves nothing', 'protocol', begun, () => json({}), () => json({})],
    ['returns without a code', 'protocol', begun, () => redirect(`${callbackUrl}?state=${state}`)],
    ['returns no URL', 'protocol', begun, () => redirect('nonsense')],
    ['returns another state', 'protocol', begun, () => redirect(`${callbackUrl}?code=c&state=other`)],
    ['returns elsewhere', 'protocol', begun, () => redirect(`https://evil.example/?code=c&state=${state}`)],
    ['returns to another path', 'protocol', begun, () => redirect(`${callbackUrl}/x?code=c&state=${state}`)],
    ['ends the session', 'invalid_token', begun, () => json({ code: 'session_not_found' }, 403)],
    ['has deleted the user', 'invalid_token', begun, () => json({ code: 'user_not_found' }, 403)],
    ['refuses the token', 'invalid_token', begun, () => json({ code: 'bad_jwt' }, 403)],
  ])('an approval of an OAuth server that %s fails as %s', async (_what, failure, ...answers) => {
    const proof = await openApp()
    const asked: string[] = []
    const tested = fixture.configured({ client }, async (request) => {
      if (request.url.endsWith('/jwks.json')) return fixture.embedded.fetch(request)
      asked.push(request.url)
      return answers[asked.length - 1]?.() ?? json({}, 500)
    })
    await expect(agree(proof, tested)).rejects.toMatchObject(failing(failure))
    expect(asked).toHaveLength(answers.length)
  })
})

describe('the code of a sign-in in the app', () => {
  it('a code of the OAuth server needs the verifier of its own sign-in, and a wrong one does not spend it', async () => {
    const proof = await openApp()
    const [one, other] = [await agree(proof), await agree(proof)]
    const mixed = { ...one, secret: other.secret }
    await expect(provider.socialFinish(mixed)).rejects.toMatchObject(failing('expired'))
    completed(await provider.socialFinish(one))
  })

  it('a code of the OAuth server signs in once, and a made-up one never', async () => {
    const returned = await agree(await openApp())
    completed(await provider.socialFinish(returned))
    await expect(provider.socialFinish(returned)).rejects.toMatchObject(failing('expired'))
    returned.params.set('code', 'made up')
    await expect(provider.socialFinish(returned)).rejects.toMatchObject(failing('expired'))
  })

  it('a code of the OAuth server is worth nothing ten minutes later', async () => {
    const returned = await agree(await openApp())
    fixture.runtime.advance(600)
    await expect(provider.socialFinish(returned)).rejects.toMatchObject(failing('expired'))
  })

  it('a code of the OAuth server is not redeemed by a server whose secret is wrong', async () => {
    const returned = await agree(await openApp())
    const wrong = configured({ client: { ...client, secret: 'old' } })
    await expect(wrong.socialFinish(returned)).rejects.toMatchObject(failing('protocol'))
    completed(await provider.socialFinish(returned))
  })

  it('a code of the OAuth server is redeemed at the OAuth server only if the return has a state, which social sign-ins lack', async () => {
    completed(await provider.socialFinish(await fixture.returned()))
    expect(sent).toContain('POST /token')
    const returned = await fixture.returned()
    returned.params.set('state', 'added by hand')
    await expect(provider.socialFinish(returned)).rejects.toMatchObject(failing('expired'))
  })

  it('a code of the OAuth server is authenticated by Basic credentials in form encoding: RFC 6749 2.3.1', async () => {
    let header: string | null = null
    let form = new FormData()
    const odd = { id: 'a b:c', secret: 'p%+ä', label: undefined }
    const tested = fixture.configured({ client: odd }, async (request) => {
      header = request.headers.get('authorization')
      form = await request.formData()
      return Response.json({ error: 'invalid_grant' }, { status: 400 })
    })
    const given = { params: new URLSearchParams({ code: 'c', state }), secret: 's', callbackUrl }
    await expect(tested.socialFinish(given)).rejects.toMatchObject(failing('expired'))
    expect(atob(String(header).replace('Basic ', ''))).toBe('a+b%3Ac:p%25%2B%C3%A4')
    expect(Object.fromEntries(form)).toEqual({
      grant_type: 'authorization_code',
      code: 'c',
      code_verifier: 's',
      redirect_uri: callbackUrl,
    })
  })

  it('a code of the OAuth server leaves no session behind when its token is refused', async () => {
    const proof = await openApp()
    const strict = fixture.configured({ client, audience: 'others' })
    await expect(strict.socialFinish(await agree(proof))).rejects.toMatchObject(failing('invalid_token'))
    expect(sessionsOf(proof)).toHaveLength(1)
  })
})

describe('a session of our client', () => {
  it('a session of our OAuth client is refreshed with the client secret again and again, also where it was stored as JSON', async () => {
    let { session } = completed(await connect())
    for (const _ of [1, 2, 3]) {
      fixture.runtime.advance(3600)
      sent = []
      session = await provider.refresh(JSON.parse(JSON.stringify(session)) as typeof session)
      expect(sent).toEqual(['POST /oauth/token Basic'])
      expect((await provider.probe(session)).life).toBe('live')
    }
  })

  it('a session of our OAuth client is over for good once it has ended at the provider', async () => {
    const { session } = completed(await connect())
    await provider.signOut(session)
    await expect(provider.refresh(session)).rejects.toMatchObject(failing('terminal'))
  })

  it.each<
    [status: number, body: Record<string, unknown>, failure: ProviderFailure, refused: Refusal | undefined]
  >([
    [400, { error: 'invalid_grant' }, 'terminal', 'by_code'],
    [400, { code: 'refresh_token_not_found' }, 'terminal', 'by_code'],
    [400, { code: 'refresh_token_already_used' }, 'terminal', 'by_code'],
    [400, { code: 'session_not_found' }, 'terminal', 'by_code'],
    [400, { code: 'session_expired' }, 'terminal', 'by_code'],
    [400, { code: 'user_banned' }, 'terminal', 'by_code'],
    // Of another client than today's.
    [400, { error: 'invalid_client' }, 'transient', 'by_code'],
    // A wrong secret, a deleted client, an OAuth server that is off: about all sessions of the client.
    [400, { code: 'invalid_credentials' }, 'transient', undefined],
    [404, { code: 'feature_disabled' }, 'transient', undefined],
    [404, {}, 'transient', undefined],
    [401, { message: 'Invalid API key' }, 'transient', undefined],
    [429, { code: 'over_request_rate_limit' }, 'transient', undefined],
    [500, { error: 'invalid_grant' }, 'transient', undefined],
    [200, {}, 'protocol', undefined],
  ])(
    'a session of our OAuth client refused with %i %j fails as %s; about itself alone: %s',
    async (status, body, failure, refused) => {
      const { session } = completed(await connect())
      const tested = answering(() => Response.json(body, { status }), { client })
      await expect(tested.refresh(session)).rejects.toMatchObject(failing(failure, { refused }))
    },
  )

  it('a session of our OAuth client waits where the client is missing from the settings', async () => {
    const { session } = completed(await connect())
    const without = fixture.configured({})
    await expect(without.refresh(session)).rejects.toMatchObject(failing('transient', { refused: undefined }))
    expect(without.appSignIn).toBeUndefined()
    expect((await provider.refresh(session)).isOfClient).toBe(true)
  })

  it('a session of our OAuth client is not opened by its token as a bearer: only the provider itself may hand that to this server', async () => {
    const { session } = completed(await connect())
    await expect(provider.verify(session.accessToken)).rejects.toMatchObject(failing('invalid_token'))
    const refreshed = await provider.refresh(session)
    await expect(provider.verify(refreshed.accessToken)).rejects.toMatchObject(failing('invalid_token'))
  })
})

describe('an account with an authenticator app', () => {
  /** Returns a session in the web app, where the factor was set up later. */
  async function enrolled() {
    const proof = await openApp()
    const { factorId, secret } = fixture.embedded.admin.enrollTotp(String(claimsOf(proof)['sub']))
    return { proof, factorId, code: () => computeTotp(secret, fixture.runtime.now()) }
  }

  it.each(['if-enrolled', 'require'] as const)(
    'an account with an authenticator app is asked for its code after it agreed, with SECOND_FACTOR=%s, and keeps the proof when refreshed',
    async (secondFactor) => {
      provider = configured({ secondFactor })
      const { proof, factorId, code } = await enrolled()
      const step = await provider.socialFinish(await agree(proof))
      if (step.kind !== 'second_factor') throw new Error(`The step is ${step.kind}.`)
      expect(step.factors).toEqual([{ id: factorId, label: 'totp 1' }])
      const { session } = await provider.verifySecondFactor({
        session: step.session,
        factorId,
        code: code(),
      })
      expect(claimsOf(session.accessToken)).toMatchObject({ aal: 'aal2' })
      expect(claimsOf(session.accessToken)['client_id']).toBeUndefined()
      const refreshed = await provider.refresh(await provider.refresh(session))
      expect(claimsOf(refreshed.accessToken)).toMatchObject({ aal: 'aal2', client_id: oauthClient.id })
    },
  )

  it('an account with an authenticator app is not asked with SECOND_FACTOR=ignore, and is out with its next code in the app', async () => {
    provider = configured({ secondFactor: 'ignore' })
    const { proof, factorId, code } = await enrolled()
    const { session } = completed(await provider.socialFinish(await agree(proof)))
    const app = await openAppSession()
    await provider.verifySecondFactor({ session: app, factorId, code: code() })
    await expect(provider.refresh(session)).rejects.toMatchObject(failing('terminal'))
  })

  it('an account with an authenticator app has to prove it here too when the app did: the OAuth server hands on no proof', async () => {
    const { factorId, code } = await enrolled()
    const app = await openAppSession()
    const raised = await provider.verifySecondFactor({ session: app, factorId, code: code() })
    const step = await provider.socialFinish(await agree(raised.session.accessToken))
    expect(step.kind).toBe('second_factor')
  })

  it('an account without a second factor cannot connect with SECOND_FACTOR=require, and leaves no session', async () => {
    provider = configured({ secondFactor: 'require' })
    const proof = await openApp()
    const returned = await agree(proof)
    await expect(provider.socialFinish(returned)).rejects.toMatchObject(failing('second_factor_missing'))
    expect(sessionsOf(proof)).toHaveLength(1)
  })

  it.each<[kind: string, policy: 'if-enrolled' | 'require' | 'ignore', expected: string]>([
    ['phone', 'if-enrolled', 'second_factor_unusable'],
    ['webauthn', 'if-enrolled', 'second_factor_unusable'],
    ['webauthn', 'require', 'second_factor_unusable'],
    ['phone', 'ignore', 'signed_in'],
  ])(
    'an account with a factor of the kind %s, and SECOND_FACTOR=%s, gets %s after it agreed in the app',
    async (kind, policy, expected) => {
      const proof = await openApp()
      const tested = fixture.configured({ client, secondFactor: policy }, async (request) => {
        const response = await fixture.embedded.fetch(request)
        if (!request.url.endsWith('/user')) return response
        const factors = [
          { id: '10000000-0000-4000-8000-000000000000', status: 'verified', factor_type: kind },
        ]
        return Response.json({ ...((await response.json()) as object), factors })
      })
      const finished = tested.socialFinish(await agree(proof, tested))
      if (expected === 'signed_in') await expect(finished).resolves.toMatchObject({ kind: expected })
      else await expect(finished).rejects.toMatchObject({ failure: expected })
      expect(sessionsOf(proof)).toHaveLength(expected === 'signed_in' ? 2 : 1)
    },
  )

  it('an account with an authenticator app leaves no session when its factors cannot be read', async () => {
    const { proof } = await enrolled()
    const tested = fixture.configured({ client }, async (request) =>
      request.url.endsWith('/user') ? new Response('', { status: 502 }) : fixture.embedded.fetch(request),
    )
    const returned = await agree(proof, tested)
    await expect(tested.socialFinish(returned)).rejects.toMatchObject(failing('transient'))
    expect(sessionsOf(proof)).toHaveLength(1)
  })
})

describe("the web app's page of consent as a way to sign in", () => {
  const labelled = { ...client, label: 'Fieldnotes' }

  it("the app's page of consent is offered first, by the name of the app, unless the app has a page for this server", async () => {
    const methods = async (changes: Partial<GotrueConfig>) =>
      (await configured(changes).capabilities()).social.map(({ id, label }) => `${id} ${label}`)
    expect((await methods({ client: labelled })).slice(0, 2)).toEqual([
      'oauth_server Fieldnotes',
      'google Google',
    ])
    expect(await methods({ client: labelled, social: [] })).toEqual(['oauth_server Fieldnotes'])
    expect(await methods({ client, social: [] })).toEqual([])
    expect(await methods({ client: undefined, social: [] })).toEqual([])
  })

  it("the app's page of consent signs in who approves there, and tells a refusal there from a failure", async () => {
    provider = configured({ client: labelled })
    const { url, secret, state: id } = await provider.socialStart({ method: 'oauth_server', callbackUrl })
    const proof = await openApp()
    const page = (await fixture.embedded.fetch(new Request(url))).headers.get('location') ?? ''
    const authorization = new URL(page).searchParams.get('authorization_id')
    const headers = { authorization: `Bearer ${proof}` }
    const address = `http://localhost:8788/auth/v1/oauth/authorizations/${authorization}`
    const asked = await fixture.embedded.fetch(new Request(address, { headers }))
    expect(await asked.json()).toMatchObject({ scope: 'email', redirect_uri: callbackUrl })
    const approval = new Request(`${address}/consent`, {
      method: 'POST',
      headers,
      body: '{"action":"approve"}',
    })
    const { redirect_url: back } = (await (await fixture.embedded.fetch(approval)).json()) as {
      redirect_url: string
    }
    const { searchParams: params } = new URL(back)
    expect(params.get('state')).toBe(id)
    const { identity } = completed(await provider.socialFinish({ params, secret, callbackUrl }))
    expect(identity.sub).toBe(claimsOf(proof)['sub'])
    const denied = new URLSearchParams({ error: 'access_denied', state: params.get('state') ?? '' })
    const finish = provider.socialFinish({ params: denied, secret, callbackUrl })
    await expect(finish).rejects.toMatchObject(failing('denied'))
  })
})
