import type { CredentialsConfig } from '../credentials/credential-store.ts'
import type { NetworkConfig } from '../http/network-config.ts'
import type { OAuthConfig } from '../oauth/oauth-config.ts'
import type { McpProxyConfig } from '../proxy/proxy-config.ts'

export { ConfigError } from '@drawbridge/shared/settings/setting.ts'

/** What the bridge runs with, complete and checked. */
export interface BridgeConfig {
  serverUrl: string
  network: NetworkConfig
  oauth: OAuthConfig
  credentials: CredentialsConfig
  proxy: McpProxyConfig
  /** A token from the environment or a header. With it there is no login, and nothing is stored. */
  token: string | undefined
  /** Where {@link BridgeConfig.token} came from; `other_header` is an `Authorization` header without a bearer token. */
  fixedBy: 'environment' | 'header' | 'other_header' | undefined
  /** Whether to open a browser. The link is printed on stderr in any case. */
  openBrowser: boolean
  /** Names of the variables that replaced `${NAME}`: their values are probably secrets. */
  expandedVariables: ReadonlySet<string>
  /** How much is printed on stderr, and whether a log file is written. */
  output: { silent: boolean; debug: boolean }
}
