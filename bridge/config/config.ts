import type { CredentialsConfig } from '../credentials/credential-store.ts'
import type { NetworkConfig } from '../http/network-config.ts'
import type { OAuthConfig } from '../oauth/oauth-config.ts'
import type { McpProxyConfig } from '../proxy/proxy-config.ts'

/** What the bridge runs with, complete and checked. */
export interface BridgeConfig {
  serverUrl: string
  network: NetworkConfig
  oauth: OAuthConfig
  credentials: CredentialsConfig
  proxy: McpProxyConfig
  /** A token of the environment or of a header: there is no login then, and nothing is stored. */
  token: string | undefined
  /** Where {@link BridgeConfig.token} came from; `other_header` is an `Authorization` header that is no bearer token. */
  fixedBy: 'environment' | 'header' | 'other_header' | undefined
  /** Whether a browser is opened; the link is on stderr in any case. */
  openBrowser: boolean
  /** The names of the variables that were put in place of `${NAME}`: their values are likely secret. */
  expandedVariables: ReadonlySet<string>
  /** How much goes to stderr, and whether a log file is written. */
  output: { silent: boolean; debug: boolean }
}

/** Every fault of a configuration at once. `problems` are sentences that name the setting and what is expected. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly string[]

  constructor(problems: readonly string[]) {
    super(problems.join(' '))
    this.problems = problems
  }
}
