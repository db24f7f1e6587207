import { matchesGlob } from '@drawbridge/shared/glob.ts'

export type IdentityForm = 'assertion' | 'bearer' | 'headers' | 'provider-token'

/** The upstream's offered tools, and what calling them requires. Patterns have `*` for any characters. */
export interface UpstreamPolicy {
  allow: readonly string[]
  deny: readonly string[]
  /** Names, not patterns, of the tools that may be called without signing in. */
  publicTools: ReadonlySet<string>
  /** Scopes by pattern; the first match wins. */
  scopes: readonly (readonly [pattern: string, scope: string])[]
}

/** Returns the scope required besides the one for all tools, from the first matching pattern. */
export function scopeOfTool({ scopes }: Pick<UpstreamPolicy, 'scopes'>, name: string): string | undefined {
  return scopes.find(([pattern]) => matchesGlob(pattern, name))?.[1]
}

interface AnyUpstream {
  name: string | undefined
  policy: UpstreamPolicy
  /** Plain descriptions of the scopes of {@link UpstreamPolicy.scopes}. */
  scopes: Readonly<Record<string, string>>
  /** Returns the user's workspaces as JSON, requested with their provider token; undefined: there are none. */
  workspacesUrl: string | undefined
}

export interface HttpUpstream extends AnyUpstream {
  kind: 'http'
  url: string
  identity: readonly IdentityForm[]
  audience: string
  headers: Readonly<Record<string, string>>
  /** Additional client request headers to forward, in lower case. */
  forward: readonly string[]
  timeoutSeconds: number
  connectTimeoutSeconds: number
  maxBodyBytes: number
}

export type Template = readonly (string | { user: 'id' | 'email' | 'name' | 'provider_token' })[]

/** A range of operating system users, first to last. With more than one, each running process has its own. */
export interface ProcessUser {
  firstUid: number
  lastUid: number
  gid: number
}

/** True when processes receive the provider's token, which belongs to a grant and changes. */
export function holdsProviderToken({ env }: Pick<CommandUpstream, 'env'>): boolean {
  return Object.values(env).some((template) =>
    template.some((part) => typeof part !== 'string' && part.user === 'provider_token'),
  )
}

export interface CommandUpstream extends AnyUpstream {
  kind: 'command'
  command: string
  args: readonly string[]
  cwd: string | undefined
  env: Readonly<Record<string, Template>>
  /** `user`: each user has their own processes. `shared`: one process for all. */
  process: 'user' | 'shared'
  idleSeconds: number
  startTimeoutSeconds: number
  /** Longer, because the first start may have to download the program. */
  firstStartTimeoutSeconds: number
  maxProcesses: number
  maxPerUser: number
  /** Operating system user of the processes; undefined: the server's own. */
  user: ProcessUser | undefined
  /** Values that the document took from this server's environment: no process may write them to the log. */
  secrets: readonly string[]
}

export type Upstream = HttpUpstream | CommandUpstream
