import { matchesGlob } from '../access/glob.ts'
import type { UpstreamPolicy } from './upstream.ts'

/** Whether the upstream's tool of that name is there at all, for anybody. What is denied stays away even if it is allowed too. */
export function offersUpstreamTool(
  { allow, deny }: Pick<UpstreamPolicy, 'allow' | 'deny'>,
  name: string,
): boolean {
  return matchesOne(allow, name) && !matchesOne(deny, name)
}

/** The scope that calling the upstream's tool of that name takes in addition to the one for all tools: that of the first pattern that matches. */
export function scopeOfTool({ scopes }: Pick<UpstreamPolicy, 'scopes'>, name: string): string | undefined {
  return scopes.find(([pattern]) => matchesGlob(pattern, name))?.[1]
}

/** What calling the upstream's tool of that name takes. */
export function needsOfTool(
  policy: Pick<UpstreamPolicy, 'publicTools' | 'scopes'>,
  name: string,
): { isPublic: boolean; scope: string | undefined } {
  return { isPublic: policy.publicTools.has(name), scope: scopeOfTool(policy, name) }
}

function matchesOne(patterns: readonly string[], name: string): boolean {
  return patterns.some((pattern) => matchesGlob(pattern, name))
}
