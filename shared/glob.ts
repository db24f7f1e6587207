/** Returns whether `pattern`, in which `*` matches any characters, matches all of `text`. Takes time proportional to both lengths. */
export function matchesGlob(pattern: string, text: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  const last = rest.pop()
  if (last === undefined) return text === pattern
  if (!text.startsWith(first)) return false
  let from = first.length
  for (const literal of rest) {
    const at = text.indexOf(literal, from)
    if (at === -1) return false
    from = at + literal.length
  }
  return from + last.length <= text.length && text.endsWith(last)
}
