import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { readJwt } from '@drawbridge/shared/oauth/jwt.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { JWTPayload } from 'jose'
import {
  type Identity,
  ProviderError,
  type ProviderSession,
  type SessionProvider,
  type SignIn,
  type SignInStep,
} from '../../core/session/session-provider.ts'
import { AppClient, appMethod, startPkce } from './app-client.ts'
import { callGotrue, type GotrueAddress, type GotrueRequest } from './call.ts'
import { createCapabilities, type OfferedMethods } from './capabilities.ts'
import {
  emailCodeFailure,
  emailFailure,
  passwordFailure,
  probeFailure,
  type ReadRefusal,
  refreshFailure,
  returnFailure,
  secondFactorFailure,
  settingsFailure,
  socialFailure,
  ssoFailure,
  unclearFailure,
} from './failure.ts'
import { createPing } from './ping.ts'
import { readLife, readSession, readUserClaims } from './supabase-session.ts'
import { factorsToAsk, isUuid, type SecondFactorPolicy } from './second-factor.ts'
import { createTokenVerifier, profileOfClaims } from './token-verifier.ts'

export interface GotrueConfig extends GotrueAddress, OfferedMethods {
  issuer: string
  audience: string
  hs256Secret: string | undefined
  secondFactor: SecondFactorPolicy
  /** Scopes of social methods that need others than by default. */
  socialScopes?: ReadonlyMap<string, string | undefined>
}

/**
 * Creates a {@link SessionProvider} over the HTTP API of Supabase Auth (GoTrue) and compatible servers.
 *
 * Sessions come from the password grant or from the provider's PKCE flow, never from a browser's cookie. Sign-out is always local:
 * the default of the API would end every session of the user.
 */
export function createGotrueProvider(
  config: GotrueConfig,
  runtime: Pick<Runtime, 'now' | 'randomBytes' | 'fetch'>,
): Required<Omit<SessionProvider, 'readLogout' | 'appSignIn' | 'verifyUser'>> &
  Pick<SessionProvider, 'appSignIn'> {
  const api = createApi(config, runtime)
  const { call, ping, readIdentity, send, signOut } = api
  const client = config.client && new AppClient({ ...config.client, url: config.url, call, runtime })
  return {
    issuer: config.issuer,
    capabilities: createCapabilities(
      () => call({ method: 'GET', path: '/settings' }, settingsFailure),
      config,
      runtime,
    ),

    ping,
    ...createSignIns(config, api, client, runtime),
    ...(client && {
      // The proof is the access token of the user's session in the web app.
      appSignIn: async ({ proof, ...to }) => ({
        identity: await readIdentity(proof),
        ...(await client.approve(proof, to)),
        providerToken: proof,
      }),
    }),

    verifySecondFactor: (given) => verifySecondFactor(given, api, runtime),
    refresh: (session) => refresh(session, config, api, client, runtime),

    async verify(accessToken) {
      const identity = await readIdentity(accessToken)
      if (config.secondFactor === 'require' && !identity.secondFactor) {
        throw new ProviderError(
          'invalid_token',
          'The provider token is refused: no second factor was proven.',
        )
      }
      return identity
    },

    async probe({ accessToken }) {
      const answer = await send({ method: 'GET', path: '/user', bearer: accessToken })
      const life = readLife(answer, runtime.now())
      const claims = readUserClaims(answer)
      if (life !== undefined) return { life, ...(claims && { claims }) }
      if (answer.kind === 'refusal') throw probeFailure(answer)
      throw new ProviderError('transient', 'The auth API answered something other than a user.')
    },

    profileOf(of, probed) {
      const claims = of.kind === 'session' ? readJwt(of.session.accessToken)?.claims : of.identity.claims
      return profileOfClaims({ ...claims, ...probed })
    },
    // Every access token contains current claims.
    profileNeedsProbe: false,

    signOut,
  }
}

/** Scopes that a provider needs to identify the user, besides the ones the API requests by itself. */
const neededScopes: ReadonlyMap<string, string> = new Map([
  ['azure', 'email'],
  ['keycloak', 'openid'],
])

/**
 * The API sends the mail before it responds, within ten seconds. It revokes the code if the caller hangs up earlier, although the mail
 * may be out already.
 */
const mailTimeoutMs = 20_000

