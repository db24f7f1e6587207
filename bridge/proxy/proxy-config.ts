/** How messages are carried. Times in milliseconds. */
export interface McpProxyConfig {
  /** Of the bridge: it stands in for a server that nothing is known of yet. */
  version: string
  serverUrl: string
  transport: 'http-first' | 'sse-first' | 'http-only' | 'sse-only'
  /** `auto` finds out; the others say what the server speaks. */
  protocol: 'auto' | 'legacy' | 'modern'
  /** Sent with every request to the server, never to an authorization server. */
  headers: Readonly<Record<string, string>>
  /** Globs with `*`. A tool that `deny` matches, or that `allow` is not empty and does not match, is hidden and refused. */
  tools: { allow: readonly string[]; deny: readonly string[] }
  /** How long a server that cannot be reached is tried again for one message. */
  retryMs: number
  /** Silence within a call after which the server is asked whether it still lives; 0 never. */
  watchdogMs: number
  /** Between pings of an idle connection; 0 never. */
  pingMs: number
  /** How long answers to a client wait for a sign-in. */
  signInWaitMs: number
  /** Whether cookies of the server are kept and sent back, for balancers that stick. */
  cookies: boolean
}
