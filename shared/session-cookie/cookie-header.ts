/** A cookie as in a header or in a browser's cookie API: the value is still percent-encoded, perhaps quoted. */
export interface WireCookie {
  name: string
  value: string
}

/**
 * Splits a `Cookie` header into its pairs (RFC 6265 section 4.2.1), duplicates and order kept, values
 * untouched. Text without `=` is skipped. A list and not an object, because a browser can send a name twice
 * and a cookie can be called `__proto__`.
 */
export function parseCookieHeader(header: string): WireCookie[] {
  return header.split(';').flatMap((pair) => {
    const equals = pair.indexOf('=')
    return equals === -1 ? [] : [{ name: trim(pair.slice(0, equals)), value: trim(pair.slice(equals + 1)) }]
  })
}

/** Removes spaces and tabs only: other white space is part of a (broken) value. No pattern, to stay linear. */
function trim(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && isSpaceOrTab(text[start])) start++
  while (end > start && isSpaceOrTab(text[end - 1])) end--
  return text.slice(start, end)
}

function isSpaceOrTab(character: string | undefined): boolean {
  return character === ' ' || character === '\t'
}
