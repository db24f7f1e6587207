import { flagOf, type Setting as SettingOf, variableOf } from '@drawbridge/shared/settings/setting.ts'
import type { ClientMetadata } from '@drawbridge/shared/oauth/oauth-metadata.ts'
import type { KeyBackend } from '../credentials/credential-store.ts'
import type { StaticClient } from '../oauth/oauth-config.ts'
import type { McpProxyConfig } from '../proxy/proxy.ts'
import type { CallbackAddress, HeaderEntry, ValueSource } from './config-value.ts'

export { flagOf, variableOf }

/** Durations are milliseconds, here and below. */
export interface ServerValues {
  headers?: readonly HeaderEntry[]
  headerFile?: readonly HeaderEntry[]
  transport: McpProxyConfig['transport']
  protocol: McpProxyConfig['protocol']
  allowTool?: readonly string[]
  ignoreTool?: readonly string[]
  retry: number
  keepAlive: boolean
  pingInterval: number
  disableCookies: boolean
}

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
  authSuccessUrl?: string
  open?: boolean
}

export interface NetworkValues {
  /** `off`: no proxy, even if the environment has one. */
  proxy?: string
  ca?: string
  ipv4: boolean
  allowHttp: boolean
  /** 0: none. */
  timeout: number
}

export interface StorageValues {
  store?: KeyBackend
  key?: string
  home?: string
}

export interface OutputValues {
  debug: boolean
}

/** The values of all settings. Optional ones have no default. */
export interface SettingValues
  extends ServerValues, SignInValues, NetworkValues, StorageValues, OutputValues {}

/** Only the settings that were given. */
export type GivenValues = Partial<SettingValues>

export type SettingGroup = 'Server' | 'Signing in' | 'Network' | 'Storage' | 'Output'

export interface Setting extends SettingOf<keyof SettingValues, ValueSource> {
  group: SettingGroup
}

/** Returns the flag that means `off`: every switch has one, and any setting may name one. */
export function negativeOf({ name, value, negative }: Setting): `--no-${string}` | undefined {
  return negative ?? (value === undefined ? `--no-${name}` : undefined)
}
