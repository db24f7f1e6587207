const [quote, backslash, colon] = [0x22, 0x5c, 0x3a]
const [openArray, closeArray, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d]

/** Size of a JSON text: `[[]]` is two levels deep and has two containers, `{"a":1}` has one member. */
export interface JsonStructure {
  depth: number
  /** Arrays and objects. */
  containers: number
  /** Members of all objects, including duplicates. */
  members: number
}

/**
 * Measures JSON text without parsing it, which is far cheaper and cannot overflow the stack. Does not check that the
 * text is valid JSON; the result is meaningless for other text.
 */
export function structureOf(text: string): JsonStructure {
  let [open, depth, containers, members] = [0, 0, 0, 0]
  for (let index = 0; index < text.length; index += 1) {
    switch (text.charCodeAt(index)) {
      case quote:
        index = endOfString(text, index)
        break
      case openArray:
      case openObject:
        containers += 1
        open += 1
        if (open > depth) depth = open
        break
      case closeArray:
      case closeObject:
        open -= 1
        break
      case colon:
        members += 1
    }
  }
  return { depth, containers, members }
}

/**
 * Counts the members of all objects in `value`, which must be of limited depth. Lower than in the text where an
 * object has duplicate names, of which only the last is kept (RFC 8259 section 4).
 */
export function countMembers(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const inside: readonly unknown[] = Array.isArray(value) ? value : Object.values(value)
  let members = Array.isArray(value) ? 0 : inside.length
  for (const each of inside) members += countMembers(each)
  return members
}

/** Returns the index of the quote that ends the string starting at `start`, or the length of the text. */
function endOfString(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let before = end
    while (text.charCodeAt(before - 1) === backslash) before -= 1
    if ((end - before) % 2 === 0) return end
  }
  return text.length
}
