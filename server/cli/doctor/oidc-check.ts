import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { ServerConfig } from '../../config/setting-table.ts'
import { type Checks, fail, note, ok, type Said, warn } from '@drawbridge/shared/terminal/check.ts'
import { ProviderError, type SessionProvider } from '../../core/session/session-provider.ts'
import { signatureAlgorithms } from '../../providers/jwks.ts'
import { visit, type Visit } from './visit.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

export interface OidcFacts {
  config: OidcConfig
  discovery: Visit
  /** Undefined when the discovery document names no key set. */
  keySet: Visit | undefined
  /** Its refusal of a refresh token that cannot exist; undefined without one. */
  refusal?: ProviderError | undefined
}

/** Requests the discovery document (OpenID Connect Discovery section 4) and the keys that it names. */
export async function askOidc(config: OidcConfig, runtime: Pick<Runtime, 'fetch'>): Promise<OidcFacts> {
  const discovery = await visit(discoveryUrl(config), runtime)
  const jwksUri = documentOf(discovery)?.['jwks_uri']
  const keySet = typeof jwksUri === 'string' && isUrl(jwksUri) ? await visit(jwksUri, runtime) : undefined
  return { config, discovery, keySet }
}

/** Presents a refresh token that cannot exist: a provider checks the client first. */
export async function askForClient(
  provider: Pick<SessionProvider, 'refresh'>,
): Promise<ProviderError | undefined> {
  try {
    await provider.refresh({ accessToken: '', refreshToken: 'no-such-token', expiresAt: 0 })
  } catch (error) {
    if (error instanceof ProviderError) return error
  }
  return undefined
}

type OidcConfig = Pick<
  ServerConfig,
  | 'providerClientSecret'
  | 'baseUrl'
  | 'providerIssuer'
  | 'providerScope'
  | 'providerSessions'
  | 'providerJwtSecret'
>

function discoveryUrl({ providerIssuer }: Pick<ServerConfig, 'providerIssuer'>): string {
  return `${providerIssuer.replace(/\/$/, '')}/.well-known/openid-configuration`
}

/** Applies a check only if there is a discovery document. `lists` is undefined for a missing list, which has a default. */
const discovered =
  (
    check: (
      document: JsonObject,
      config: OidcConfig,
      lists: (member: string, value: string) => boolean | undefined,
    ) => Said,
  ): ((facts: OidcFacts) => Said) =>
  ({ config, discovery }) => {
    const document = documentOf(discovery)
    if (!document) return undefined
    return check(document, config, (member, value) => {
      const list = document[member]
      return Array.isArray(list) ? list.includes(value) : undefined
    })
  }

