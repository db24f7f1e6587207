/** Returns whether `pattern`, in which `*` matches any characters, matches all of `text`. Takes time proportional to both lengths. */
export function matchesGlob(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return text === pattern
  if (!text.startsWith(first) || text.length < first.length + last.length || !text.endsWith(last))
    return false
  const end = text.length - last.length
  let from = first.length
  for (const literal of rest) {
    const at = text.indexOf(literal, from)
    if (at === -1 || at + literal.length > end) return false
    from = at + literal.length
  }
  return true
}

/** True for a name that matches a pattern of `allow` and none of `deny`. */
export function isAllowed(
  { allow, deny }: { allow: readonly string[]; deny: readonly string[] },
  name: string,
): boolean {
  const matchesOne = (patterns: readonly string[]): boolean =>
    patterns.some((pattern) => matchesGlob(pattern, name))
  return matchesOne(allow) && !matchesOne(deny)
}

/** Like {@link matchesGlob}, but `*` does not match `@`. Matches no address without exactly one `@`. */
export function matchesEmail(pattern: string, address: string): boolean {
  const patternParts = pattern.split('@')
  const parts = address.split('@')
  return (
    parts.length === 2 &&
    patternParts.length === 2 &&
    parts.every((part, index) => matchesGlob(patternParts[index] ?? '', part))
  )
}
