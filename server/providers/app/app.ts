import { isDeepStrictEqual } from 'node:util'
import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { BoundedMap } from '../../core/bounded-map.ts'
import { hashSecret } from '../../core/seal.ts'
import {
  type ProbedSession,
  ProviderError,
  type ProviderSession,
  type SessionProvider,
  type SignIn,
} from '../../core/session/session-provider.ts'
import { identityOfClaims, profileOfClaims } from '../openid-connect/oidc-identity.ts'
import { readAppJwt } from './app-jwt.ts'
import { askAppSession, endlessSeconds, readAppSession } from './app-session.ts'

export interface AppProviderConfig {
  /** Origin of the web app. */
  issuer: string
  baseUrl: string
  /** Shared with the web app: at least 32 bytes. */
  secret: string
  /** Says whether a user may stay connected. Undefined: connections last for their time. */
  sessionUrl: string | undefined
}

/** A sign-in between the click in the app and the return of the browser. `code` is hashed. */
interface AppSecret {
  code: string
  state: string
  signIn: SignIn
}

const maxAnswers = 1000
/** How long a refresh takes the answer of the probe that asked for it. */
const answerSeconds = 5

/**
 * Creates a {@link SessionProvider} over a web app with sessions of its own. Users agree on a page of the app, whose server signs who
 * they are. The app has no session to refresh or sign out: what it says about the user is kept, and a probe that finds a difference
 * reports `token_refused`, so that the keeper stores what the app says now, for every instance and the next start.
 */
export function createAppProvider(
  { issuer, baseUrl, secret, sessionUrl }: AppProviderConfig,
  runtime: Pick<Runtime, 'now' | 'randomBytes' | 'fetch'>,
): SessionProvider {
  const own = { secret, audience: baseUrl }
  const answers = new BoundedMap<{ at: number; session: ProviderSession }>(maxAnswers)
  const ask = (sub: string, url: string) => askAppSession(sub, { sessionUrl: url, secret }, runtime)
  const readUser = async (jwt: string) => {
    const claims = await readAppJwt(jwt, 'drawbridge-user+jwt', own, runtime)
    const session = readAppSession(claims, 'invalid_token', runtime.now())
    const identity = identityOfClaims(session.userinfo ?? {}, issuer, session.expiresAt)
    return { claims, session, identity }
  }
  const disabled = (what: string) =>
    Promise.reject(new ProviderError('disabled', `The web app has no ${what}.`))

  return {
    issuer,
    capabilities: async () => ({ password: false, social: [], captcha: undefined, confirmsEmail: true }),
    // Signing in needs no request to the app, and connections are served while it is down.
    ping: async () => {},
    socialStart: () => disabled('social sign-in'),

    async appSignIn({ proof, callbackUrl, state }) {
      const { claims, session, identity } = await readUser(proof)
      const code = encodeBase64url(runtime.randomBytes(32))
      const secret: AppSecret = { code: hashSecret(code), state, signIn: { session, identity } }
      return {
        url: `${callbackUrl}?${new URLSearchParams({ code, state }).toString()}`,
        secret: JSON.stringify(secret),
        identity,
        providerToken: session.accessToken,
        singleUse: claims.jti,
      }
    },

    async socialFinish({ params, secret: text }) {
      const { code, state, signIn } = JSON.parse(text) as AppSecret
      if (hashSecret(params.get('code') ?? '') !== code || params.get('state') !== state)
        throw new ProviderError('expired', 'The return belongs to another sign-in.')
      return { kind: 'signed_in', signIn }
    },

    async verifyUser(jwt) {
      const { claims, identity } = await readUser(jwt)
      return { ...identity, expiresAt: claims.exp ?? 0 }
    },

    async refresh(session) {
      // Nothing gives another token, and the connection does not depend on it.
      if (sessionUrl === undefined) return { ...session, expiresAt: runtime.now() + endlessSeconds }
      const sub = subOf(session)
      const known = answers.get(sub)
      if (known && runtime.now() - known.at < answerSeconds) return known.session
      const current = await ask(sub, sessionUrl)
      if (current) return current
      throw new ProviderError('terminal', 'The web app has ended the session.')
    },

    ...(sessionUrl !== undefined && {
      async probe({ accessToken, userinfo }: ProbedSession) {
        const sub = subOf({ userinfo })
        const session = await ask(sub, sessionUrl)
        if (!session) return { life: 'ended' as const }
        const isSame = accessToken === session.accessToken && isDeepStrictEqual(userinfo, session.userinfo)
        if (isSame) return { life: 'live' as const }
        answers.set(sub, { at: runtime.now(), session })
        return { life: 'token_refused' as const }
      },
    }),

    profileOf(of) {
      const said = (of.kind === 'session' ? of.session.userinfo : of.identity.claims) ?? {}
      const { claims } = said
      // Access rules see the members of `claims` by their own names.
      return { ...profileOfClaims(said, issuer), claims: isJsonObject(claims) ? claims : {} }
    },
    // A session has everything that the app said last.
    profileNeedsProbe: false,

    async readLogout(jwt) {
      const { sub, jti } = await readAppJwt(jwt, 'drawbridge-end+jwt', own, runtime)
      return { id: jti, sub, sid: undefined }
    },
    signOut: () => disabled('session that could be ended from here'),
  }
}

function subOf({ userinfo }: Pick<ProbedSession, 'userinfo'>): string {
  return String(userinfo?.['sub'])
}
