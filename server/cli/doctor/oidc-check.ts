import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { ServerConfig } from '../../config/setting.ts'
import { fail, type Finding, note, ok, warn } from '@drawbridge/shared/terminal/finding.ts'
import { visit, type Visit } from './visit.ts'

/** What an OpenID provider says without anybody signing in. */
export interface OidcFacts {
  discovery: Visit
  /** Undefined when the discovery document names no key set. */
  keySet: Visit | undefined
}

/** Asks for the discovery document (OpenID Connect Discovery section 4), and for the keys that it names. */
export async function askOidc(
  config: Pick<ServerConfig, 'providerIssuer'>,
  runtime: Pick<Runtime, 'fetch'>,
): Promise<OidcFacts> {
  const discovery = await visit(discoveryUrl(config), runtime)
  const jwksUri = documentOf(discovery)?.['jwks_uri']
  const keySet =
    typeof jwksUri === 'string' && URL.canParse(jwksUri) ? await visit(jwksUri, runtime) : undefined
  return { discovery, keySet }
}

type OidcConfig = Pick<ServerConfig, 'baseUrl' | 'providerIssuer' | 'providerScope' | 'providerSessions'>

function discoveryUrl({ providerIssuer }: Pick<ServerConfig, 'providerIssuer'>): string {
  return `${providerIssuer.replace(/\/$/, '')}/.well-known/openid-configuration`
}

/** Whether the provider answers with a discovery document of the issuer that is expected. */
export function checkDiscovery(config: OidcConfig, { discovery }: OidcFacts): Finding[] {
  const url = discoveryUrl(config)
  if (discovery.kind === 'unreachable') {
    return [
      fail(
        'provider',
        `${url} cannot be reached: ${discovery.reason}.`,
        'Check DRAWBRIDGE_PROVIDER_URL, and that this machine may reach that host.',
      ),
    ]
  }
  const document = documentOf(discovery)
  const needed = ['issuer', 'authorization_endpoint', 'token_endpoint', 'jwks_uri'] as const
  const missing = needed.filter((member) => typeof document?.[member] !== 'string')
  if (!document || missing.length > 0) {
    return [
      fail(
        'provider',
        `${url} is no discovery document: it answers ${discovery.status}${document ? ` without ${missing.join(', ')}` : ''}.`,
        'Set DRAWBRIDGE_PROVIDER_URL to the issuer: the address in front of /.well-known/openid-configuration.',
      ),
    ]
  }
  return [
    ok('provider', `${config.providerIssuer} answers.`),
    checkOidcIssuer(config, String(document['issuer'])),
  ]
}

function checkOidcIssuer({ providerIssuer: expected }: OidcConfig, issuer: string): Finding {
  if (issuer === expected) return ok('issuer', `The provider issues as ${expected}.`)
  return fail(
    'issuer',
    `The provider issues as ${JSON.stringify(issuer)}, and ${JSON.stringify(expected)} is expected: every sign-in fails.`,
    `Set DRAWBRIDGE_PROVIDER_URL=${issuer} to the letter; a slash at its end counts.`,
  )
}

/** Whether the provider can do what signing in and staying signed in take. Members that it leaves out have defaults. */
export function checkOidcFeatures(config: OidcConfig, { discovery }: OidcFacts): Finding[] {
  const document = documentOf(discovery)
  if (!document) return []
  const lists = (member: string, value: string): boolean | undefined => {
    const list = document[member]
    return Array.isArray(list) ? list.includes(value) : undefined
  }
  const findings: Finding[] = []
  if (lists('code_challenge_methods_supported', 'S256') === undefined) {
    findings.push(
      note(
        'pkce',
        'The provider does not say that it supports PKCE; it is used all the same.',
        'Nothing to do unless signing in fails at the provider.',
      ),
    )
  } else if (!lists('code_challenge_methods_supported', 'S256')) {
    findings.push(
      fail(
        'pkce',
        'The provider does not support PKCE with S256.',
        'Switch it on for this client at the provider.',
      ),
    )
  }
  if (lists('response_types_supported', 'code') === false) {
    findings.push(
      fail(
        'code-flow',
        'The provider does not offer the authorization code flow.',
        'Switch it on at the provider.',
      ),
    )
  }
  return [
    ...findings,
    checkRefreshTokens(config, lists),
    checkSignOut(config, document),
    ...checkBackchannelLogout(config, document),
  ]
}

function checkRefreshTokens(
  { providerScope }: OidcConfig,
  lists: (member: string, value: string) => boolean | undefined,
): Finding {
  const name = 'refresh-tokens'
  if (lists('grant_types_supported', 'refresh_token') === false) {
    return fail(
      name,
      'The provider says that it issues no refresh tokens: connections end with its first access token.',
      'Switch the refresh_token grant on for this client at the provider.',
    )
  }
  const asked = providerScope.split(' ').includes('offline_access')
  if (asked && lists('scopes_supported', 'offline_access') === false) {
    return warn(
      name,
      'The provider does not list the scope offline_access that DRAWBRIDGE_PROVIDER_SCOPE asks for.',
      'Take it out if signing in fails with invalid_scope. For Google set DRAWBRIDGE_PROVIDER_PARAMETERS="access_type=offline&prompt=consent".',
    )
  }
  return ok(name, `Refresh tokens are asked for${asked ? ' with offline_access' : ''}.`)
}

function checkSignOut({ providerSessions }: OidcConfig, document: JsonObject): Finding {
  const name = 'sign-out'
  if (typeof document['revocation_endpoint'] === 'string') {
    return ok(name, 'Ended connections are revoked at the provider.')
  }
  const lasting =
    'The provider has no revocation endpoint: what is ended here lives on there until it expires.'
  return providerSessions === 'one'
    ? note(name, lasting, 'Keep sessions at the provider short if that matters.')
    : warn(
        name,
        `${lasting} If it is dex, it also keeps one refresh token for each person, so that a second connection ends the first.`,
        'For dex set DRAWBRIDGE_PROVIDER_SESSIONS=one. Otherwise keep sessions at the provider short if that matters.',
      )
}

/** Whether the client has registered the address cannot be seen from outside. */
function checkBackchannelLogout({ baseUrl }: OidcConfig, document: JsonObject): Finding[] {
  if (document['backchannel_logout_supported'] !== true) return []
  const url = `${baseUrl}/oauth/backchannel_logout`
  return [
    ok(
      'backchannel-logout',
      `The provider can end connections the moment somebody signs out there: register ${url}.`,
    ),
  ]
}

function documentOf(discovery: Visit): JsonObject | undefined {
  return discovery.kind === 'answered' && discovery.status === 200 ? discovery.json : undefined
}
