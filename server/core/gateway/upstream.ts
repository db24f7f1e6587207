/** How the upstream is told who calls. */
export type IdentityForm = 'assertion' | 'bearer' | 'headers' | 'provider-token'

/** Which of the upstream's tools there are, and what calling them takes. Patterns have `*` for any characters. */
export interface UpstreamPolicy {
  allow: readonly string[]
  deny: readonly string[]
  /** Names, never patterns, of the tools that anybody may call without signing in. */
  publicTools: ReadonlySet<string>
  /** Scopes by pattern; the first that matches counts. */
  scopes: readonly (readonly [pattern: string, scope: string])[]
}

/** What every upstream has. */
interface AnyUpstream {
  policy: UpstreamPolicy
  /** What the scopes of {@link UpstreamPolicy.scopes} allow, in plain words. */
  scopes: Readonly<Record<string, string>>
}

/** An MCP server that is reached by Streamable HTTP. */
export interface HttpUpstream extends AnyUpstream {
  kind: 'http'
  url: string
  identity: readonly IdentityForm[]
  /** Whom assertions are for. */
  audience: string
  /** Sent with every request. */
  headers: Readonly<Record<string, string>>
  /** Names of further request headers of the client that go on, in lower case. */
  forward: readonly string[]
  timeoutSeconds: number
  connectTimeoutSeconds: number
  maxBodyBytes: number
}

/** A value with places that a person's own values go to. */
export type Template = readonly (string | { user: 'id' | 'email' | 'name' | 'provider_token' })[]

/** An MCP server that speaks stdio: a command. */
export interface CommandUpstream extends AnyUpstream {
  kind: 'command'
  command: string
  args: readonly string[]
  cwd: string | undefined
  env: Readonly<Record<string, Template>>
  /** `user`: each person has processes of their own. `shared`: one for everybody. */
  process: 'user' | 'shared'
  idleSeconds: number
  startTimeoutSeconds: number
  maxProcesses: number
  maxPerUser: number
  /** What happens to a process whose environment has the provider's token, when that is refreshed. */
  onTokenRefresh: 'restart' | 'keep'
}

/** The MCP server behind the door. */
export type Upstream = HttpUpstream | CommandUpstream