const neededMembers = ['issuer', 'authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const

/** Checks that the provider is the expected one, and supports what signing in and refreshing need. */
export const oidcChecks: Checks<OidcFacts> = {
  provider({ config, discovery }) {
    const url = discoveryUrl(config)
    if (discovery.kind === 'unreachable') {
      return fail(
        `${url} cannot be reached: ${discovery.reason}.`,
        'Check DRAWBRIDGE_PROVIDER_URL, and that this machine may reach that host.',
      )
    }
    const document = documentOf(discovery)
    const missing = neededMembers.filter((member) => typeof document?.[member] !== 'string')
    if (document && missing.length === 0) return ok(`${config.providerIssuer} answers.`)
    const found = document ? `without ${missing.join(', ')}` : discovery.status
    return fail(
      `No discovery document at ${url} (${found}).`,
      'Set DRAWBRIDGE_PROVIDER_URL to the issuer: the address before /.well-known/openid-configuration.',
    )
  },
  issuer: discovered((document, { providerIssuer: expected }) => {
    if (neededMembers.some((member) => typeof document[member] !== 'string')) return undefined
    const { issuer } = document
    if (issuer === expected) return ok(`The provider's issuer is ${expected}.`)
    return fail(
      `The provider's issuer is ${JSON.stringify(issuer)} instead of ${JSON.stringify(expected)}: every sign-in fails.`,
      `Set DRAWBRIDGE_PROVIDER_URL=${String(issuer)} exactly; a slash at its end counts.`,
    )
  }),
  client({ discovery, refusal }) {
    if (!documentOf(discovery) || !refusal) return undefined
    if (refusal.failure === 'terminal') return ok('The provider accepts the client id and secret.')
    if (!/invalid_client|unauthorized_client|: 401 /.test(refusal.message)) return undefined
    return fail(
      `No one can sign in: ${refusal.message}`,
      'Copy DRAWBRIDGE_PROVIDER_CLIENT_ID and DRAWBRIDGE_PROVIDER_CLIENT_SECRET again, and allow the grants authorization_code and refresh_token for this client.',
    )
  },
  'sign-in': discovered((document, { providerClientSecret }, lists) => {
    if (document['require_pushed_authorization_requests'] === true) {
      return fail(
        'The provider requires pushed authorization requests (PAR), which are not supported: every sign-in fails.',
        'Turn the requirement off at the provider, for this client or for all.',
      )
    }
    const methods = 'token_endpoint_auth_methods_supported'
    const takesSecret = ['client_secret_basic', 'client_secret_post'].some(
      (method) => lists(methods, method) ?? true,
    )
    if (providerClientSecret !== undefined && !takesSecret) {
      return fail(
        `The provider accepts no client secret, only ${String(document[methods])}: every sign-in fails.`,
        'Allow client_secret_basic or client_secret_post for this client at the provider.',
      )
    }
    if (lists('response_types_supported', 'code') === false) {
      return fail(
        'The provider does not support the authorization code flow: every sign-in fails.',
        'Turn on the response type "code" for this client at the provider.',
      )
    }
    const signing = 'id_token_signing_alg_values_supported'
    const isVerifiable = signatureAlgorithms.some((algorithm) => lists(signing, algorithm) ?? true)
    return isVerifiable
      ? undefined
      : fail(
          `The provider signs ID tokens only with ${String(document[signing])}, which is not accepted: every sign-in fails.`,
          'Let it sign with an asymmetric key, such as RS256 or ES256.',
        )
  }),
  pkce: discovered((_document, _config, lists) => {
    const isSupported = lists('code_challenge_methods_supported', 'S256')
    if (isSupported) return undefined
    return isSupported === undefined
      ? note(
          'The provider does not announce PKCE, which is used anyway.',
          'Nothing to do unless sign-in fails at the provider.',
        )
      : fail('The provider does not support PKCE with S256.', 'Turn it on for this client at the provider.')
  }),
  'refresh-tokens': discovered((_document, { providerScope }, lists) => {
    if (lists('grant_types_supported', 'refresh_token') === false) {
      return fail(
        'The provider issues no refresh tokens: connections end with its first access token.',
        'Turn on the refresh_token grant for this client at the provider.',
      )
    }
    const asked = providerScope.split(' ').includes('offline_access')
    if (asked && lists('scopes_supported', 'offline_access') === false) {
      return warn(
        'The provider does not list the scope offline_access that DRAWBRIDGE_PROVIDER_SCOPE asks for.',
        'Remove it if sign-in fails with invalid_scope. For Google set DRAWBRIDGE_PROVIDER_PARAMETERS="access_type=offline&prompt=consent".',
      )
    }
    return ok(`Refresh tokens are requested${asked ? ' with offline_access' : ''}.`)
  }),
  'sign-out': discovered((document, { providerSessions }) => {
    const isShared = providerSessions === 'one'
    if (typeof document['revocation_endpoint'] !== 'string') {
      const isAsked = typeof document['end_session_endpoint'] === 'string'
      const lives = isAsked
        ? 'a logout is posted to its end_session_endpoint instead, which not every provider accepts from a server'
        : 'sessions that end here stay open there until they expire'
      return (isShared ? note : warn)(
        `The provider has no revocation endpoint: ${lives}.${isShared ? '' : ' If it is dex, it also keeps one refresh token per user, so a second connection ends the first.'}`,
        `${isAsked ? 'Look for provider_sign_out_failed in the log, and allow logout by POST at the provider. ' : ''}For dex set ${isShared ? '' : 'DRAWBRIDGE_PROVIDER_SESSIONS=one, and '}expiry.refreshTokens.reuseInterval to 60s there: a crash during a refresh loses the session otherwise. Keep sessions at the provider short.`,
      )
    }
    if (!isShared) return ok('Ended connections are revoked at the provider.')
    return note(
      'With DRAWBRIDGE_PROVIDER_SESSIONS=one a session that a new sign-in replaces stays open at the provider, which could end it.',
      'Remove the setting, unless the provider keeps one refresh token per user.',
    )
  }),
  'backchannel-logout': discovered((document, { baseUrl }) =>
    document['backchannel_logout_supported'] === true
      ? ok(
          `The provider can end connections as soon as a user signs out there: register ${baseUrl}/oauth/backchannel_logout.`,
        )
      : undefined,
  ),
}

function documentOf(discovery: Visit): JsonObject | undefined {
  return discovery.status === 200 ? discovery.json : undefined
}
