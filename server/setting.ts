import type { SecondFactorPolicy } from './provider/gotrue/gotrue.ts'
import type { Captcha } from './core/session-provider.ts'
import {
  type ListenAddress,
  oneOf,
  parseBaseUrl,
  parseCaptcha,
  parseCookieName,
  parseCount,
  parseDuration,
  parseDurationOrOff,
  parseHeaderValue,
  parseList,
  parseListenAddress,
  parseOrigins,
  parseParameters,
  parseSecretKeySource,
  parseStore,
  parseSwitch,
  parseText,
  type SecretKeySource,
  type StoreAddress,
  type ValueParser,
} from './config-value.ts'

/** Prefix of every environment variable of the server. */
export const variablePrefix = 'DRAWBRIDGE_'

/** What the server runs with, complete and checked. Durations are seconds. */
export interface ServerConfig {
  baseUrl: string
  listen: ListenAddress
  appUrl: string
  provider: 'embedded' | 'supabase' | 'oidc'
  providerUrl: string
  providerKey: string | undefined
  providerIssuer: string
  /** Undefined: provider tokens are not accepted as bearers, which only `oidc` allows. */
  providerAudience: string | undefined
  providerJwtSecret: string | undefined
  providerClientId: string | undefined
  providerClientSecret: string | undefined
  providerName: string
  providerScope: string
  providerParameters: Readonly<Record<string, string>>
  social: readonly string[] | undefined
  captcha: Captcha | undefined
  secondFactor: SecondFactorPolicy
  /** Undefined: the provider is never asked whether a session still lives. */
  sessionCheck: number | undefined
  /** Per minute, all instances together. */
  signInLimit: number
  cookieName: string
  sessionTokens: boolean
  allowedOrigins: readonly string[]
  sessionTtl: number
  accessTokenTtl: number
  store: StoreAddress
  /** Undefined: generated beside the store, which only the embedded provider allows. */
  secretKeys: SecretKeySource | undefined
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

/** The flag of a setting, such as `--base-url`. */
export function flagOf(setting: Pick<Setting, 'variable'>): string {
  return `--${setting.variable.toLowerCase().replaceAll('_', '-')}`
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
    parse: oneOf('embedded', 'supabase', 'oidc'),
    defaultText: 'embedded',
    doc: 'Session provider that signs the users in: embedded (for trying out), supabase (Supabase Auth, GoTrue) or oidc (OpenID Connect).',
  },
  {
    field: 'providerUrl',
    variable: 'PROVIDER_URL',
    parse: parseBaseUrl,
    defaultText: 'APP_URL/auth/v1 for embedded, needed otherwise',
    doc: 'Base URL of the auth API of the session provider, for Supabase https://REF.supabase.co/auth/v1; for oidc the issuer.',
  },
  {
    field: 'providerKey',
    variable: 'PROVIDER_KEY',
    parse: parseHeaderValue,
    defaultText: 'none',
    doc: 'Publishable API key of a Supabase project, sent as apikey.',
    secret: true,
  },
  {
    field: 'providerIssuer',
    variable: 'PROVIDER_ISSUER',
    parse: parseText,
    defaultText: 'PROVIDER_URL',
    doc: 'The iss claim that a provider token must carry.',
  },
  {
    field: 'providerAudience',
    variable: 'PROVIDER_AUDIENCE',
    parse: parseText,
    defaultText: 'authenticated; none for oidc',
    doc: 'The aud claim that a provider token must carry. For oidc: accept JWT access tokens of the issuer with this audience at /mcp.',
  },
  {
    field: 'providerJwtSecret',
    variable: 'PROVIDER_JWT_SECRET',
    parse: parseText,
    defaultText: 'none',
    doc: 'Shared secret of a Supabase project that signs its tokens with HS256. Without it only ES256 and RS256 are accepted.',
    secret: true,
  },
  {
    field: 'providerClientId',
    variable: 'PROVIDER_CLIENT_ID',
    parse: parseText,
    defaultText: 'needed for oidc',
    doc: 'Client id of this server at the OpenID provider.',
  },
  {
    field: 'providerClientSecret',
    variable: 'PROVIDER_CLIENT_SECRET',
    parse: parseText,
    defaultText: 'none: a public client',
    doc: 'Client secret of this server at the OpenID provider.',
    secret: true,
  },
  {
    field: 'providerName',
    variable: 'PROVIDER_NAME',
    parse: parseText,
    defaultText: 'host of PROVIDER_URL',
    doc: 'What the button of the login page calls the OpenID provider.',
  },
  {
    field: 'providerScope',
    variable: 'PROVIDER_SCOPE',
    parse: parseText,
    defaultText: 'openid email profile offline_access',
    doc: 'Scope that is asked of the OpenID provider. It must issue refresh tokens for it.',
  },
  {
    field: 'providerParameters',
    variable: 'PROVIDER_PARAMETERS',
    parse: parseParameters,
    defaultText: 'none',
    doc: 'Further parameters of the authorization request to the OpenID provider, as in access_type=offline&prompt=consent.',
  },
  {
    field: 'social',
    variable: 'SOCIAL',
    parse: parseList,
    defaultText: 'what the provider reports',
    doc: 'Social sign-in methods to offer, comma-separated, for example google.',
  },
  {
    field: 'captcha',
    variable: 'CAPTCHA',
    parse: parseCaptcha,
    defaultText: 'none',
    doc: 'Captcha that the Supabase project demands with a password, as hcaptcha:SITE_KEY or turnstile:SITE_KEY.',
  },
  {
    field: 'secondFactor',
    variable: 'SECOND_FACTOR',
    parse: oneOf('if-enrolled', 'require', 'ignore'),
    defaultText: 'if-enrolled',
    doc: 'Whether signing in asks for a second factor: if-enrolled asks accounts that have one, require refuses the others, ignore never asks.',
  },
  {
    field: 'sessionCheck',
    variable: 'SESSION_CHECK',
    parse: parseDurationOrOff,
    defaultText: '5m',
    doc: 'How long the word of the provider that a session still lives is trusted, or off to trust its tokens until they expire.',
  },
  {
    field: 'signInLimit',
    variable: 'SIGN_IN_LIMIT',
    parse: parseCount,
    defaultText: '20',
    doc: 'Sign-in attempts per minute, all instances together; a social sign-in counts twice, leaving and coming back. Keep it below the rate limit of the provider: sessions are refreshed under that same limit.',
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
    doc: 'Where everything is remembered: sqlite:PATH, postgres://USER:PASSWORD@HOST/DATABASE for several instances, or memory: to forget it at the end.',
  },
  {
    field: 'secretKeys',
    variable: 'SECRET_KEYS',
    parse: parseSecretKeySource,
    defaultText: 'generated beside the store for embedded, needed otherwise',
    doc: 'Keys that seal what is stored, as kid:base64 with 32 bytes each, comma-separated; the first seals, all open. Or file:PATH of a file that holds them.',
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
