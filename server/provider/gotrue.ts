import { createCodeVerifier, deriveCodeChallenge } from '@drawbridge/shared/pkce.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import {
  ProviderError,
  type ProviderCapabilities,
  type ProviderSession,
  type SessionProvider,
  type SignIn,
} from '../core/session-provider.ts'
import { callGotrue, type GotrueAddress, type GotrueRequest } from './gotrue-call.ts'
import { createTokenVerifier } from './token-verifier.ts'

const capabilitiesFreshSeconds = 60

/** Settings of the adapter. */
export interface GotrueConfig extends GotrueAddress {
  issuer: string
  audience: string
  hs256Secret: string | undefined
  /** Social sign-in methods to offer; undefined offers what the provider reports. */
  social: readonly string[] | undefined
}

/**
 * {@link SessionProvider} over the HTTP API of Supabase Auth (GoTrue) and what speaks like it.
 *
 * Sessions come from the password grant or from the provider's PKCE flow, never from a browser's cookie. Sign-out is
 * always local: the default of the API would end the user's every session.
 */
export function createGotrueProvider(
  config: GotrueConfig,
  runtime: Pick<Runtime, 'now' | 'randomBytes' | 'fetch'>,
): SessionProvider {
  const call = (request: GotrueRequest): Promise<unknown> => callGotrue(config, request, runtime)
  const verify = createTokenVerifier({ ...config, jwksUrl: `${config.url}/.well-known/jwks.json` }, runtime)
  let reported: { askedAt: number; capabilities: ProviderCapabilities } | undefined
  let asking: Promise<ProviderCapabilities> | undefined

  async function askForCapabilities(): Promise<ProviderCapabilities> {
    const { password, social } = methodsOf(await call({ method: 'GET', path: '/settings' }))
    const capabilities = { password, social: config.social ?? social }
    reported = { askedAt: runtime.now(), capabilities }
    return capabilities
  }

  async function signIn(path: string, body: unknown): Promise<SignIn> {
    const answer = await call({ method: 'POST', path, body })
    const session = sessionOf(answer, runtime.now())
    const identity = await verify(session.accessToken)
    if (hasSecondFactor(answer) && !identity.secondFactor) {
      // The password alone must not be enough; the half-way session is of no use to anybody.
      await signOut(session).catch(() => undefined)
      throw new ProviderError('second_factor_needed', 'The account has a verified second factor.')
    }
    return { session, identity }
  }

  async function signOut(session: ProviderSession): Promise<void> {
    await call({ method: 'POST', path: '/logout?scope=local', bearer: session.accessToken })
  }

  return {
    issuer: config.issuer,
    verify,

    async capabilities() {
      const known = reported
      if (known && runtime.now() - known.askedAt < capabilitiesFreshSeconds) return known.capabilities
      asking ??= askForCapabilities().finally(() => {
        asking = undefined
      })
      if (!known) return asking
      // What was true a minute ago is better than no login page.
      return asking.catch(() => {
        reported = { askedAt: runtime.now(), capabilities: known.capabilities }
        return known.capabilities
      })
    },

    passwordSignIn: ({ email, password }) =>
      signIn('/token?grant_type=password', { email, password, gotrue_meta_security: {} }),

    async socialStart({ method, callbackUrl }) {
      const secret = createCodeVerifier(runtime.randomBytes)
      const url = new URL(`${config.url}/authorize`)
      url.search = new URLSearchParams({
        provider: method,
        redirect_to: callbackUrl,
        code_challenge: await deriveCodeChallenge(secret),
        code_challenge_method: 's256',
      }).toString()
      return { url: url.href, secret }
    },

    async socialFinish({ params, secret }) {
      const code = params.get('code')
      if (code) return signIn('/token?grant_type=pkce', { auth_code: code, code_verifier: secret })
      throw socialFailure(params)
    },

    async refresh(refreshToken) {
      const body = { refresh_token: refreshToken }
      return sessionOf(
        await call({ method: 'POST', path: '/token?grant_type=refresh_token', body }),
        runtime.now(),
      )
    },

    signOut,
  }
}

/** Why a return from the social provider carries no code. */
function socialFailure(params: URLSearchParams): ProviderError {
  const error = params.get('error')
  if (error === 'access_denied') return new ProviderError('denied', 'The social sign-in was refused.')
  const over = ['flow_state_expired', 'flow_state_not_found', 'bad_oauth_state']
  return error === null || over.includes(params.get('error_code') ?? '')
    ? new ProviderError(
        'expired',
        'The social sign-in returned without a code: there is no such flow any more.',
      )
    : new ProviderError('protocol', 'The social sign-in failed at the auth API.')
}

function sessionOf(body: unknown, now: number): ProviderSession {
  const given = (typeof body === 'object' && body !== null ? body : {}) as Record<string, unknown>
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: expiresIn } = given
  if (typeof accessToken !== 'string' || typeof refreshToken !== 'string' || typeof expiresIn !== 'number') {
    throw new ProviderError('protocol', 'The auth API answered a session without its tokens.')
  }
  if (expiresIn < 1)
    throw new ProviderError('protocol', 'The auth API answered a session that has already ended.')
  // Counted from our own clock: the provider's may differ.
  return { accessToken, refreshToken, expiresAt: now + Math.floor(expiresIn) }
}

function hasSecondFactor(body: unknown): boolean {
  const factors = (body as { user?: { factors?: unknown } } | undefined)?.user?.factors
  return (
    Array.isArray(factors) && factors.some((factor) => (factor as { status?: unknown }).status === 'verified')
  )
}

function methodsOf(body: unknown): { password: boolean; social: string[] } {
  const external = (body as { external?: unknown } | undefined)?.external
  if (typeof external !== 'object' || external === null) {
    throw new ProviderError('protocol', 'The settings of the auth API have no external member.')
  }
  const enabled = Object.entries(external)
    .filter(([, on]) => on === true)
    .map(([name]) => name)
  const notSocial = new Set(['email', 'phone', 'anonymous_users', 'saml', 'web3_ethereum', 'web3_solana'])
  return { password: enabled.includes('email'), social: enabled.filter((name) => !notSocial.has(name)) }
}
