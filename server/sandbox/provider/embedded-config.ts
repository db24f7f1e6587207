/** Settings of the embedded provider. Every URL must be on this machine. */
export interface EmbeddedProviderConfig {
  /** Base URL of the auth API, for example `http://localhost:8788/auth/v1`; also the `iss` of its tokens. */
  url: string
  /** Origin of the web application: the fallback for a `redirect_to` that is not allowed. */
  siteUrl: string
  /** URLs accepted as `redirect_to` besides the site's own. */
  redirectAllowList: readonly string[]
  /** Lifetime of an access token in seconds. */
  tokenTtlSeconds: number
  /** SQLite path, or `:memory:`. */
  database: string
  /** Names of the enabled social sign-in methods, `google` by default. All lead to the same sandbox page. */
  socialProviders?: readonly string[]
}

const loopbackHost = /^(localhost|[^.]+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/

/**
 * Refuses a configuration that would expose the provider to a network: its accounts are confirmed without a mail and its Google
 * asks for no password, so it must never be reachable from another machine.
 */
export function validateEmbeddedConfig(config: EmbeddedProviderConfig): void {
  for (const name of ['url', 'siteUrl'] as const) {
    const { hostname, protocol } = URL.parse(config[name]) ?? { hostname: '', protocol: '' }
    if (!/^https?:$/.test(protocol) || !loopbackHost.test(hostname)) {
      throw new TypeError(
        `Embedded provider: ${name} ${JSON.stringify(config[name])} is not a loopback address. ` +
          'It is for development on one machine; configure a real session provider instead.',
      )
    }
  }
}
