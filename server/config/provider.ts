import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { readJwt } from '@drawbridge/shared/oauth/jwt.ts'
import { secretCommand } from './config-value.ts'
import type { ServerConfig, Settings } from './setting-table.ts'

/** The setting to change, and what to say about it. */
type BrokenRule = readonly [field: keyof ServerConfig, problem: string]

type ProviderName = ServerConfig['provider']

/** Settings that some providers have no use for, after the names of the others. */
const settingsOnlyFor: readonly (readonly [ProviderName[], (keyof ServerConfig)[]])[] = [
  [
    ['supabase', 'embedded'],
    [
      'providerKey',
      'providerJwtSecret',
      'social',
      'password',
      'emailSignIn',
      'captcha',
      'secondFactor',
      'cookieName',
    ],
  ],
  [['oidc'], ['providerScope', 'providerParameters', 'providerSessions']],
  [
    ['oidc', 'supabase'],
    ['providerUrl', 'providerIssuer', 'providerAudience', 'providerClientId', 'providerClientSecret'],
  ],
  [['app', 'supabase', 'embedded'], ['signInUrl']],
  [['app'], ['signInSecret', 'sessionUrl']],
  [['embedded'], ['embeddedTokenTtl']],
]

/** Static traits of a session provider. Its `capabilities()` are only known once it is opened. */
export interface ProviderTraits {
  /** Runs inside this process, on loopback addresses only. The user who signs in is the operator. */
  isTrial: boolean
  protocol: 'gotrue' | 'openid_connect' | 'app'
}

export const providers: Readonly<Record<ProviderName, ProviderTraits>> = {
  embedded: { isTrial: true, protocol: 'gotrue' },
  supabase: { isTrial: false, protocol: 'gotrue' },
  oidc: { isTrial: false, protocol: 'openid_connect' },
  app: { isTrial: false, protocol: 'app' },
}

/** Settings that a provider needs, and what to say without them. */
const needed: Readonly<Record<ProviderName, Settings>> = {
  embedded: {},
  supabase: { providerUrl: 'the auth URL, such as https://REF.supabase.co/auth/v1.' },
  oidc: {
    providerUrl: 'the issuer, such as https://id.example.com/realms/main.',
    providerClientId: 'register this server there, with the redirect URI BASE_URL/oauth/callback.',
  },
  app: {
    signInUrl: 'the page of the app where people allow a client, such as https://app.example.com/connect.',
    signInSecret: `what the app signs with; make one with: ${secretCommand}`,
  },
}

/** What every provider outside of this process needs. */
const neededAnyway: Settings = {
  appUrl: 'where people create their accounts.',
  secretKeys: 'what seals the sessions; make one with: drawbridge-server keys generate',
}

/** What a Supabase project needs as soon as one of {@link clientFields} asks for sign-in in the app. */
const neededForClient: Settings = {
  providerClientId:
    "sign-in in the app needs a client of the project's OAuth server, with the redirect URI BASE_URL/oauth/callback.",
  providerClientSecret: 'that of the client.',
}
const clientFields = ['signInUrl', 'providerClientId', 'providerClientSecret'] as const

/** The client of the sandbox's OAuth server. A trial is for this machine only, so its secret protects nothing. */
export const trialClient = {
  providerClientId: '6a1c2f0e-5b0d-4c7e-9d1f-0d7a3b8e4c21',
  providerClientSecret: 'trial-client-secret',
}

interface RuleContext {
  config: ServerConfig
  /** Settings as text; only those that were given. */
  given: Settings
  production: boolean
}

/** Every combination of settings that cannot be meant. */
export function brokenRules(context: RuleContext): BrokenRule[] {
  const { config, given } = context
  const { provider, signInUrl, appUrl } = config
  const rules = missing(given, needed[provider])
  if (provider === 'supabase' && clientFields.some((field) => given[field] !== undefined))
    rules.push(...missing(given, neededForClient))
  if (provider === 'supabase') rules.push(...placeholderRules(given))
  rules.push(...(providers[provider].isTrial ? brokenTrialRules(context) : missing(given, neededAnyway)))
  for (const [names, fields] of settingsOnlyFor) {
    const useless = names.includes(provider) ? [] : fields.filter((field) => given[field] !== undefined)
    const problem = `means nothing to PROVIDER=${provider}, only to ${names.join(' and ')}; leave it out.`
    rules.push(...useless.map((field): BrokenRule => [field, problem]))
  }
  const { origin } = new URL(appUrl)
  if (signInUrl !== undefined && new URL(signInUrl).origin !== origin) {
    // Pages of other origins may not call /oauth/app.
    rules.push(['signInUrl', `must be a page of the web app, at the origin of APP_URL, ${origin}.`])
  }
  return rules
}

function missing(given: Settings, needed: Settings): BrokenRule[] {
  return (Object.entries(needed) as [keyof Settings, string][])
    .filter(([field]) => given[field] === undefined)
    .map(([field, what]) => [field, `needed for PROVIDER=${given.provider}: ${what}`])
}

/** Returns texts that were copied unchanged, and secret keys in place of public ones. */
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
  return problems
}

function brokenTrialRules({ config, production }: RuleContext): BrokenRule[] {
  const { baseUrl, appUrl, listen, social } = config
  const [base, app] = [new URL(baseUrl), new URL(appUrl)]
  const loopback = 'with the embedded provider this must be a loopback address, such as'
  const rules: readonly [holds: boolean, ...rule: BrokenRule][] = [
    [
      !production,
      'provider',
      'the embedded provider is for trying things out and refuses NODE_ENV=production. Set PROVIDER to supabase, oidc or app, as docs/supabase.md, docs/openid-connect.md and docs/app-sign-in.md say; to try it, leave NODE_ENV out.',
    ],
    [isLoopbackHostname(base.hostname), 'baseUrl', `${loopback} http://localhost:8787.`],
    [isLoopbackHostname(app.hostname), 'appUrl', `${loopback} http://localhost:8788.`],
    [
      isLoopbackHostname(listen.host),
      'listen',
      `listens on ${listen.host}, but the embedded provider is for this computer alone: set LISTEN to a loopback address, such as 127.0.0.1:8787.`,
    ],
    [social?.every(({ id }) => id === 'google') ?? true, 'social', 'the embedded provider has google only.'],
    [
      app.pathname === '/' && app.protocol === 'http:',
      'appUrl',
      'the demo app is served at the root of an http origin, such as http://localhost:8788.',
    ],
    [
      app.origin !== base.origin,
      'appUrl',
      'the demo app needs an origin of its own, such as http://localhost:8788.',
    ],
  ]
  return rules.flatMap(([holds, ...rule]) => (holds ? [] : [rule]))
}
