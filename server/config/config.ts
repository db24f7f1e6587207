import { suggestion } from '@drawbridge/shared/nearest-name.ts'
import { defaultSessionCookieName } from '@drawbridge/shared/session-cookie/session-cookie-name.ts'
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

/** Settings that were checked, whatever came of it. */
export interface CheckedSettings {
  /** Complete: a setting with a fault has its default. */
  config: ServerConfig
  /** Sentences that name the setting and say what is expected. */
  problems: readonly string[]
  /** Given, but not as a value of that setting. */
  unusable: ReadonlySet<keyof ServerConfig>
  /** How a fault calls a setting. */
  nameOf: (field: keyof ServerConfig) => string
}

/** What the settings themselves do not say. */
export interface SettingContext {
  production: boolean
  /** Faults that are known already. */
  problems?: readonly string[]
}

/**
 * The complete configuration for `given`, where `name` says how a fault calls a setting (its variable or flag).
 * Throws {@link ConfigError} with every fault found. The values of secrets are never repeated. Files that
 * settings name are not looked at.
 */
export function createConfig(
  given: Settings,
  context: SettingContext,
  name?: (setting: Setting) => string,
): ServerConfig {
  const { config, problems } = checkSettings(given, context, name)
  if (problems.length > 0) throw new ConfigError(problems)
  return config
}

/** As {@link createConfig}, for a caller that has further faults to tell at the same time. Never throws. */
export function checkSettings(
  given: Settings,
  context: SettingContext,
  name: (setting: Setting) => string = (setting) => setting.field,
): CheckedSettings {
  const { values, problems, unusable } = parseSettings(given, name)
  const config = Object.freeze(withDefaults(values, given))
  const nameOf = (field: keyof ServerConfig): string =>
    settings
      .filter((row) => row.field === field)
      .map(name)
      .join('')
  // A provider that is not known here has rules that are not known here.
  if (!unusable.has('provider')) {
    const broken =
      config.provider === 'embedded'
        ? brokenEmbeddedRules(config, context.production)
        : brokenProviderRules(given, config.provider)
    problems.push(...broken.map(([field, text]) => `${nameOf(field)}: ${text}`))
  }
  return {
    config,
    problems: [...unknownFields(given), ...(context.problems ?? []), ...problems],
    unusable,
    nameOf,
  }
}

function parseSettings(
  given: Settings,
  name: (setting: Setting) => string,
): { values: Partial<ServerConfig>; problems: string[]; unusable: Set<keyof ServerConfig> } {
  const problems: string[] = []
  const values = new Map<keyof ServerConfig, unknown>()
  const unusable = new Set<keyof ServerConfig>()
  for (const setting of settings) {
    // A program that is not checked by a compiler may give anything.
    const text: unknown = given[setting.field]
    if (text === undefined) continue
    try {
      if (typeof text !== 'string')
        throw new TypeError('expected a string, as a flag or variable would have it')
      values.set(setting.field, setting.parse(text))
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
      unusable.add(setting.field)
      problems.push(`${name(setting)}: ${error.message}; got ${shown(text, setting)}.`)
    }
  }
  return { values: Object.fromEntries(values), problems, unusable }
}

function unknownFields(given: Settings): string[] {
  const fields: string[] = settings.map(({ field }) => field)
  return Object.keys(given)
    .filter((field) => !fields.includes(field))
    .map((field) => `${field}: there is no such setting.${suggestion(field, fields)}`)
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
