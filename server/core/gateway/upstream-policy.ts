import { matchesGlob } from '../access/glob.ts'
import type { UpstreamPolicy } from './upstream.ts'

/** Returns whether the upstream's tool of that name is offered at all. `deny` wins over `allow`. */
export function offersUpstreamTool(
  { allow, deny }: Pick<UpstreamPolicy, 'allow' | 'deny'>,
  name: string,
): boolean {
  return matchesOne(allow, name) && !matchesOne(deny, name)
}

/**
 * Returns the scope required to call the upstream's tool of that name, besides the one for all tools: that of the first matching
 * pattern.
 */
export function scopeOfTool({ scopes }: Pick<UpstreamPolicy, 'scopes'>, name: string): string | undefined {
  return scopes.find(([pattern]) => matchesGlob(pattern, name))?.[1]
}

/** Returns what a call of the upstream's tool requires. */
export function needsOfTool(
  policy: Pick<UpstreamPolicy, 'publicTools' | 'scopes'>,
  name: string,
): { isPublic: boolean; scope: string | undefined } {
  return { isPublic: policy.publicTools.has(name), scope: scopeOfTool(policy, name) }
}

function matchesOne(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => matchesGlob(pattern, name))
}
