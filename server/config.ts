import { defaultSessionCookieName } from '@drawbridge/shared/session-cookie-name.ts'
import {
  type ListenAddress,
  oneOf,
  parseBaseUrl,
  parseCookieName,
  parseDuration,
  parseList,
  parseListenAddress,
  parseOrigins,
  parseSecretKeys,
  parseStore,
  parseSwitch,
  type StoreAddress,
  type ValueParser,
} from './config-value.ts'
import type { SealingKey } from './core/seal.ts'
import { brokenEmbeddedRules } from './embedded-rule.ts'

/** Prefix of every environment variable of the server. */
export const variablePrefix = 'DRAWBRIDGE_'

/** What the server runs with, complete and checked. Durations are seconds. */
export interface ServerConfig {
  baseUrl: string
  listen: ListenAddress
  appUrl: string
  provider: 'embedded'
  providerUrl: string
  providerIssuer: string
  providerAudience: string
  social: readonly string[] | undefined
  cookieName: string
  sessionTokens: boolean
  allowedOrigins: readonly string[]
  sessionTtl: number
  accessTokenTtl: number
  store: StoreAddress
  /** Undefined: generated beside the store, which only the embedded provider allows. */
  secretKeys: readonly SealingKey[] | undefined
  privateUseRedirectUris: readonly string[]
  embeddedTokenTtl: number
  log: LogLevel
}

/** How much is logged; `silent` logs nothing. */
export type LogLevel = 'silent' | 'error' | 'info' | 'debug'

/** Settings by field name, as text: what a flag or variable would say. Everything left out has its default. */
export type Settings = Partial<Record<keyof ServerConfig, string>>

/** One row of the table of settings. */
export interface Setting {
  field: keyof ServerConfig
  /** Environment variable without the prefix; the flag is its lower-case form with dashes. */
  variable: string
  parse: ValueParser<unknown>
  /** Text of the default, or what decides it, for help and documentation. */
  defaultText: string
  doc: string
  /** Has no flag, because a command line is visible to every user of the machine; never repeated in a message. */
  secret?: boolean
}

/** Every setting there is: flags, variables, help and documentation all come from here. */
export const settings: readonly Setting[] = [
  {
    field: 'baseUrl',
    variable: 'BASE_URL',
    parse: parseBaseUrl,
    defaultText: 'http://localhost:8787',
    doc: 'Public origin of the server, may carry a path. Never derived from request headers; https unless loopback.',
  },
  {
    field: 'listen',
    variable: 'LISTEN',
    parse: parseListenAddress,
    defaultText: '127.0.0.1:8787',
    doc: 'Address and port to listen on.',
  },
  {
    field: 'appUrl',
    variable: 'APP_URL',
    parse: parseBaseUrl,
    defaultText: 'http://localhost:8788',
    doc: 'The web application where accounts are created. The embedded provider and the demo app are served there.',
  },
  {
    field: 'provider',
    variable: 'PROVIDER',
    parse: oneOf('embedded'),
    defaultText: 'embedded',
    doc: 'Session provider that signs the users in.',
  },
  {
    field: 'providerUrl',
    variable: 'PROVIDER_URL',
    parse: parseBaseUrl,
    defaultText: 'APP_URL/auth/v1',
    doc: 'Base URL of the auth API of the session provider.',
  },
  {
    field: 'providerIssuer',
    variable: 'PROVIDER_ISSUER',
    parse: (text) => text,
    defaultText: 'PROVIDER_URL',
    doc: 'The iss claim that a provider token must carry.',
  },
  {
    field: 'providerAudience',
    variable: 'PROVIDER_AUDIENCE',
    parse: (text) => text,
    defaultText: 'authenticated',
    doc: 'The aud claim that a provider token must carry.',
  },
  {
    field: 'social',
    variable: 'SOCIAL',
    parse: parseList,
    defaultText: 'what the provider reports',
    doc: 'Social sign-in methods to offer, comma-separated, for example google.',
  },
  {
    field: 'cookieName',
    variable: 'COOKIE_NAME',
    parse: parseCookieName,
    defaultText: 'sb-<first label of the provider host>-auth-token',
    doc: 'Base name of the session cookie.',
  },
  {
    field: 'sessionTokens',
    variable: 'SESSION_TOKENS',
    parse: parseSwitch,
    defaultText: 'on',
    doc: 'Accept tokens and session cookies of the provider at /mcp, beside tokens of this server.',
  },
  {
    field: 'allowedOrigins',
    variable: 'ALLOWED_ORIGINS',
    parse: parseOrigins,
    defaultText: 'the origins of BASE_URL and APP_URL',
    doc: 'Origins whose pages may call /mcp with the session cookie, comma-separated.',
  },
  {
    field: 'sessionTtl',
    variable: 'SESSION_TTL',
    parse: parseDuration,
    defaultText: '30d',
    doc: 'How long a connection lasts, counted from signing in.',
  },
  {
    field: 'accessTokenTtl',
    variable: 'ACCESS_TOKEN_TTL',
    parse: parseDuration,
    defaultText: '1h',
    doc: 'How long an access token lasts before the client refreshes it.',
  },
  {
    field: 'store',
    variable: 'STORE',
    parse: parseStore,
    defaultText: 'sqlite:.drawbridge/server.db',
    doc: 'Where everything is remembered: sqlite:PATH, or memory: to forget it at the end.',
  },
  {
    field: 'secretKeys',
    variable: 'SECRET_KEYS',
    parse: parseSecretKeys,
    defaultText: 'generated beside the store for the embedded provider',
    doc: 'Keys that seal what is stored, as kid:base64 with 32 bytes each, comma-separated. The first seals, all open.',
    secret: true,
  },
  {
    field: 'privateUseRedirectUris',
    variable: 'PRIVATE_USE_REDIRECT_URIS',
    parse: parseList,
    defaultText: 'cursor://anysphere.cursor-mcp/oauth/callback',
    doc: 'Redirect URIs with an own scheme that clients may register, comma-separated, each matched exactly.',
  },
  {
    field: 'embeddedTokenTtl',
    variable: 'EMBEDDED_TOKEN_TTL',
    parse: parseDuration,
    defaultText: '3600',
    doc: 'Life of the access tokens of the embedded provider.',
  },
  {
    field: 'log',
    variable: 'LOG',
    parse: oneOf('silent', 'error', 'info', 'debug'),
    defaultText: 'info',
    doc: 'How much is logged to stderr, as JSON lines: silent, error, info or debug.',
  },
]

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

