import type { Setting as SettingOf } from '@drawbridge/shared/settings/setting.ts'
import type { ClientMetadata } from '@drawbridge/shared/oauth/oauth-metadata.ts'
import type { KeyBackend } from '../credentials/credential-store.ts'
import type { StaticClient } from '../oauth/oauth-config.ts'
import type { McpProxyConfig } from '../proxy/proxy-config.ts'
import type { CallbackAddress, HeaderEntry, ValueSource } from './config-value.ts'

export { flagOf, variableOf } from '@drawbridge/shared/settings/setting.ts'

/** How messages are carried to the server. Durations are milliseconds, here and below. */
export interface ServerValues {
  headers?: readonly HeaderEntry[]
  headerFile?: readonly HeaderEntry[]
  transport: McpProxyConfig['transport']
  protocol: McpProxyConfig['protocol']
  allowTool?: readonly string[]
  ignoreTool?: readonly string[]
  retry: number
  watchdog: number
  keepAlive: boolean
  pingInterval: number
  disableCookies: boolean
}

/** How signing in is done. */
export interface SignInValues {
  token?: string
  profile: string
  scope?: string
  resource?: string
  disableResourceParameter: boolean
  authorizeParameters?: readonly (readonly [name: string, value: string])[]
  staticClient?: StaticClient
  clientMetadata?: ClientMetadata
  clientMetadataUrl?: string
  privateKey?: { pem: string; algorithm: string }
  clientCredentials: boolean
  tokenEndpoint?: string
  deviceCode?: boolean
  useIdToken: boolean
  callback?: CallbackAddress
  host?: string
  callbackPath: string
  authTimeout: number
  authWait: number
  authSuccessUrl?: string
  open?: boolean
}

/** How servers are reached. */
export interface NetworkValues {
  /** `off`: no proxy, even if the environment has one. */
  proxy?: string
  ca?: string
  ipv4: boolean
  allowHttp: boolean
  connectTimeout: number
  headersTimeout: number
  bodyTimeout: number
}

/** Where logins and logs are kept. */
export interface StorageValues {
  store?: KeyBackend
  key?: string
  keyFile?: string
  home?: string
}

/** What the bridge prints and logs. */
export interface OutputValues {
  debug: boolean
  silent: boolean
}

/** Every setting with its value. What can be left out has no default of its own. */
export interface SettingValues
  extends ServerValues, SignInValues, NetworkValues, StorageValues, OutputValues {}

/** What was set, and nothing else. */
export type GivenValues = Partial<SettingValues>

/** How settings are grouped in the help. */
export type SettingGroup = 'Server' | 'Signing in' | 'Network' | 'Storage' | 'Output'

/** One row of the table of settings. */
export interface Setting extends SettingOf<keyof SettingValues, ValueSource> {
  group: SettingGroup
}
