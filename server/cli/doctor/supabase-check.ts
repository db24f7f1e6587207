import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { defaultSessionCookieName } from '@drawbridge/shared/session-cookie/session-cookie-name.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { EmailMethod, ProviderCapabilities } from '../../core/session/session-provider.ts'
import { providers } from '../../config/provider.ts'
import type { ServerConfig } from '../../config/setting-table.ts'
import { type Checks, fail, note, ok, type Outcome, warn } from '@drawbridge/shared/terminal/check.ts'
import { askForDatabase } from '../../providers/supabase/ping.ts'
import { unreachableProvider } from './provider-check.ts'
import { probe, type ProbeResult } from './probe.ts'

export interface SupabaseFacts {
  config: SupabaseConfig
  /** Undefined if the provider does not respond. */
  capabilities: ProviderCapabilities | undefined
  settings: ProbeResult
  keySet: ProbeResult
  /** The response to a refresh token that cannot exist, which requires the database. */
  database: ProbeResult
  /** Its authorization server metadata, under either name. */
  discovery: readonly ProbeResult[]
}

/** Sends all requests at once. */
export async function probeSupabase(
  config: SupabaseConfig,
  runtime: Pick<Runtime, 'fetch'>,
  capabilities: SupabaseFacts['capabilities'],
): Promise<SupabaseFacts> {
  const headers: Record<string, string> = { accept: 'application/json' }
  if (config.providerKey !== undefined) headers['apikey'] = config.providerKey
  const get = (path: string): Promise<ProbeResult> => probe(config.providerUrl + path, runtime, { headers })
  const { path, method, body } = askForDatabase
  const [settings, keySet, database, ...discovery] = await Promise.all([
    get('/settings'),
    get('/.well-known/jwks.json'),
    probe(config.providerUrl + path, runtime, {
      method,
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
    get('/.well-known/openid-configuration'),
    get('/.well-known/oauth-authorization-server'),
  ])
  return { config, capabilities, settings, keySet, database, discovery }
}

type SupabaseConfig = Pick<
  ServerConfig,
  'provider' | 'providerUrl' | 'providerKey' | 'social' | 'emailSignIn' | 'providerIssuer'
>

export const supabaseChecks: Checks<SupabaseFacts> = {
  provider: checkAuthApi,
  'sign-in-methods': checkSignInMethods,
  issuer: checkIssuer,
}

function checkAuthApi({ config, settings, database }: SupabaseFacts): Outcome {
  const { provider, providerUrl: url, providerKey: key } = config
  if (settings.kind === 'unreachable') {
    if (!providers[provider].isTrial) return unreachableProvider(url, settings.reason)
    const fix = 'Start the server, then run doctor again in another terminal.'
    return warn('The embedded provider runs inside the server, which is not running.', fix)
  }
  const { status, json } = settings
  if (status === 401 || status === 403) {
    return fail(
      `${url} ${key === undefined ? 'requires an' : 'refuses the'} API key.`,
      'Set DRAWBRIDGE_PROVIDER_KEY to the publishable key of the project (sb_publishable_..., in the API keys of its settings).',
    )
  }
  const faulty = [settings, database].find((answer) => answer.status === undefined || answer.status >= 500)
  if (faulty) {
    return fail(
      `${url} answers, but sign-ins and refreshes fail: ${faulty.status ?? faulty.reason}.`,
      'Check the status page of the provider, and that its database is running.',
    )
  }
  if (status === 200 && isJsonObject(json?.['external'])) return ok(`${url} answers.`)
  return fail(
    `No auth API at ${url}: its /settings answers ${status}${json ? '' : ' without JSON'}.`,
    'Set DRAWBRIDGE_PROVIDER_URL to the auth URL; for Supabase that is https://REF.supabase.co/auth/v1.',
  )
}

/** Checks the sign-in methods of the login page. Silent without a response of the provider. */
function checkSignInMethods({ config, settings, capabilities }: SupabaseFacts): Outcome | undefined {
  if (!settings.json || !capabilities) return undefined
  const listed = settings.json['external']
  const external = isJsonObject(listed) ? listed : {}
  // A method that it does not list may work anyway.
  const off = (config.social ?? []).map(({ id }) => id).filter((id) => external[id] === false)
  if (off.length > 0) {
    const fix = 'Turn it on at the provider, or remove it from DRAWBRIDGE_SOCIAL.'
    return fail(`DRAWBRIDGE_SOCIAL names ${off.join(', ')}, which is turned off at the provider.`, fix)
  }
  const { email } = capabilities
  if (config.emailSignIn !== undefined && email === undefined) {
    const fix = 'Turn on email at the provider, or remove DRAWBRIDGE_EMAIL_SIGN_IN.'
    return fail('DRAWBRIDGE_EMAIL_SIGN_IN is set, but email is turned off at the provider.', fix)
  }
  const offered = methodsOf(capabilities)
  if (offered.length === 0) {
    return fail(
      'The provider has no sign-in method turned on that the login page could offer.',
      'Turn on email or a social provider there. To offer one that it does not list, such as x or custom:NAME, set DRAWBRIDGE_SOCIAL=NAME.',
    )
  }
  const template =
    email && ` The project's mail template for magic links must contain ${templateFields[email]}.`
  return ok(`The login page offers ${offered.join(', ')}.${template ?? ''}`)
}

function methodsOf({ password, email, social, sso }: ProviderCapabilities): string[] {
  return [
    ...(password ? ['email and password'] : []),
    ...(email === undefined ? [] : [`a ${email === 'both' ? 'code or link' : email} by email`]),
    ...social.map(({ label }) => label),
    ...(sso ? ['single sign-on (SAML)'] : []),
  ]
}

// No request can check these.
const templateFields: Readonly<Record<EmailMethod, string>> = {
  code: '{{ .Token }}',
  link: '{{ .ConfirmationURL }}',
  both: '{{ .Token }} and {{ .ConfirmationURL }}',
}

function checkIssuer({ config, settings, discovery }: SupabaseFacts): Outcome | undefined {
  const { providerIssuer: expected, provider } = config
  if (providers[provider].isTrial) return ok(`The embedded provider's issuer is ${expected}.`)
  // The check `provider` reports that.
  if (settings.kind === 'unreachable') return undefined
  const issuer = discovery
    .map(({ json }) => json?.['issuer'])
    .find((value): value is string => typeof value === 'string')
  if (issuer === undefined) {
    return warn(
      `The provider publishes no issuer, so it is unknown whether tokens have iss ${JSON.stringify(expected)}.`,
      'Compare it with the claim iss of an access token of the web app.',
    )
  }
  if (issuer === expected) return ok(`The provider's issuer is ${expected}.`)
  return fail(
    `The provider's issuer is ${JSON.stringify(issuer)} instead of ${JSON.stringify(expected)}: every sign-in fails.`,
    issuer === ''
      ? `Set GOTRUE_JWT_ISSUER=${expected} at the provider.`
      : `Set DRAWBRIDGE_PROVIDER_ISSUER=${issuer}`,
  )
}

/** Checks the name of the web app's session cookie, and whether browsers send it to `/mcp`. Cookies ignore ports. */
export const cookieChecks: Checks<
  Pick<ServerConfig, 'baseUrl' | 'appUrl' | 'cookieName' | 'provider' | 'providerUrl'>
> = {
  'cookie-name'({ cookieName, provider, providerUrl }) {
    const usual = defaultSessionCookieName(providerUrl)
    const { hostname } = new URL(providerUrl)
    if (cookieName !== usual) {
      return warn(
        `The expected session cookie is ${cookieName}; for ${hostname} the client libraries call it ${usual}.`,
        `Set cookieOptions: { name: '${cookieName}' } in the web app, or remove DRAWBRIDGE_COOKIE_NAME.`,
      )
    }
    // A project with a custom domain can still be called at its first one.
    const isCertain = providers[provider].isTrial || hostname.endsWith('.supabase.co')
    const proviso = isCertain ? '' : `, right if the web app calls the provider ${hostname} too`
    return ok(`The expected session cookie is ${cookieName}${proviso}.`)
  },
  'cookie-reach'({ baseUrl, appUrl, cookieName }) {
    const [server, app] = [new URL(baseUrl).hostname, new URL(appUrl).hostname]
    if (server === app) return ok(`Web app and server are on ${server}: browsers send the session cookie.`)
    return note(
      `Browsers send the cookie ${cookieName} of ${app} to ${server} only if both are below one domain and it is set for that. Otherwise calls with the cookie fail; tokens work.`,
      "If pages should call /mcp, set cookieOptions: { domain: '...' } in the web app, with a name without __Host-. Every host below that domain then gets the cookie; browsers refuse shared domains such as vercel.app.",
    )
  },
}
