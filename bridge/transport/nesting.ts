import { RemoteError } from './remote-leg.ts'

/** No schema and no result of anybody comes near it. */
const mostLevels = 1000

const quote = 0x22
const backslash = 0x5c

/**
 * Throws {@link RemoteError} `too_large` for JSON whose objects and lists are nested more than 1000 levels deep. It is read in no
 * time; to write it again, as a translation has to, takes minutes, or overflows the stack. The bytes must be valid JSON.
 */
export function refuseDeepNesting(json: Buffer): void {
  if (isNestedDeeply(json))
    throw new RemoteError(
      'too_large',
      `An answer of the server is nested more than ${mostLevels} levels deep.`,
    )
}

/** Whether the objects and lists of valid JSON are nested more than 1000 levels deep. */
export function isNestedDeeply(json: Buffer): boolean {
  // As many levels need as many brackets.
  if (json.length <= mostLevels) return false
  let levels = 0
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at] as number
    if (byte === quote) at = endOfString(json, at)
    // Both kinds of brackets differ by one bit.
    else if ((byte | 0x20) === 0x7b) {
      levels += 1
      if (levels > mostLevels) return true
    } else if ((byte | 0x20) === 0x7d) levels -= 1
  }
  return false
}

/** Where the quote is that closes the string which is opened there. */
function endOfString(json: Buffer, start: number): number {
  for (let at = json.indexOf(quote, start + 1); at !== -1; at = json.indexOf(quote, at + 1)) {
    let slashes = 0
    while (json[at - 1 - slashes] === backslash) slashes += 1
    if (slashes % 2 === 0) return at
  }
  return json.length
}
