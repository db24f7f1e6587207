import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'

/** Files beside the store: accounts and sessions of the embedded provider, and notes of its demo web app. */
export const embeddedDatabases = { provider: 'provider.db', demo: 'demo.db' } as const

/** The settings that the embedded provider has rules about. */
export interface EmbeddedSettings {
  baseUrl: string
  appUrl: string
  listen: { host: string }
  providerUrl: string
  providerIssuer: string
  providerAudience: string | undefined
  social: readonly string[] | undefined
}

type RuledField = keyof EmbeddedSettings | 'provider'

/** The rules that do not hold: for each the setting to change, and what to say about it. */
export function brokenEmbeddedRules(
  config: EmbeddedSettings,
  production: boolean,
): [field: RuledField, problem: string][] {
  const { baseUrl, appUrl, providerUrl, listen } = config
  const rules: readonly (readonly [holds: boolean, field: RuledField, problem: string])[] = [
    [
      !production,
      'provider',
      'the embedded provider is for trying things out and refuses NODE_ENV=production.',
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