type SignIns = Pick<
  SessionProvider,
  'passwordSignIn' | 'emailStart' | 'emailVerify' | 'socialStart' | 'ssoStart' | 'socialFinish'
>

function createSignIns(
  config: GotrueConfig,
  { call, firstStep, post }: GotrueApi,
  client: AppClient | undefined,
  runtime: Pick<Runtime, 'randomBytes'>,
): Required<SignIns> {
  return {
    async passwordSignIn({ email, password, captchaToken }) {
      const body = { email, password, ...securityOf(captchaToken) }
      return firstStep(await post('/token?grant_type=password', body, passwordFailure))
    },

    async emailStart({ email, callbackUrl, captchaToken }) {
      const { secret, challenge } = await startPkce(runtime)
      const body = { email, create_user: false, ...challenge, ...securityOf(captchaToken) }
      const path = `/otp?redirect_to=${encodeURIComponent(callbackUrl)}`
      await call({ method: 'POST', path, body, timeoutMs: mailTimeoutMs }, emailFailure)
      return { secret }
    },

    async emailVerify({ email, code }) {
      return firstStep(await post('/verify', { type: 'email', email, token: code }, emailCodeFailure))
    },

    async socialStart({ method, callbackUrl }) {
      if (client && method === appMethod) return client.start({ callbackUrl })
      const { secret, challenge } = await startPkce(runtime)
      const url = new URL(`${config.url}/authorize`)
      const scopes = config.socialScopes?.get(method) ?? neededScopes.get(method)
      const parameters = {
        provider: method,
        redirect_to: callbackUrl,
        ...challenge,
        ...(scopes && { scopes }),
      }
      url.search = new URLSearchParams(parameters).toString()
      return { url: url.href, secret }
    },

    async ssoStart({ domain, callbackUrl, captchaToken }) {
      const { secret, challenge } = await startPkce(runtime)
      const to = { domain, redirect_to: callbackUrl, skip_http_redirect: true }
      const body = { ...to, ...challenge, ...securityOf(captchaToken) }
      return { url: readRedirect(await post('/sso', body, ssoFailure)), secret }
    },

    async socialFinish({ params, secret, callbackUrl }) {
      const code = params.get('code')
      if (!code) throw returnFailure(params)
      // Only the OAuth server returns our state.
      if (client && params.has('state')) {
        return firstStep(await client.redeem(code, secret, callbackUrl), { isOfClient: true })
      }
      const body = { auth_code: code, code_verifier: secret }
      return firstStep(await post('/token?grant_type=pkce', body, socialFailure))
    },
  }
}

function securityOf(captchaToken: string | undefined) {
  return { gotrue_meta_security: captchaToken === undefined ? {} : { captcha_token: captchaToken } }
}

function readRedirect(body: unknown): string {
  const url = isJsonObject(body) ? body['url'] : undefined
  if (typeof url === 'string' && /^https?:$/.test(URL.parse(url)?.protocol ?? '')) return url
  throw new ProviderError('protocol', 'The auth API started single sign-on without a URL to go on at.')
}

type GotrueApi = ReturnType<typeof createApi>

