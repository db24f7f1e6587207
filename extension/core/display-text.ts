/** Returns the first six and the last four characters of a token; none of a short one. */
export function maskToken(token: string): string {
  return token.length < 40 ? '…' : `${token.slice(0, 6)}…${token.slice(-4)}`
}

/**
 * Makes foreign text safe to display: removes control characters, line ends and bidirectional marks, and cuts it to
 * `length` characters. It may still contain markup and must be shown as text.
 */
export function displayText(text: string, length = 200): string {
  const plain = text.replaceAll(/[\p{Cc}\u2028-\u202E\u2066-\u2069]/gu, '\uFFFD')
  return plain.length > length ? `${plain.slice(0, length)}…` : plain
}
