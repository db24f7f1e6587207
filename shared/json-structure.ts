const [quote, backslash, colon] = [0x22, 0x5c, 0x3a]
const opening = new Set([0x5b, 0x7b])
const closing = new Set([0x5d, 0x7d])

/**
 * Whether arrays and objects in JSON text are nested deeper than `maxDepth`: `[[]]` is two deep. Does not check that
 * the text is valid JSON; for other text the result means nothing.
 */
export function isDeeperThan(maxDepth: number, text: string): boolean {
  let depth = 0
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    if (code === quote) index = endOfString(text, index)
    else if (closing.has(code)) depth -= 1
    else if (opening.has(code)) {
      depth += 1
      if (depth > maxDepth) return true
    }
  }
  return false
}

/**
 * Whether an object in JSON text names a member twice, of which `value`, the text as parsed, has only the last (RFC 8259 section 4).
 * For a value of limited depth only.
 */
export function hasRepeatedMember(text: string, value: unknown): boolean {
  let members = 0
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    if (code === quote) index = endOfString(text, index)
    else if (code === colon) members += 1
  }
  return members !== countMembers(value)
}

function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const inside = Object.values(value).reduce<number>((sum, each) => sum + countMembers(each), 0)
  return Array.isArray(value) ? inside : inside + Object.keys(value).length
}

/** Index of the quote that ends the string which begins at `start`, or the length of the text. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end
    while (text.charCodeAt(before - 1) === backslash) before -= 1
    if ((end - before) % 2 === 0) return end
  }
  return text.length
}
