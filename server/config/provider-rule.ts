import type { ServerConfig, Settings } from './setting.ts'

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

const needs: Readonly<
  Record<OutsideProvider, readonly (readonly [field: keyof ServerConfig, why: string])[]>
> = {
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

/** What an outside provider lacks, and what was given that means nothing to it: for each the setting, and what to say. */
export function brokenProviderRules(
  given: Settings,
  provider: OutsideProvider,
): [field: keyof ServerConfig, problem: string][] {
  const other = provider === 'oidc' ? 'supabase' : 'oidc'
  const foreign = provider === 'oidc' ? supabaseOnly : oidcOnly
  return [
    ...needs[provider]
      .filter(([field]) => given[field] === undefined)
      .map(([field, why]): [keyof ServerConfig, string] => [field, why]),
    ...foreign
      .filter((field) => given[field] !== undefined)
      .map((field): [keyof ServerConfig, string] => [
        field,
        `means nothing to PROVIDER=${provider}, only to ${other}; leave it out.`,
      ]),
    ...(given.embeddedTokenTtl === undefined
      ? []
      : [
          ['embeddedTokenTtl', 'is for the embedded provider only; leave it out.'] as [
            keyof ServerConfig,
            string,
          ],
        ]),
  ]
}
