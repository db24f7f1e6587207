import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { ServerConfig } from '../../config/setting-table.ts'
import { type Checks, fail, note, ok, type Said, warn } from '@drawbridge/shared/terminal/check.ts'
import { ProviderError, type SessionProvider } from '../../core/session/session-provider.ts'
import { signatureAlgorithms } from '../../providers/jwks.ts'
import { unreachableProvider } from './provider-check.ts'
import { probe, type ProbeResult } from './probe.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

export interface OidcFacts {
  config: OidcConfig
  discovery: ProbeResult
  /** Undefined when the discovery document names no key set. */
  keySet: ProbeResult | undefined
  /** Its refusal of a refresh token that cannot exist; undefined without one. */
  refusal?: ProviderError | undefined
}

/** Requests the discovery document (OpenID Connect Discovery section 4) and the keys that it names. */
export async function probeOidc(config: OidcConfig, runtime: Pick<Runtime, 'fetch'>): Promise<OidcFacts> {
  const discovery = await probe(discoveryUrl(config), runtime)
  const jwksUri = documentOf(discovery)?.['jwks_uri']
  const keySet = typeof jwksUri === 'string' && isUrl(jwksUri) ? await probe(jwksUri, runtime) : undefined
  return { config, discovery, keySet }
}

/** Presents a refresh token that cannot exist: a provider checks the client first. */
export async function probeClient(
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
  'providerClientSecret' | 'providerIssuer' | 'providerScope' | 'providerSessions'
>

function discoveryUrl({ providerIssuer }: Pick<ServerConfig, 'providerIssuer'>): string {
  return `${providerIssuer.replace(/\/$/, '')}/.well-known/openid-configuration`
}

/** Returns whether the list `member` of a document has `value`; undefined for a missing list, which has a default. */
function lists(document: JsonObject, member: string, value: string): boolean | undefined {
  const list = document[member]
  return Array.isArray(list) ? list.includes(value) : undefined
}

const neededMembers = ['issuer', 'authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const

/** Returns true for the metadata of GoTrue, which has these paths and cannot revoke. */
function isSupabase(document: JsonObject): boolean {
  const issuer = String(document['issuer']).replace(/\/$/, '')
  return (
    document['token_endpoint'] === `${issuer}/oauth/token` &&
    document['userinfo_endpoint'] === `${issuer}/oauth/userinfo` &&
    document['jwks_uri'] === `${issuer}/.well-known/jwks.json` &&
    document['revocation_endpoint'] === undefined
  )
}

/** Applies a check only if there is a discovery document. */
const discovered =
  (check: (document: JsonObject, config: OidcConfig) => Said): ((facts: OidcFacts) => Said) =>
  ({ config, discovery }) => {
    const document = documentOf(discovery)
    return document && check(document, config)
  }

/** Checks that the provider is the expected one, and supports what signing in and refreshing need. */
export const oidcChecks: Checks<OidcFacts> = {
  provider({ config, discovery }) {
    const url = discoveryUrl(config)
    if (discovery.kind === 'unreachable') return unreachableProvider(url, discovery.reason)
    const document = documentOf(discovery)
    const missing = neededMembers.filter((member) => typeof document?.[member] !== 'string')
    if (document && missing.length === 0) return ok(`${config.providerIssuer} answers.`)
    const found = document ? `without ${missing.join(', ')}` : discovery.status
    return fail(
      `No discovery document at ${url} (${found}).`,
      'Set DRAWBRIDGE_PROVIDER_URL to the issuer: the address before /.well-known/openid-configuration.',
    )
  },
  issuer: discovered(({ issuer }, { providerIssuer: expected }) => {
    if (typeof issuer !== 'string') return undefined
    if (issuer === expected) return ok(`The provider's issuer is ${expected}.`)
    return fail(
      `The provider's issuer is ${JSON.stringify(issuer)} instead of ${JSON.stringify(expected)}: every sign-in fails.`,
      `Set DRAWBRIDGE_PROVIDER_URL=${issuer} exactly; a slash at its end counts.`,
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
  'sign-in': discovered((document, config) =>
    obstacles.flatMap(({ isMet, what, fix }) =>
      isMet(document, config) ? fail(`The provider ${what(document)}: every sign-in fails.`, fix) : [],
    ),
  ),
  'refresh-tokens': discovered((document, { providerScope }) => {
    if (lists(document, 'grant_types_supported', 'refresh_token') === false) {
      return fail(
        'The provider issues no refresh tokens: connections end with its first access token.',
        'Turn on the refresh_token grant for this client at the provider.',
      )
    }
    const isOffline = providerScope.split(' ').includes('offline_access')
    if (isOffline && lists(document, 'scopes_supported', 'offline_access') === false) {
      return warn(
        'The provider does not list the scope offline_access in DRAWBRIDGE_PROVIDER_SCOPE.',
        'Remove it if sign-in fails with invalid_scope. For Google set DRAWBRIDGE_PROVIDER_PARAMETERS="access_type=offline&prompt=consent".',
      )
    }
    return ok(`Refresh tokens are requested${isOffline ? ' with offline_access' : ''}.`)
  }),
  supabase: discovered((document) =>
    isSupabase(document)
      ? warn(
          'The provider is Supabase Auth. With PROVIDER=oidc a session that ends there ends here an hour late, one that ends here stays open there, and context.fetch sends no API key.',
          'Set DRAWBRIDGE_PROVIDER=supabase and the publishable key as DRAWBRIDGE_PROVIDER_KEY; DRAWBRIDGE_PROVIDER_URL stays. See docs/supabase.md',
        )
      : undefined,
  ),
  'sign-out': discovered((document, { providerSessions }) => {
    if (isSupabase(document)) return undefined
    const isShared = providerSessions === 'one'
    if (typeof document['revocation_endpoint'] !== 'string')
      return (isShared ? note : warn)(
        'The provider has no revocation endpoint: sessions that end here may stay open there until they expire.',
        `Keep sessions at the provider short. For dex${isShared ? '' : ' set DRAWBRIDGE_PROVIDER_SESSIONS=one, and'} see docs/openid-connect.md#dex`,
      )
    if (!isShared) return ok('Ended connections are revoked at the provider.')
    return note(
      'With DRAWBRIDGE_PROVIDER_SESSIONS=one a session that a new sign-in replaces stays open at the provider, which could end it.',
      'Remove the setting, unless the provider keeps one refresh token per user.',
    )
  }),
}

interface Obstacle {
  isMet: (document: JsonObject, config: OidcConfig) => boolean
  /** Completes "The provider ...". */
  what: (document: JsonObject) => string
  fix: string
}

const authMethods = 'token_endpoint_auth_methods_supported'
const signingAlgorithms = 'id_token_signing_alg_values_supported'

/** Features and demands of a provider with which no sign-in works. Unlisted features count as supported. */
const obstacles: readonly Obstacle[] = [
  {
    isMet: (document) => document['require_pushed_authorization_requests'] === true,
    what: () => 'requires pushed authorization requests (PAR), which are not supported',
    fix: 'Turn the requirement off at the provider, for this client or for all.',
  },
  {
    isMet: (document, { providerClientSecret }) =>
      providerClientSecret !== undefined &&
      ['client_secret_basic', 'client_secret_post'].every(
        (method) => lists(document, authMethods, method) === false,
      ),
    what: (document) => `accepts no client secret, only ${String(document[authMethods])}`,
    fix: 'Allow client_secret_basic or client_secret_post for this client at the provider.',
  },
  {
    isMet: (document) => lists(document, 'response_types_supported', 'code') === false,
    what: () => 'does not support the authorization code flow',
    fix: 'Turn on the response type "code" for this client at the provider.',
  },
  {
    isMet: (document) =>
      signatureAlgorithms.every((name) => lists(document, signingAlgorithms, name) === false),
    what: (document) => `signs ID tokens only with ${String(document[signingAlgorithms])}`,
    fix: 'Let it sign with an asymmetric key, such as RS256 or ES256.',
  },
  {
    isMet: (document) => lists(document, 'code_challenge_methods_supported', 'S256') === false,
    what: () => 'does not support PKCE with S256',
    fix: 'Turn it on for this client at the provider.',
  },
]

function documentOf(discovery: ProbeResult): JsonObject | undefined {
  return discovery.status === 200 ? discovery.json : undefined
}
