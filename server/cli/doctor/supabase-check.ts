import { readJwt, type UnverifiedJwt } from '@drawbridge/shared/oauth/jwt.ts'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { ProviderCapabilities } from '../../core/session/session-provider.ts'
import type { ServerConfig } from '../../config/setting.ts'
import { fail, type Finding, ok, warn } from '@drawbridge/shared/terminal/finding.ts'
import { visit, type Visit } from './visit.ts'

/** What the auth API of a Supabase project says without anybody signing in. */
export interface SupabaseFacts {
  settings: Visit
  health: Visit
  keySet: Visit
  /** What it publishes as an authorization server, under either name. */
  discovery: readonly Visit[]
}

/** Asks everything at once. */
export async function askSupabase(
  config: Pick<ServerConfig, 'providerUrl' | 'providerKey'>,
  runtime: Pick<Runtime, 'fetch'>,
): Promise<SupabaseFacts> {
  const headers: Record<string, string> = { accept: 'application/json' }
  if (config.providerKey !== undefined) headers['apikey'] = config.providerKey
  const ask = (path: string): Promise<Visit> => visit(config.providerUrl + path, runtime, { headers })
  const [settings, health, keySet, ...discovery] = await Promise.all([
    ask('/settings'),
    ask('/health'),
    ask('/.well-known/jwks.json'),
    ask('/.well-known/openid-configuration'),
    ask('/.well-known/oauth-authorization-server'),
  ])
  return { settings, health, keySet, discovery }
}

type SupabaseConfig = Pick<
  ServerConfig,
  'provider' | 'providerUrl' | 'providerKey' | 'social' | 'captcha' | 'providerIssuer'
>

/** Whether the auth API answers, and takes the API key. */
export function checkAuthApi(config: SupabaseConfig, { settings, health }: SupabaseFacts): Finding {
  const { providerUrl: url, providerKey: key } = config
  if (settings.kind === 'unreachable') return unreachable(config, settings.reason)
  const { status, json } = settings
  if (status === 401 || status === 403) return keyRefused(url, key)
  if (status >= 500) {
    return fail(name, `${url} is in trouble: it answers ${status}.`, 'Look at the status of the provider.')
  }
  if (status !== 200 || !isJsonObject(json?.['external'])) {
    return fail(
      name,
      `${url} is no auth API: its /settings answers ${status}${json ? '' : ' without JSON'}.`,
      'Set DRAWBRIDGE_PROVIDER_URL to the auth URL; for Supabase that is https://REF.supabase.co/auth/v1.',
    )
  }
  const version = health.kind === 'answered' ? health.json?.['version'] : undefined
  return ok(name, `${url} answers${typeof version === 'string' ? `, version ${version}` : ''}.`)
}

const name = 'provider'

function unreachable({ provider, providerUrl }: SupabaseConfig, reason: string): Finding {
  if (provider === 'embedded') {
    const fix = 'Start the server, then run doctor again in another terminal.'
    return warn(name, 'The embedded provider runs inside the server, which is not running.', fix)
  }
  return fail(
    name,
    `${providerUrl} cannot be reached: ${reason}.`,
    'Check DRAWBRIDGE_PROVIDER_URL, and that this machine may reach that host.',
  )
}

function keyRefused(url: string, key: string | undefined): Finding {
  const where = 'the publishable key of the project (sb_publishable_..., in the API keys of its settings)'
  return key === undefined
    ? fail(name, `${url} demands an API key.`, `Set DRAWBRIDGE_PROVIDER_KEY to ${where}.`)
    : fail(name, `${url} refuses the API key.`, `Correct DRAWBRIDGE_PROVIDER_KEY: it takes ${where}.`)
}

/** Whether the API key has no more rights than it needs. The key itself is never shown. */
export function checkApiKey({ providerKey: key }: SupabaseConfig): Finding[] {
  if (key === undefined) return []
  const role = readJwt(key)?.claims['role']
  const isSecret = key.startsWith('sb_secret_') || (role !== undefined && role !== 'anon')
  return isSecret
    ? [
        warn(
          'provider-key',
          'DRAWBRIDGE_PROVIDER_KEY is a secret key, which passes every rule of the project. Nothing here needs it.',
          'Use the publishable key (sb_publishable_...), and replace the secret key if others may have seen it.',
        ),
      ]
    : []
}

/** The ways to sign in that the login page offers. Silent when the provider did not say. */
export function checkSignInMethods(
  config: SupabaseConfig,
  { settings }: SupabaseFacts,
  capabilities: ProviderCapabilities | undefined,
): Finding[] {
  const name = 'sign-in-methods'
  const said = settings.kind === 'answered' ? settings.json : undefined
  if (!said || !capabilities) return []
  const external = isJsonObject(said['external']) ? said['external'] : {}
  // One that it does not list at all may be there nevertheless.
  const off = (config.social ?? []).filter((method) => external[method] === false)
  if (off.length > 0) {
    const fix = 'Switch it on at the provider, or take it out of DRAWBRIDGE_SOCIAL.'
    return [
      fail(name, `DRAWBRIDGE_SOCIAL names ${off.join(', ')}, which the provider has switched off.`, fix),
    ]
  }
  const { password, social } = capabilities
  const offered = [...(password ? ['email and password'] : []), ...social.map(({ label }) => label)]
  if (offered.length === 0) {
    const problem = 'The provider has no way to sign in switched on that the login page could offer.'
    return [fail(name, problem, 'Switch on email or a social provider there.')]
  }
  return [ok(name, `The login page offers ${offered.join(', ')}.${notes(said, config)}`)]
}

function notes(said: JsonObject, { captcha }: SupabaseConfig): string {
  return [
    said['mailer_autoconfirm'] === false ? ' New accounts must confirm their address first.' : '',
    said['disable_signup'] === true ? ' New accounts are switched off.' : '',
    captcha === undefined
      ? ''
      : ` Passwords go with ${captcha.kind}; whether the project wants one cannot be seen from outside.`,
  ].join('')
}

/**
 * Whether tokens carry the `iss` that is demanded. Where the provider publishes none, only `token` can say so, a provider
 * access token; its signature is judged elsewhere.
 */
export function checkIssuer(
  config: SupabaseConfig,
  { discovery }: SupabaseFacts,
  token?: UnverifiedJwt,
): Finding {
  const name = 'issuer'
  const { providerIssuer: expected, provider } = config
  if (provider === 'embedded') return ok(name, `The embedded provider issues as ${expected}.`)
  const issuer = discovery
    .map((answer) => (answer.kind === 'answered' ? answer.json?.['issuer'] : undefined))
    .find((value): value is string => typeof value === 'string')
  if (issuer === undefined && token?.claims['iss'] === expected) {
    return ok(name, `The token on stdin carries iss ${JSON.stringify(expected)}.`)
  }
  if (issuer === undefined) {
    return warn(
      name,
      `Whether tokens carry iss ${JSON.stringify(expected)} cannot be seen from outside: the provider publishes no issuer.`,
      'Pipe an access token of the web app into: drawbridge-server doctor --token-stdin',
    )
  }
  if (issuer === '') {
    return fail(
      name,
      'The provider says nothing about where its tokens come from (its issuer is empty): every sign-in fails.',
      `Set GOTRUE_JWT_ISSUER=${expected} at the provider.`,
    )
  }
  return issuer === expected
    ? ok(name, `The provider issues as ${expected}.`)
    : fail(
        name,
        `The provider issues as ${JSON.stringify(issuer)}, and ${JSON.stringify(expected)} is expected: every sign-in fails.`,
        `Set DRAWBRIDGE_PROVIDER_ISSUER=${issuer}`,
      )
}
