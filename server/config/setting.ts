import type { Setting as SettingOf } from '@drawbridge/shared/settings/setting.ts'
import type { Rate } from '../core/limits/rate-limit.ts'
import type { Captcha } from '../core/session/session-provider.ts'
import type { LogLevel } from '../observability/log.ts'
import type { SecondFactorPolicy } from '../providers/supabase/supabase.ts'
import type { ListenAddress } from './config-value.ts'
import type { SecretKeySource, StoreAddress } from './store-address.ts'

export { flagOf, variableOf } from '@drawbridge/shared/settings/setting.ts'

/** The session provider, and how people sign in there. Durations are seconds. */
export interface ProviderConfig {
  provider: 'embedded' | 'supabase' | 'oidc'
  providerUrl: string
  providerKey: string | undefined
  providerIssuer: string
  /** Undefined: provider tokens are not accepted as bearers, which only `oidc` allows. */
  providerAudience: string | undefined
  providerJwtSecret: string | undefined
  providerClientId: string | undefined
  providerClientSecret: string | undefined
  providerScope: string
  providerSessions: 'many' | 'one'
  providerParameters: Readonly<Record<string, string>>
  social: readonly string[] | undefined
  captcha: Captcha | undefined
  secondFactor: SecondFactorPolicy
  /** Undefined: the provider is never asked whether a session still lives. */
  sessionCheck: number | undefined
  /** Per minute, all instances together. */
  signInLimit: number
}

/** The complete, checked configuration. Durations are seconds. */
export interface ServerConfig extends ProviderConfig {
  baseUrl: string
  listen: ListenAddress
  appUrl: string
  cookieName: string
  sessionTokens: boolean
  allowedOrigins: readonly string[]
  sessionTtl: number
  accessTokenTtl: number
  store: StoreAddress
  /** Undefined: generated next to the store, which only the embedded provider allows. */
  secretKeys: SecretKeySource | undefined
  privateUseRedirectUris: readonly string[]
  /** Path of the ES module with the tools; undefined: those of the demo web app, or whoami alone. */
  tools: string | undefined
  /** URL of the MCP server behind this one, or path of the JSON file that describes it; undefined: there is none. */
  upstream: string | undefined
  /** Path of the JSON file with clients that need no registration. */
  clients: string | undefined
  /** Path of the JSON file with the access rules; undefined: everyone whom the provider signs in may come in. */
  access: string | undefined
  /** Path of the file that gets the audit events; undefined: they are in the log only. */
  audit: string | undefined
  /** Calls in a time that one person may make. Undefined: any number. */
  callLimit: Rate | undefined
  /** Calls that one person may have under way. Undefined: any number. */
  callsAtOnce: number | undefined
  /** Lets clients register themselves (RFC 7591). */
  registration: boolean
  /** Registrations per hour that one address may make. */
  registrationLimit: number
  /** Lets a client id be the URL of a metadata document. */
  clientDocuments: boolean
  /** Hosts whose metadata documents are accepted: `*.` includes subdomains, `!` refuses. Empty: every host. */
  clientDocumentHosts: readonly string[]
  /** Life of access tokens of clients that never refresh; undefined: as long as others. */
  longTokenTtl: number | undefined
  /** Addresses and CIDR ranges whose `X-Forwarded-For` is trusted. */
  trustedProxies: readonly string[]
  /** Further host names that requests may be for, with their port. */
  allowedHosts: readonly string[]
  metricsListen: ListenAddress | undefined
  /** Where the admin API is served; undefined: nowhere. */
  adminListen: ListenAddress | undefined
  /** Path of the file with the bearer token of the admin API. */
  adminTokenFile: string | undefined
  /** Name of the web app on pages. */
  appName: string
  /** Path of the JSON file with texts for /.well-known/, by name. */
  wellKnown: string | undefined
  /** Where people read what happens to their data, what they agree to, and get help. */
  privacyUrl: string | undefined
  termsUrl: string | undefined
  supportUrl: string | undefined
  embeddedTokenTtl: number
  log: LogLevel
}

/** Settings as text, by field. What is left out has its default. */
export type Settings = Partial<Record<keyof ServerConfig, string>>

/** One row of the table of settings. */
export type Setting = SettingOf<keyof ServerConfig>
