import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import type { ServerConfig, Settings } from './setting.ts'

/** The setting to change, and what to say about it. */
export type BrokenRule = readonly [field: keyof ServerConfig, problem: string]

type OutsideProvider = Exclude<ServerConfig['provider'], 'embedded'>

const oidcOnly = [
  'providerClientId',
  'providerClientSecret',
  'providerName',
  'providerScope',
  'providerParameters',
  'providerSessions',
] as const

const supabaseOnly = [
  'providerKey',
  'providerJwtSecret',
  'social',
  'captcha',
  'secondFactor',
  'cookieName',
] as const

const needs: Readonly<Record<OutsideProvider, readonly BrokenRule[]>> = {
  supabase: [
    ['providerUrl', 'needed for PROVIDER=supabase: the auth URL, such as https://REF.supabase.co/auth/v1.'],
    ['appUrl', 'needed for PROVIDER=supabase: where people create their accounts.'],
    ['secretKeys', 'needed for PROVIDER=supabase; make one with: drawbridge-server keys generate'],
  ],
  oidc: [
    ['providerUrl', 'needed for PROVIDER=oidc: the issuer, such as https://id.example.com/realms/main.'],
    [
      'providerClientId',
      'needed for PROVIDER=oidc: register this server there, with the redirect URI BASE_URL/oauth/callback.',
    ],
    ['appUrl', 'needed for PROVIDER=oidc: where people create their accounts.'],
    ['secretKeys', 'needed for PROVIDER=oidc; make one with: drawbridge-server keys generate'],
  ],
}

/** What an outside provider needs and lacks, and the given settings that do not apply to it. */
export function brokenProviderRules(given: Settings, provider: OutsideProvider): BrokenRule[] {
  const other = provider === 'oidc' ? 'supabase' : 'oidc'
  const foreign = provider === 'oidc' ? supabaseOnly : oidcOnly
  const missing = needs[provider].filter(([field]) => given[field] === undefined)
  const useless = foreign.filter((field) => given[field] !== undefined)
  const problems: BrokenRule[] = [
    ...missing,
    ...useless.map((field): BrokenRule => [
      field,
      `means nothing to PROVIDER=${provider}, only to ${other}; leave it out.`,
    ]),
  ]
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

/** The rules of the embedded provider that `config` breaks. */
export function brokenEmbeddedRules(config: ServerConfig, production: boolean): BrokenRule[] {
  const { baseUrl, appUrl, providerUrl, listen } = config
  const rules: readonly (readonly [holds: boolean, ...BrokenRule])[] = [
    [
      !production,
      'provider',
      'the embedded provider is for trying things out and refuses NODE_ENV=production. Set PROVIDER to supabase or oidc, as docs/supabase.md and docs/openid-connect.md say; to try it, leave NODE_ENV out.',
    ],
    [
      isLoopbackHostname(new URL(baseUrl).hostname),
      'baseUrl',
      'with the embedded provider this must be a loopback address, such as http://localhost:8787.',
    ],
    [
      isLoopbackHostname(new URL(appUrl).hostname),
      'appUrl',
      'with the embedded provider this must be a loopback address, such as http://localhost:8788.',
    ],
    [
      isLoopbackHostname(listen.host),
      'listen',
      'with the embedded provider this must be a loopback address, such as 127.0.0.1:8787.',
    ],
    [
      providerUrl === `${appUrl}/auth/v1`,
      'providerUrl',
      'the embedded provider is always at APP_URL/auth/v1; leave this out.',
    ],
    [
      config.providerIssuer === providerUrl,
      'providerIssuer',
      'the embedded provider issues as APP_URL/auth/v1; leave this out.',
    ],
    [
      config.providerAudience === 'authenticated',
      'providerAudience',
      'the embedded provider issues for "authenticated"; leave this out.',
    ],
    [
      config.social?.every((method) => method === 'google') ?? true,
      'social',
      'the embedded provider has google only.',
    ],
    [
      new URL(appUrl).pathname === '/' && appUrl.startsWith('http:'),
      'appUrl',
      'the demo app is served at the root of an http origin, such as http://localhost:8788.',
    ],
    [
      new URL(appUrl).origin !== new URL(baseUrl).origin,
      'appUrl',
      'the demo app needs an origin of its own, such as http://localhost:8788.',
    ],
  ]
  return rules.filter(([holds]) => !holds).map(([, field, problem]) => [field, problem])
}
