import { matchesGlob } from '@drawbridge/shared/glob.ts'

export type IdentityForm = 'assertion' | 'bearer' | 'headers' | 'provider-token'

/** The upstream's offered tools, and what calling them requires. Patterns have `*` for any characters. */
export interface UpstreamPolicy {
  allow: readonly string[]
  deny: readonly string[]
  /** Names, not patterns, of the tools that may be called without signing in. */
  publicTools: ReadonlySet<string>
  /** Scopes by pattern or {@link writesSelector}; the first match wins. */
  scopes: readonly (readonly [pattern: string, scope: string])[]
}

/** In the place of a pattern: each tool that is not marked `readOnlyHint`, and not public. */
export const writesSelector = '@writes'

/** A tool as the selectors of scopes see it. */
export interface MarkedTool {
  name: string
  /** Whether it is marked `readOnlyHint`. Undefined while unknown, which counts as a write. */
  isReadOnly: boolean | undefined
}

/** Returns the scope required besides the one for all tools, from the first entry that matches. */
export function scopeOfTool(
  { scopes, publicTools }: Pick<UpstreamPolicy, 'scopes' | 'publicTools'>,
  { name, isReadOnly }: MarkedTool,
): string | undefined {
  const isWrite = isReadOnly !== true && !publicTools.has(name)
  return scopes.find(([pattern]) => (pattern === writesSelector ? isWrite : matchesGlob(pattern, name)))?.[1]
}

/** Returns why a pattern selects nothing; undefined if it may. */
export function selectorFault(pattern: string): string | undefined {
  if (!pattern.startsWith('@') || pattern === writesSelector) return undefined
  return `there is no such selector. Write ${writesSelector}, or a pattern of names.`
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

export const userProperties = ['id', 'email', 'name', 'provider_token', 'workspace'] as const
export type UserProperty = (typeof userProperties)[number]

export type Template = readonly (string | { user: UserProperty })[]

/** A range of operating system users, first to last. With more than one, each running process has its own. */
export interface ProcessUser {
  firstUid: number
  lastUid: number
  gid: number
}

/** True when processes receive the provider's token, which belongs to a grant and changes. */
export function holdsProviderToken(upstream: Pick<CommandUpstream, 'env'>): boolean {
  return userPropertiesIn(upstream).includes('provider_token')
}

/** Returns the user properties that processes receive. */
export function userPropertiesIn({ env }: Pick<CommandUpstream, 'env'>): UserProperty[] {
  return Object.values(env).flatMap((template) =>
    template.flatMap((part) => (typeof part === 'string' ? [] : part.user)),
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
