import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { AuthClient } from '@supabase/auth-js'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { ProviderSession, SignInStep } from '../../server/core/session/session-provider.ts'
import { createGotrueProvider, type GotrueConfig } from '../../server/providers/supabase/supabase.ts'
import { computeTotp } from '../../server/sandbox/provider/accounts/totp.ts'
import { systemRuntime } from '../../server/startup/system-runtime.ts'
import type { ContractAccount } from './accounts.ts'
import { type ContractServer, openContractServer } from './contract-server.ts'
import { claimsOf } from './driver.ts'
import { callbackUrl, targets } from './target.ts'
import { type CaseFetch, createCaseFetch, createWire, textOf, type Wire } from './wire.ts'

/** Our adapter as a client of the server's OAuth server: what a sign-in in the web app relies on. */
describe.each(targets)('sign-in in the app at $name', (target) => {
  let server: ContractServer
  let client: { id: string; secret: string } | string
  let send: CaseFetch
  let wire: Wire
  let provider: ReturnType<typeof createGotrueProvider>

  beforeAll(async () => {
    server = await openContractServer(target)
    client = await server.openClient()
  })
  afterAll(async () => {
    await server?.close()
  })
  beforeEach((context) => {
    const lack = server.lacks.accounts ?? server.lacks.verifier ?? (typeof client === 'string' ? client : '')
    context.skip(lack !== '', lack)
    send = createCaseFetch()
    wire = createWire(server.authUrl, server.apiKey, send)
    provider = configured()
  })

  function configured(changes: Partial<GotrueConfig> = {}): typeof provider {
    const config = {
      url: server.authUrl,
      apiKey: server.apiKey,
      issuer: server.token?.issuer ?? server.authUrl,
      audience: server.token?.audience ?? 'authenticated',
      hs256Secret: server.jwtSecret,
      social: [],
      captcha: undefined,
      password: true,
      email: undefined,
      secondFactor: 'if-enrolled' as const,
      client: { ...ourClient(), label: 'Fieldnotes' },
    }
    return createGotrueProvider({ ...config, ...changes }, { ...systemRuntime, fetch: send })
  }

  function ourClient() {
    if (typeof client === 'string') throw new Error(client)
    return client
  }

  const failing = (failure: string) => ({ name: 'ProviderError', failure })

  /** Returns the access token of a new session in the web app. */
  async function openApp({ email, password }: ContractAccount): Promise<string> {
    return textOf(
      await wire('POST', '/token?grant_type=password', { body: { email, password } }),
      'access_token',
    )
  }

  async function agree(proof: string, from = provider) {
    const { url, secret, identity } = await from.appSignIn!({ proof, callbackUrl, state: 'state' })
    expect(identity.sub).toBe(claimsOf(proof)['sub'])
    return { params: new URL(url).searchParams, secret, callbackUrl }
  }

  function sessionOf(step: SignInStep): ProviderSession {
    if (step.kind !== 'signed_in') throw new Error('A second factor was asked for.')
    return step.signIn.session
  }

  const connect = async (proof: string): Promise<ProviderSession> =>
    sessionOf(await provider.socialFinish(await agree(proof)))
  const lifeOf = async (accessToken: string) => (await provider.probe({ accessToken })).life

  it('a user who agreed gets a session of the client, refreshed by it alone, and ended alone', async () => {
    const proof = await openApp(await server.accounts.shared())
    const [one, other] = [await connect(proof), await connect(proof)]
    expect(claimsOf(one.accessToken)).toMatchObject({
      sub: claimsOf(proof)['sub'],
      client_id: ourClient().id,
      aal: 'aal1',
    })
    let session = one
    for (const _ of [1, 2, 3]) session = await provider.refresh(session)
    expect(claimsOf(session.accessToken)['session_id']).toBe(claimsOf(one.accessToken)['session_id'])
    const stolen = await wire('POST', '/token?grant_type=refresh_token', {
      body: { refresh_token: session.refreshToken },
    })
    expect(stolen.status).toBe(400)
    await provider.signOut(session)
    expect(await lifeOf(session.accessToken)).toBe('ended')
    await expect(provider.refresh(session)).rejects.toMatchObject(failing('terminal'))
    expect([await lifeOf(proof), await lifeOf(other.accessToken)]).toEqual(['live', 'live'])
  })

  it('a code needs its verifier, which a wrong one does not spend, and is redeemed once', async () => {
    const proof = await openApp(await server.accounts.shared())
    const [one, other] = [await agree(proof), await agree(proof)]
    const mixed = provider.socialFinish({ ...one, secret: other.secret })
    await expect(mixed).rejects.toMatchObject(failing('expired'))
    sessionOf(await provider.socialFinish(one))
    await expect(provider.socialFinish(one)).rejects.toMatchObject(failing('expired'))
  })

  it('tokens of the client prove nothing, and other return addresses and secrets are refused', async () => {
    const proof = await openApp(await server.accounts.shared())
    const session = await connect(proof)
    await expect(provider.verify(session.accessToken)).rejects.toMatchObject(failing('invalid_token'))
    await expect(agree(session.accessToken)).rejects.toMatchObject(failing('invalid_token'))
    const elsewhere = provider.appSignIn!({ proof, callbackUrl: `${callbackUrl}/other`, state: 'state' })
    await expect(elsewhere).rejects.toMatchObject(failing('protocol'))
    const wrong = configured({ client: { ...ourClient(), secret: 'wrong', label: undefined } })
    const refused = { ...failing('transient'), refused: undefined }
    await expect(wrong.refresh(session)).rejects.toMatchObject(refused)
    await expect(wrong.socialFinish(await agree(proof))).rejects.toMatchObject(failing('protocol'))
    expect((await provider.refresh(session)).isOfClient).toBe(true)
  })

  it('a user whose session in the app has ended, or who is banned, is refused at each step', async (context) => {
    context.skip(server.lacks.admin !== undefined, server.lacks.admin)
    const account = await server.accounts.create()
    const gone = await openApp(account)
    await wire('POST', '/logout?scope=local', { bearer: gone })
    await expect(agree(gone)).rejects.toMatchObject(failing('invalid_token'))
    const proof = await openApp(account)
    const [session, returned] = [await connect(proof), await agree(proof)]
    await server.accounts.ban(account.id)
    await expect(provider.socialFinish(returned)).rejects.toMatchObject(failing('terminal'))
    await expect(agree(proof)).rejects.toMatchObject(failing('terminal'))
    await expect(provider.refresh(session)).rejects.toMatchObject(failing('terminal'))
  })

  it('a user ends all sessions of the client in the list of grants of the app', async (context) => {
    const proof = await openApp(await server.accounts.create())
    const session = await connect(proof)
    const path = `/user/oauth/grants?client_id=${ourClient().id}`
    const { status } = await wire('DELETE', path, { bearer: proof })
    context.skip(status === 404, 'this server has no list of grants')
    expect(status).toBe(204)
    expect(await lifeOf(session.accessToken)).toBe('ended')
    await expect(provider.refresh(session)).rejects.toMatchObject(failing('terminal'))
  })

  it('an account with an authenticator app proves it here, and its next sign-in in the app ends nothing', async (context) => {
    const account = await server.accounts.create()
    const first = await openApp(account)
    const made = await wire('POST', '/factors', {
      body: { factor_type: 'totp', friendly_name: 'Phone' },
      bearer: first,
    })
    context.skip(made.status !== 200, 'second factors cannot be enrolled at this server')
    const factorId = textOf(made, 'id')
    const secret = isJsonObject(made.body?.['totp']) ? String(made.body['totp']['secret']) : ''
    const code = (): string => computeTotp(secret, Math.floor(Date.now() / 1000))
    const proveInApp = async (bearer: string): Promise<string> => {
      const challenge = await wire('POST', `/factors/${factorId}/challenge`, { body: {}, bearer })
      const body = { challenge_id: textOf(challenge, 'id'), code: code() }
      return textOf(await wire('POST', `/factors/${factorId}/verify`, { body, bearer }), 'access_token')
    }
    const proof = await proveInApp(first)
    const ignoring = configured({ secondFactor: 'ignore' })
    const ignored = sessionOf(await ignoring.socialFinish(await agree(proof)))
    const step = await provider.socialFinish(await agree(proof))
    if (step.kind !== 'second_factor') throw new Error('No second factor was asked for.')
    expect(step.factors).toEqual([{ id: factorId, label: 'Phone' }])
    const { session } = await provider.verifySecondFactor({ session: step.session, factorId, code: code() })
    expect(claimsOf(session.accessToken)['client_id']).toBeUndefined()
    const refreshed = await provider.refresh(session)
    expect(claimsOf(refreshed.accessToken)).toMatchObject({ aal: 'aal2', client_id: ourClient().id })
    await proveInApp(await openApp(account))
    expect(await lifeOf(refreshed.accessToken)).toBe('live')
    expect(claimsOf((await provider.refresh(refreshed)).accessToken)['aal']).toBe('aal2')
    await expect(ignoring.refresh(ignored)).rejects.toMatchObject(failing('terminal'))
  })

  it('a user agrees on the page of consent of the app, built with auth-js', async () => {
    const account = await server.accounts.create()
    const app = new AuthClient({
      url: server.authUrl,
      headers: { apikey: server.apiKey },
      fetch: send,
      persistSession: false,
      autoRefreshToken: false,
    })
    expect((await app.signInWithPassword(account)).error).toBeNull()
    const { url, secret, state } = await provider.socialStart({ method: 'oauth_server', callbackUrl })
    const asked = await send(url, { redirect: 'manual' })
    const page = new URL(asked.headers.get('location') ?? '')
    const id = page.searchParams.get('authorization_id') ?? ''
    const details = await app.oauth.getAuthorizationDetails(id)
    expect(details.data).toMatchObject({ redirect_uri: callbackUrl, scope: 'email' })
    const { data } = await app.oauth.approveAuthorization(id, { skipBrowserRedirect: true })
    const { searchParams: params } = new URL(data?.redirect_url ?? '')
    expect(params.get('state')).toBe(state)
    const { accessToken } = sessionOf(await provider.socialFinish({ params, secret, callbackUrl }))
    expect(claimsOf(accessToken)['sub']).toBe(account.id)
  })
})
