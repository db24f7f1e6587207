import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { readJwt } from '@drawbridge/shared/oauth/jwt.ts'
import type { ServerConfig, Settings } from './setting-table.ts'

/** The setting to change, and what to say about it. */
type BrokenRule = readonly [field: keyof ServerConfig, problem: string]

const oidcOnly = [
  'providerClientId',
  'providerClientSecret',
  'providerScope',
  'providerParameters',
  'providerSessions',
] as const

const supabaseOnly = [
  'providerKey',
  'providerJwtSecret',
  'social',
  'password',
  'emailSignIn',
  'captcha',
  'secondFactor',
  'cookieName',
] as const

type ProviderName = ServerConfig['provider']

/** Static traits of a session provider. Its `capabilities()` are only known once it is opened. */
export interface ProviderTraits {
  /** Runs inside this process, on loopback addresses only. The user who signs in is the operator. */
  isTrial: boolean
  protocol: 'gotrue' | 'openid_connect'
  /** Default of the `aud` claim; undefined: its access tokens are opaque unless the operator says otherwise. */
  audience: string | undefined
  /** Uses PROVIDER_URL as the issuer to the letter: some issuers end in a slash. */
  hasLiteralIssuer: boolean
  brokenRules(context: RuleContext): BrokenRule[]
}

/** Settings that every provider outside of this process needs. */
const neededAnyway: Settings = {
  appUrl: 'where people create their accounts.',
  secretKeys: 'what seals the sessions; make one with: drawbridge-server keys generate',
}

interface RuleContext {
  config: ServerConfig
  /** Settings as text; only those that were given. */
  given: Settings
  production: boolean
}

export const providers: Readonly<Record<ProviderName, ProviderTraits>> = {
  embedded: {
    isTrial: true,
    protocol: 'gotrue',
    audience: 'authenticated',
    hasLiteralIssuer: false,
    brokenRules: brokenTrialRules,
  },
  supabase: {
    isTrial: false,
    protocol: 'gotrue',
    audience: 'authenticated',
    hasLiteralIssuer: false,
    brokenRules: ({ given }) => [
      ...missing(given, {
        providerUrl: 'the auth URL, such as https://REF.supabase.co/auth/v1.',
        ...neededAnyway,
      }),
      ...useless(given, oidcOnly, 'means nothing to PROVIDER=supabase, only to oidc; leave it out.'),
      ...placeholderRules(given),
    ],
  },
  oidc: {
    isTrial: false,
    protocol: 'openid_connect',
    audience: undefined,
    hasLiteralIssuer: true,
    brokenRules: ({ given }) => [
      ...missing(given, {
        providerUrl: 'the issuer, such as https://id.example.com/realms/main.',
        providerClientId: 'register this server there, with the redirect URI BASE_URL/oauth/callback.',
        ...neededAnyway,
      }),
      ...useless(given, supabaseOnly, 'means nothing to PROVIDER=oidc, only to supabase; leave it out.'),
      ...placeholderRules(given),
    ],
  },
}

function missing(given: Settings, needed: Settings): BrokenRule[] {
  return (Object.entries(needed) as [keyof Settings, string][])
    .filter(([field]) => given[field] === undefined)
    .map(([field, what]) => [field, `needed for PROVIDER=${given.provider}: ${what}`])
}

function useless(given: Settings, fields: readonly (keyof ServerConfig)[], problem: string): BrokenRule[] {
  return fields.filter((field) => given[field] !== undefined).map((field) => [field, problem])
}

/** Returns texts that were copied unchanged, secret keys in place of public ones, and settings of trials. */
function placeholderRules(given: Settings): BrokenRule[] {
  const problems: BrokenRule[] = []
  const key = given.providerKey ?? ''
  const role = readJwt(key)?.claims['role']
  if (key.startsWith('sb_secret_') || (role !== undefined && role !== 'anon')) {
    problems.push([
      'providerKey',
      'a secret key, which passes every rule of the project: set the publishable key (sb_publishable_...), and replace the secret one if others may have seen it.',
    ])
  }
  if (/^https:\/\/REF\.supabase\.co(?:\/|$)/.test(given.providerUrl ?? '')) {
    problems.push([
      'providerUrl',
      'REF stands for the reference of your project, 20 letters: see its settings, General.',
    ])
  }
  if (given.embeddedTokenTtl !== undefined) {
    problems.push(['embeddedTokenTtl', 'is for the embedded provider only; leave it out.'])
  }
  return problems
}

function brokenTrialRules({ config, production }: RuleContext): BrokenRule[] {
  const { baseUrl, appUrl, listen, providerUrl, providerIssuer, providerAudience, social } = config
  const app = new URL(appUrl)
  const rules: BrokenRule[] = []
  const require = (holds: boolean, ...rule: BrokenRule): void => void (holds || rules.push(rule))
  const requireLoopback = (field: keyof ServerConfig, hostname: string, example: string): void =>
    require(isLoopbackHostname(
      hostname,
    ), field, `with the embedded provider this must be a loopback address, such as ${example}.`)
  require(!production, 'provider', 'the embedded provider is for trying things out and refuses NODE_ENV=production. Set PROVIDER to supabase or oidc, as docs/supabase.md and docs/openid-connect.md say; to try it, leave NODE_ENV out.')
  requireLoopback('baseUrl', new URL(baseUrl).hostname, 'http://localhost:8787')
  requireLoopback('appUrl', app.hostname, 'http://localhost:8788')
  requireLoopback('listen', listen.host, '127.0.0.1:8787')
  require(providerUrl ===
    `${appUrl}/auth/v1`, 'providerUrl', 'the embedded provider is always at APP_URL/auth/v1; leave this out.')
  require(providerIssuer ===
    providerUrl, 'providerIssuer', 'the embedded provider issues as APP_URL/auth/v1; leave this out.')
  require(providerAudience ===
    'authenticated', 'providerAudience', 'the embedded provider issues for "authenticated"; leave this out.')
  require(social?.every(({ id }) => id === 'google') ??
    true, 'social', 'the embedded provider has google only.')
  require(app.pathname === '/' &&
    app.protocol ===
      'http:', 'appUrl', 'the demo app is served at the root of an http origin, such as http://localhost:8788.')
  require(app.origin !==
    new URL(baseUrl)
      .origin, 'appUrl', 'the demo app needs an origin of its own, such as http://localhost:8788.')
  return rules
}
