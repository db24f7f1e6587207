import type { CredentialsConfig } from '../credentials/credential-store.ts'
import type { NetworkConfig } from '../http/http-client.ts'
import type { OAuthConfig } from '../oauth/oauth-config.ts'
import type { McpProxyConfig } from '../proxy/proxy.ts'

export { ConfigError } from '@drawbridge/shared/settings/setting.ts'

/** The complete configuration. */
export interface BridgeConfig {
  serverUrl: string
  network: NetworkConfig
  oauth: OAuthConfig
  credentials: CredentialsConfig
  proxy: McpProxyConfig
  /** A token from the environment or a header. With it there is no login, and nothing is stored. */
  token: string | undefined
  /** Source of `token`; `other_header`: an `Authorization` header without a bearer token. */
  fixedBy: 'environment' | 'header' | 'other_header' | undefined
  /** The link is printed on stderr in any case. */
  openBrowser: boolean
  /** Names of the variables that replaced `${NAME}`: their values are probably secrets. */
  expandedVariables: ReadonlySet<string>
  debug: boolean
}
