import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { EmailMethod, ProviderCapabilities } from '../../core/session/session-provider.ts'
import { providers } from '../../config/provider.ts'
import type { ServerConfig } from '../../config/setting-table.ts'
import { type Checks, fail, ok, type Outcome, warn } from '@drawbridge/shared/terminal/check.ts'
import { askForDatabase } from '../../providers/supabase/ping.ts'
import { visit, type Visit } from './visit.ts'

export interface SupabaseFacts {
  config: SupabaseConfig
  /** Undefined if the provider does not respond. */
  capabilities: ProviderCapabilities | undefined
  settings: Visit
  keySet: Visit
  /** The response to a refresh token that cannot exist, which requires the database. */
  database: Visit
  /** Its authorization server metadata, under either name. */
  discovery: readonly Visit[]
}

/** Sends all requests at once. */
export async function askSupabase(
  config: SupabaseConfig,
  runtime: Pick<Runtime, 'fetch'>,
  capabilities: SupabaseFacts['capabilities'],
): Promise<SupabaseFacts> {
  const headers: Record<string, string> = { accept: 'application/json' }
  if (config.providerKey !== undefined) headers['apikey'] = config.providerKey
  const ask = (path: string): Promise<Visit> => visit(config.providerUrl + path, runtime, { headers })
  const { path, method, body } = askForDatabase
  const [settings, keySet, database, ...discovery] = await Promise.all([
    ask('/settings'),
    ask('/.well-known/jwks.json'),
    visit(config.providerUrl + path, runtime, {
      method,
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }),
    ask('/.well-known/openid-configuration'),
    ask('/.well-known/oauth-authorization-server'),
  ])
  return { config, capabilities, settings, keySet, database, discovery }
}

type SupabaseConfig = Pick<
  ServerConfig,
  'provider' | 'providerUrl' | 'providerKey' | 'social' | 'emailSignIn' | 'signInOrder' | 'providerIssuer'
>

export const supabaseChecks: Checks<SupabaseFacts> = {
  provider: checkAuthApi,
  'sign-in-methods': checkSignInMethods,
  issuer: checkIssuer,
}

function checkAuthApi({ config, settings, database }: SupabaseFacts): Outcome {
  const { providerUrl: url, providerKey: key } = config
  if (settings.kind === 'unreachable') return unreachable(config, settings.reason)
  const { status, json } = settings
  if (status === 401 || status === 403) {
    return fail(
      `${url} ${key === undefined ? 'demands an' : 'refuses the'} API key.`,
      'Set DRAWBRIDGE_PROVIDER_KEY to the publishable key of the project (sb_publishable_..., in the API keys of its settings).',
    )
  }
  if (status >= 500) {
    return fail(`${url} is in trouble: it answers ${status}.`, 'Look at the status of the provider.')
  }
  if (status !== 200 || !isJsonObject(json?.['external'])) {
    return fail(
      `${url} is no auth API: its /settings answers ${status}${json ? '' : ' without JSON'}.`,
      'Set DRAWBRIDGE_PROVIDER_URL to the auth URL; for Supabase that is https://REF.supabase.co/auth/v1.',
    )
  }
  return checkDatabase(url, database)
}

function checkDatabase(url: string, database: Visit): Outcome {
  if (database.kind === 'answered' && database.status < 500) return ok(`${url} answers.`)
  const trouble = database.kind === 'answered' ? database.status : database.reason
  return fail(
    `${url} answers, but nobody can sign in or be refreshed: ${trouble}.`,
    'See whether the database of the auth API is up.',
  )
}

function unreachable({ provider, providerUrl }: SupabaseConfig, reason: string): Outcome {
  if (providers[provider].isTrial) {
    const fix = 'Start the server, then run doctor again in another terminal.'
    return warn('The embedded provider runs inside the server, which is not running.', fix)
  }
  return fail(
    `${providerUrl} cannot be reached: ${reason}.`,
    'Check DRAWBRIDGE_PROVIDER_URL, and that this machine may reach that host.',
  )
}

