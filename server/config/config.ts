import { ConfigError } from '@drawbridge/shared/settings/setting.ts'
import { type ParsedSettings, parseSettings } from '@drawbridge/shared/settings/read-settings.ts'
import { defaultSessionCookieName } from '@drawbridge/shared/session-cookie/session-cookie-name.ts'
import { brokenEmbeddedRules, brokenProviderRules } from './provider-rule.ts'
import type { ServerConfig, Setting, Settings } from './setting.ts'
import { settings } from './setting-table.ts'
import { settingsOfObject, type SettingSources } from './setting-source.ts'

export { ConfigError } from '@drawbridge/shared/settings/setting.ts'

/** Settings that were checked, whatever came of it. */
export interface CheckedSettings {
  /** Complete: a setting with a fault has its default. */
  config: ServerConfig
  /** Sentences that name the setting and say what is expected. */
  problems: readonly string[]
  /** Given, but not as a value of that setting. */
  unusable: ReadonlySet<keyof ServerConfig>
  /** How a message calls a setting. */
  nameOf: (field: keyof ServerConfig) => string
}

/** The complete configuration for `given`. Throws {@link ConfigError} with every fault of the settings. */
export function createConfig(given: Settings, { production }: { production: boolean }): ServerConfig {
  const { config, problems } = checkSettings(settingsOfObject(given), { production })
  if (problems.length > 0) throw new ConfigError(problems)
  return config
}

/**
 * The complete configuration, and every fault of the settings. The values of secrets are never repeated. Files that settings
 * name are not looked at. Never throws.
 */
export function checkSettings(
  { given, name, problems }: SettingSources,
  { production }: { production: boolean },
): CheckedSettings {
  const parsed: ParsedSettings<keyof ServerConfig> = parseSettings(given, undefined, shown)
  const texts: Settings = Object.fromEntries(given.map(({ setting, texts }) => [setting.field, texts[0]]))
  const config = Object.freeze(withDefaults(parsed.values as Partial<ServerConfig>, texts))
  const { provider } = config
  const broken =
    provider === 'embedded' ? brokenEmbeddedRules(config, production) : brokenProviderRules(texts, provider)
  const nameOf = (field: keyof ServerConfig): string =>
    settings
      .filter((row) => row.field === field)
      .map(name)
      .join('')
  return {
    config,
    problems: [
      ...problems,
      ...parsed.problems,
      // The rules of a provider that is not known are not known either.
      ...(parsed.unusable.has('provider') ? [] : broken.map(([field, text]) => `${nameOf(field)}: ${text}`)),
    ],
    unusable: parsed.unusable,
    nameOf,
  }
}

function shown(value: unknown, { secret }: Setting): string {
  if (secret) return 'the given value'
  if (typeof value === 'string') return JSON.stringify(withoutPassword(value))
  return value === null ? 'null' : `a value of type ${typeof value}`
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
    providerIssuer:
      provider === 'oidc' ? ((values.providerUrl && given.providerUrl) ?? providerUrl) : providerUrl,
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