function createApi(config: GotrueConfig, runtime: Pick<Runtime, 'now' | 'fetch'>) {
  const { send, ping } = createPing((request) => callGotrue(config, request, runtime), runtime)

  const readIdentity = createTokenVerifier(
    { ...config, clientId: config.client?.id, jwksUrl: `${config.url}/.well-known/jwks.json`, vouch },
    runtime,
  )

  /** Asks the auth API, which verifies a token with the key itself, to vouch for one with an unpublished key. */
  async function vouch(accessToken: string, { sub }: JWTPayload): Promise<void> {
    const answer = await send({ method: 'GET', path: '/user', bearer: accessToken })
    const life = readLife(answer, runtime.now())
    if (life === undefined)
      throw new ProviderError('transient', 'The auth API did not say whose token it is.')
    const isOfUser = answer.kind === 'success' && isJsonObject(answer.body) && answer.body['id'] === sub
    if (life === 'live' && isOfUser) return
    throw new ProviderError('invalid_token', 'The provider token is refused by the auth API.')
  }

  async function call(request: GotrueRequest, readRefusal: ReadRefusal): Promise<unknown> {
    const answer = await send(request)
    if (answer.kind === 'refusal') throw readRefusal(answer)
    return answer.body
  }

  const post = (path: string, body: unknown, readRefusal: ReadRefusal, bearer?: string): Promise<unknown> =>
    call({ method: 'POST', path, body, ...(bearer !== undefined && { bearer }) }, readRefusal)

  /** Signs out the session if `use` fails: its tokens exist nowhere else. */
  async function useOrEnd<T>(
    session: ProviderSession,
    use: (identity: Identity) => T | Promise<T>,
  ): Promise<T> {
    try {
      return await use(await readIdentity(session.accessToken, { isFromProvider: true }))
    } catch (error) {
      await signOut(session).catch(() => undefined)
      throw error
    }
  }

  async function firstStep(
    body: unknown,
    kind: Pick<ProviderSession, 'isOfClient'> = {},
  ): Promise<SignInStep> {
    const session = { ...readSession(body, runtime.now()), ...kind }
    return useOrEnd(session, async (identity) => {
      // The OAuth server returns tokens alone, at the first level even if the app's session has proven its factor.
      const asked = kind.isOfClient && { user: await readUser(session.accessToken) }
      const factors = factorsToAsk(asked ?? body, identity.secondFactor, config.secondFactor)
      return factors.length > 0
        ? { kind: 'second_factor', session, factors }
        : { kind: 'signed_in', signIn: { session, identity } }
    })
  }

  const readUser = (bearer: string): Promise<unknown> =>
    call({ method: 'GET', path: '/user', bearer }, unclearFailure)

  async function signOut({ accessToken }: ProviderSession): Promise<void> {
    const request = { method: 'POST', path: '/logout?scope=local', bearer: accessToken } as const
    const answer = await send(request)
    if (answer.kind === 'success') return
    const life = readLife(answer, runtime.now())
    if (life === 'ended') return
    if (life === undefined) throw unclearFailure(answer)
    throw new ProviderError('invalid_token', 'The access token is not accepted for signing out.')
  }

  return { call, firstStep, ping, post, readIdentity, send, signOut, useOrEnd }
}

async function verifySecondFactor(
  { session, factorId, code }: { session: ProviderSession; factorId: string; code: string },
  { post, useOrEnd }: GotrueApi,
  runtime: Pick<Runtime, 'now'>,
): Promise<SignIn> {
  if (!isUuid(factorId)) throw new ProviderError('expired', 'There is no such second factor.')
  const path = `/factors/${factorId}`
  const { accessToken, isOfClient } = session
  const challenge = await post(`${path}/challenge`, {}, secondFactorFailure, accessToken)
  const challengeId = isJsonObject(challenge) ? challenge['id'] : undefined
  if (typeof challengeId !== 'string') {
    throw new ProviderError('protocol', 'The auth API answered a challenge without its id.')
  }
  const answer = { challenge_id: challengeId, code }
  // The session of the first step is superseded, even if its tokens are still valid.
  const body = await post(`${path}/verify`, answer, secondFactorFailure, accessToken)
  // Until its next refresh the token does not name our client.
  const proven = { ...readSession(body, runtime.now()), ...(isOfClient && { isOfClient }) }
  return useOrEnd(proven, (identity) => {
    if (identity.secondFactor) return { session: proven, identity }
    throw new ProviderError('protocol', 'The auth API accepted a code without confirming the second factor.')
  })
}

async function refresh(
  { refreshToken, isOfClient }: ProviderSession,
  { secondFactor }: Pick<GotrueConfig, 'secondFactor'>,
  { post, signOut }: GotrueApi,
  client: AppClient | undefined,
  runtime: Pick<Runtime, 'now'>,
): Promise<ProviderSession> {
  if (isOfClient && !client) throw new ProviderError('transient', 'PROVIDER_CLIENT_ID is needed to refresh.')
  const body = { refresh_token: refreshToken }
  const answer = await (isOfClient && client
    ? client.refresh(refreshToken)
    : post('/token?grant_type=refresh_token', body, refreshFailure))
  const next = { ...readSession(answer, runtime.now()), ...(isOfClient && { isOfClient }) }
  // The API downgrades sessions when the factor is deleted, and continues to refresh them.
  if (secondFactor !== 'require' || readJwt(next.accessToken)?.claims['aal'] === 'aal2') return next
  await signOut(next).catch(() => undefined)
  throw new ProviderError('terminal', 'The session has no second factor any more.')
}
