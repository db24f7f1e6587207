/** A web app whose sessions are read, and the MCP server that takes its tokens. Holds nothing secret. */
export interface Profile {
  /** Stable, chosen when the profile is made. */
  id: string
  label: string
  /** Scheme, host and port of the app, with a path where several apps share an origin; no trailing slash. */
  appUrl: string
  /** Base URL of the MCP server, without trailing slash; `/mcp` follows. */
  baseUrl: string | undefined
  /** Name of the session cookie where it is not the provider's usual one. */
  cookieName: string | undefined
}

/** What is stored. A later `version` is migrated to, never from. */
export interface Settings {
  version: 1
  profiles: readonly Profile[]
}
