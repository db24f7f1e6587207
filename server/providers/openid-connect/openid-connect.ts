import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { SessionProvider } from '../../core/session/session-provider.ts'
import { createOidcConnection, type OidcClientConfig, pingOidcProvider } from './oidc-connection.ts'
import { probeOidcSession, profileOfOidc, refreshOidcSession, signOutOfOidc } from './oidc-session.ts'
import { finishOidcSignIn, type OidcRequestConfig, startOidcSignIn } from './oidc-sign-in.ts'
import { createLogoutReader, createOidcJwtVerifier, createOidcTokenVerifier } from './oidc-verifier.ts'

export interface OidcConfig extends OidcClientConfig, OidcRequestConfig {
  /** The provider's name on the only button of the login page. */
  label: string
  /** Accepts JWT access tokens of the issuer with this audience; undefined: provider tokens are not accepted as credentials. */
  audience: string | undefined
}

/**
 * Creates a {@link SessionProvider} over OpenID Connect: Keycloak, Auth0, Okta, Entra ID and others. Users sign in on the
 * provider's own page, so there is one social method, `oidc`, no password, and no prompt for captchas or second factors. Sessions
 * are this client's own; a cookie of the web app is never seen.
 */
export function createOidcProvider(
  config: OidcConfig,
  runtime: Pick<Runtime, 'now' | 'randomBytes' | 'fetch'>,
): SessionProvider {
  const connect = createOidcConnection(config, runtime)
  const { issuer, audience, label, clientId } = config
  const verifyJwt = createOidcJwtVerifier(issuer, connect, runtime)
  return {
    issuer,

    async capabilities() {
      // Always the same; but without ever reaching the provider, signing in is impossible.
      await connect()
      return {
        password: false,
        social: [{ id: 'oidc', label }],
        captcha: undefined,
        confirmsEmail: true,
      }
    },

    ping: () => pingOidcProvider(config, connect, runtime),

    socialStart({ callbackUrl, isFresh }) {
      const parameters = { ...config.parameters, ...(isFresh && { max_age: '0' }) }
      return startOidcSignIn({ ...config, parameters }, callbackUrl, connect, runtime)
    },

    async socialFinish(given) {
      return { kind: 'signed_in', signIn: await finishOidcSignIn(given, config, verifyJwt, connect, runtime) }
    },

    refresh: (session) => refreshOidcSession(session, connect, runtime),
    probe: ({ accessToken }) => probeOidcSession(accessToken, connect),
    profileOf: (of, probed) => profileOfOidc(of, probed, issuer),
    // A refresh response need not contain a new ID token.
    profileNeedsProbe: true,
    signOut: (session) => signOutOfOidc(session, connect),
    readLogout: createLogoutReader(clientId, verifyJwt, runtime),
    ...(audience !== undefined && {
      verify: createOidcTokenVerifier({ issuer, audience }, verifyJwt, connect, runtime),
    }),
  }
}
