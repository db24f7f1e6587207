import { defaultSessionCookieName } from '@drawbridge/shared/session-cookie-name.ts'
import type { ServerConfig, Setting, Settings } from './setting.ts'
import { settings } from './setting-table.ts'
import { brokenEmbeddedRules } from './embedded-rule.ts'
import { brokenProviderRules } from './provider-rule.ts'

/** Every fault of a configuration at once. `problems` are sentences that name the setting and what is expected. */
export class ConfigError extends Error {
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(
      `The configuration has ${problems.length} ${problems.length === 1 ? 'fault' : 'faults'}: ${problems.join(' ')}`,
    )
    this.name = 'ConfigError'
    this.problems = problems
  }
}

/**
 * The complete configuration for `given`, where `name` says how a fault calls a setting (its variable or flag).
 * Throws {@link ConfigError} with every fault found. The values of secrets are never repeated.
 */
export function createConfig(
  given: Settings,
  context: { production: boolean; problems?: readonly string[] },
  name: (setting: Setting) => string = (setting) => setting.field,
): ServerConfig {
  const problems = [...(context.problems ?? [])]
  const values = new Map<keyof ServerConfig, unknown>()
  for (const setting of settings) {
    const text = given[setting.field]
    if (text === undefined) continue
    try {
      values.set(setting.field, setting.parse(text))
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
      const shown = setting.secret ? 'the given value' : JSON.stringify(withoutPassword(text))
      problems.push(`${name(setting)}: ${error.message}; got ${shown}.`)
    }
  }
  const config = withDefaults(Object.fromEntries(values), given)
  const callOf = (field: keyof ServerConfig): string =>
    settings
      .filter((row) => row.field === field)
      .map(name)
      .join('')
  // A provider that is not known here has rules that are not known here.
  if (given.provider === undefined || values.has('provider')) {
    const broken =
      config.provider === 'embedded'
        ? brokenEmbeddedRules(config, context.production)
        : brokenProviderRules(given, config.provider)
    problems.push(...broken.map(([field, text]) => `${callOf(field)}: ${text}`))
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return Object.freeze(config)
}

/** A URL is refused for the password in it, or with one in it: the password must not get into a log. */
function withoutPassword(text: string): string {
  return text.replace(/\/\/.*@/, '//...@').replaceAll(/(password=)[^&]*/gi, '$1...')
}

function withDefaults(values: Partial<ServerConfig>, given: Settings): ServerConfig {
  const provider = values.provider ?? 'embedded'
  const baseUrl = values.baseUrl ?? 'http://localhost:8787'
  const appUrl = values.appUrl ?? 'http://localhost:8788'
  const providerUrl = values.providerUrl ?? `${appUrl}/auth/v1`
  return {
    baseUrl,
    listen: { host: '127.0.0.1', port: 8787 },
    appUrl,
    provider,
    providerUrl,
    providerKey: undefined,
    // An OpenID issuer is compared to the letter, and some end in a slash.
    providerIssuer: provider === 'oidc' ? (given.providerUrl ?? providerUrl) : providerUrl,
    providerAudience: provider === 'oidc' ? undefined : 'authenticated',
    providerJwtSecret: undefined,
    providerClientId: undefined,
    providerClientSecret: undefined,
    providerName: new URL(providerUrl).host,
    providerScope: 'openid email profile offline_access',
    providerSessions: 'many',
    providerParameters: {},
    social: undefined,
    captcha: undefined,
    secondFactor: 'if-enrolled',
    sessionCheck: 300,
    signInLimit: 20,
    cookieName: defaultSessionCookieName(providerUrl),
    sessionTokens: true,
    allowedOrigins: [...new Set([new URL(baseUrl).origin, new URL(appUrl).origin])],
    sessionTtl: 30 * 86_400,
    accessTokenTtl: 3600,
    store: { kind: 'sqlite', path: '.drawbridge/server.db' },
    secretKeys: undefined,
    privateUseRedirectUris: ['cursor://anysphere.cursor-mcp/oauth/callback'],
    tools: undefined,
    clients: undefined,
    registration: true,
    registrationLimit: 60,
    clientDocuments: true,
    clientDocumentHosts: [],
    clientDocumentFile: undefined,
    longTokenTtl: undefined,
    longTokenClients: [],
    trustedProxies: [],
    allowedHosts: [],
    metricsListen: undefined,
    appName: new URL(appUrl).host,
    embeddedTokenTtl: 3600,
    log: 'info',
    ...values,
  }
}