/** The flag of a setting, such as `--base-url`. */
export function flagOf(setting: Pick<Setting, 'variable'>): string {
  return `--${setting.variable.toLowerCase().replaceAll('_', '-')}`
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
      // A URL that is refused for the password in it must not put that password into a log.
      const shown = setting.secret ? 'the given value' : JSON.stringify(text.replace(/\/\/.*@/, '//...@'))
      problems.push(`${name(setting)}: ${error.message}; got ${shown}.`)
    }
  }
  const config = withDefaults(Object.fromEntries(values))
  const callOf = (field: keyof ServerConfig): string =>
    settings
      .filter((row) => row.field === field)
      .map(name)
      .join('')
  // A provider that is not known here has rules that are not known here.
  if (given.provider === undefined || values.has('provider')) {
    problems.push(
      ...brokenEmbeddedRules(config, context.production).map(([field, text]) => `${callOf(field)}: ${text}`),
    )
  }
  if (problems.length > 0) throw new ConfigError(problems)
  return Object.freeze(config)
}

function withDefaults(given: Partial<ServerConfig>): ServerConfig {
  const baseUrl = given.baseUrl ?? 'http://localhost:8787'
  const appUrl = given.appUrl ?? 'http://localhost:8788'
  const providerUrl = given.providerUrl ?? `${appUrl}/auth/v1`
  return {
    baseUrl,
    listen: { host: '127.0.0.1', port: 8787 },
    appUrl,
    provider: 'embedded',
    providerUrl,
    providerIssuer: providerUrl,
    providerAudience: 'authenticated',
    social: undefined,
    cookieName: defaultSessionCookieName(providerUrl),
    sessionTokens: true,
    allowedOrigins: [...new Set([new URL(baseUrl).origin, new URL(appUrl).origin])],
    sessionTtl: 30 * 86_400,
    accessTokenTtl: 3600,
    store: { kind: 'sqlite', path: '.drawbridge/server.db' },
    secretKeys: undefined,
    privateUseRedirectUris: ['cursor://anysphere.cursor-mcp/oauth/callback'],
    embeddedTokenTtl: 3600,
    log: 'info',
    ...given,
  }
}