/** Checks the sign-in methods of the login page. Silent without a response of the provider. */
function checkSignInMethods({ config, settings, capabilities }: SupabaseFacts): Outcome | undefined {
  const said = settings.kind === 'answered' ? settings.json : undefined
  if (!said || !capabilities) return undefined
  const external = isJsonObject(said['external']) ? said['external'] : {}
  // One that it does not list at all may be there nevertheless.
  const off = (config.social ?? []).map(({ id }) => id).filter((id) => external[id] === false)
  if (off.length > 0) {
    const fix = 'Switch it on at the provider, or take it out of DRAWBRIDGE_SOCIAL.'
    return fail(`DRAWBRIDGE_SOCIAL names ${off.join(', ')}, which the provider has switched off.`, fix)
  }
  const { email } = capabilities
  if (config.emailSignIn !== undefined && email === undefined) {
    const fix = 'Switch on email at the provider, or take DRAWBRIDGE_EMAIL_SIGN_IN out.'
    return fail('DRAWBRIDGE_EMAIL_SIGN_IN is set, but the provider has email switched off.', fix)
  }
  const offered = namesOf(capabilities, config.signInOrder)
  if (offered.length === 0) {
    return fail(
      'The provider has no way to sign in switched on that the login page could offer.',
      'Switch on email or a social provider there. One that it does not list, such as x or custom:NAME, is offered with DRAWBRIDGE_SOCIAL=NAME.',
    )
  }
  const template = email === undefined ? '' : ` ${templateNeeds[email]}`
  return ok(`The login page offers ${offered.join(', ')}.${template}`)
}

/** The methods on the login page, in its order. */
function namesOf(
  { password, email, social, sso }: ProviderCapabilities,
  order: ServerConfig['signInOrder'],
): string[] {
  const names = {
    password: password ? ['email and password'] : [],
    email: email === undefined ? [] : [mailNames[email]],
    social: social.map(({ label }) => label),
    sso: sso ? ['single sign-on (SAML)'] : [],
  }
  return order.flatMap((way) => names[way])
}

const mailNames: Readonly<Record<EmailMethod, string>> = {
  code: 'a code by email',
  link: 'a link by email',
  both: 'a code or link by email',
}

/** What cannot be seen from outside. */
const templateNeeds: Readonly<Record<EmailMethod, string>> = {
  code: "The project's mail template for magic links must have {{ .Token }} in it.",
  link: "The project's mail template for magic links must have {{ .ConfirmationURL }} in it.",
  both: "The project's mail template for magic links must have {{ .Token }} and {{ .ConfirmationURL }} in it.",
}

function checkIssuer({ config, settings, discovery }: SupabaseFacts): Outcome | undefined {
  const { providerIssuer: expected, provider } = config
  if (providers[provider].isTrial) return ok(`The embedded provider issues as ${expected}.`)
  // The check of the provider says that nothing answers.
  if (settings.kind === 'unreachable') return undefined
  const issuer = discovery
    .map((answer) => (answer.kind === 'answered' ? answer.json?.['issuer'] : undefined))
    .find((value): value is string => typeof value === 'string')
  if (issuer === undefined) {
    return warn(
      `Whether tokens carry iss ${JSON.stringify(expected)} cannot be seen from outside: the provider publishes no issuer.`,
      'Compare it with the claim iss in an access token of the web app.',
    )
  }
  if (issuer === expected) return ok(`The provider issues as ${expected}.`)
  return fail(
    `The provider issues as ${JSON.stringify(issuer)}, and ${JSON.stringify(expected)} is expected: every sign-in fails.`,
    issuer === ''
      ? `Set GOTRUE_JWT_ISSUER=${expected} at the provider.`
      : `Set DRAWBRIDGE_PROVIDER_ISSUER=${issuer}`,
  )
}
