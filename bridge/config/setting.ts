import type { ClientMetadata } from '@drawbridge/shared/oauth/oauth-metadata.ts'
import type { KeyBackend } from '../credentials/credential-store.ts'
import type { StaticClient } from '../oauth/oauth-config.ts'
import type { McpProxyConfig } from '../proxy/proxy-config.ts'
import type { ValueParser } from './config-value.ts'

/** Prefix of every environment variable of the bridge. The server has the same one. */
export const variablePrefix = 'DRAWBRIDGE_'

/** What may be set, as it was understood. Left out: not set anywhere. Durations are milliseconds. */
export interface SettingValues {
  transport?: McpProxyConfig['transport']
  protocol?: McpProxyConfig['protocol']
  headers?: readonly HeaderEntry[]
  headerFile?: readonly HeaderEntry[]
  allowTool?: readonly string[]
  ignoreTool?: readonly string[]
  disableCookies?: boolean
  retry?: number
  watchdog?: number
  keepAlive?: boolean
  pingInterval?: number
  authWait?: number
  token?: string
  scope?: string
  resource?: string
  disableResourceParameter?: boolean
  profile?: string
  authorizeParameters?: readonly (readonly [name: string, value: string])[]
  staticClient?: StaticClient
  clientMetadata?: ClientMetadata
  privateKey?: { pem: string; algorithm: string }
  clientMetadataUrl?: string
  clientCredentials?: boolean
  tokenEndpoint?: string
  deviceCode?: boolean
  useIdToken?: boolean
  callback?: CallbackAddress
  host?: string
  callbackPath?: string
  authTimeout?: number
  authSuccessUrl?: string
  open?: boolean
  /** `off`: straight, whatever the environment says. */
  proxy?: string
  ca?: string
  ipv4?: boolean
  allowHttp?: boolean
  connectTimeout?: number
  headersTimeout?: number
  bodyTimeout?: number
  store?: KeyBackend
  key?: string
  keyFile?: string
  home?: string
  debug?: boolean
  silent?: boolean
}

/** One header, its value complete. */
export type HeaderEntry = readonly [name: string, value: string]

/** Where the browser comes back to. */
export interface CallbackAddress {
  host: string
  port: number | undefined
  path: string
}

/** How settings are grouped in the help. */
export type SettingGroup = 'Server' | 'Signing in' | 'Network' | 'Storage' | 'Output'

/** One row of the table of settings. */
export interface Setting {
  field: keyof SettingValues
  group: SettingGroup
  /** Flag without its dashes; also the key in the configuration file. */
  name: string
  /** Environment variable without the prefix. */
  variable: string
  /** What its value is called in help; undefined for a switch, which is on when it is there. */
  value?: string
  /** May be given more than once. Its text in a variable is split at `separator`; `pair` joins the members of an object. */
  repeats?: { separator: string; pair?: string }
  /** The words that it can be, when there are only a few; nothing else gets to the parser. */
  choices?: readonly string[]
  parse: ValueParser<unknown>
  /** Text of the default, or what decides it. */
  defaultText: string
  doc: string
  /** Has no flag, because a command line is visible to every user of the machine; never repeated in a message. */
  secret?: true
  /** A flag that says `off` instead: `--no-open`. */
  negative?: `--no-${string}`
  /** Cannot be in the configuration file: the file is found by it, or it would be a secret in clear. */
  notInFile?: true
  /** Whether mcp-remote has the same flag. */
  mcpRemote?: true
}

/** The flag of a setting, such as `--auth-timeout`. */
export function flagOf(setting: Pick<Setting, 'name'>): `--${string}` {
  return `--${setting.name}`
}

/** The variable of a setting, such as `DRAWBRIDGE_AUTH_TIMEOUT`. */
export function variableOf(setting: Pick<Setting, 'variable'>): string {
  return variablePrefix + setting.variable
}
