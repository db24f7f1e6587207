import { matchesGlob } from '@drawbridge/shared/glob.ts'

/** True for a name that matches a pattern of `allow` and none of `deny`. */
export function isAllowed(
  { allow, deny }: { allow: readonly string[]; deny: readonly string[] },
  name: string,
): boolean {
  const matchesOne = (patterns: readonly string[]): boolean =>
    patterns.some((pattern) => matchesGlob(pattern, name))
  return matchesOne(allow) && !matchesOne(deny)
}

/** Like `matchesGlob`, but `*` does not match `@`. Matches no address without exactly one `@`. */
export function matchesEmail(pattern: string, address: string): boolean {
  const patternParts = pattern.split('@')
  const parts = address.split('@')
  return (
    parts.length === 2 &&
    patternParts.length === 2 &&
    parts.every((part, index) => matchesGlob(patternParts[index] ?? '', part))
  )
}
