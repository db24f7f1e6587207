import type { RefreshTokenVersion } from './sessions/refresh-token.ts'

/** Settings of the embedded provider. Every URL must be on this machine. */
export interface EmbeddedProviderConfig {
  /** Base URL of the auth API, for example `http://localhost:8788/auth/v1`; also the `iss` of its tokens. */
  url: string
  /** Origin of the web application: the fallback for a `redirect_to` that is not allowed. */
  siteUrl: string
  /** Exact URLs or globs (`*`, `**`, `?`) accepted as `redirect_to` besides the site's own. */
  redirectAllowList: readonly string[]
  /** Life of an access token in seconds. */
  tokenTtlSeconds: number
  /** SQLite path, or `:memory:`. */
  database: string
  /** Names of the social sign-in methods that are on, `google` by default. All lead to the same sandbox page. */
  socialProviders?: readonly string[]
  /** Default 2. */
  refreshTokenVersion?: RefreshTokenVersion
}

const LOOPBACK_HOST = /^(localhost|[^.]+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/

/**
 * Refuses a configuration that would put the provider on a network: its accounts are confirmed without a mail and its
 * Google asks for no password, so it must never be reachable from another machine.
 */
export function validateEmbeddedConfig(config: EmbeddedProviderConfig): void {
  for (const name of ['url', 'siteUrl'] as const) {
    const value = config[name]
    if (!URL.canParse(value))
      throw new TypeError(`Embedded provider: ${name} ${JSON.stringify(value)} is not a URL.`)
    const { hostname, protocol } = new URL(value)
    if (!/^https?:$/.test(protocol) || !LOOPBACK_HOST.test(hostname)) {
      throw new TypeError(
        `Embedded provider: ${name} ${JSON.stringify(value)} is not a loopback address. ` +
          'It is for development on one machine; configure a real session provider instead.',
      )
    }
  }
  if (!Number.isInteger(config.tokenTtlSeconds) || config.tokenTtlSeconds < 1) {
    throw new TypeError('Embedded provider: tokenTtlSeconds must be a whole number of at least 1.')
  }
  // `email` and the like mean something else in the settings of the auth API.
  const reserved = new Set(['email', 'phone', 'anonymous_users'])
  const unusable = config.socialProviders?.find(
    (name) => !/^[a-z][a-z0-9_]*$/.test(name) || reserved.has(name),
  )
  if (unusable !== undefined) {
    throw new TypeError(
      `Embedded provider: ${JSON.stringify(unusable)} is not a valid name of a social provider.`,
    )
  }
}
