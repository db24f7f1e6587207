/** The first six and the last four characters of a token; of a short one nothing. */
export function maskToken(token: string): string {
  return token.length < 40 ? '…' : `${token.slice(0, 6)}…${token.slice(-4)}`
}

/**
 * Text of strangers, fit to be shown: without control characters, line ends and marks that turn the direction of what
 * follows, and cut to `length` characters. It may still hold markup: it must be shown as text.
 */
export function displayText(text: string, length = 200): string {
  const plain = text.replaceAll(/[\p{Cc}\u2028-\u202E\u2066-\u2069]/gu, '\uFFFD')
  return plain.length > length ? `${plain.slice(0, length)}…` : plain
}
