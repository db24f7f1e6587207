/** The first six and the last four characters of a token; of a short one nothing. */
export function maskToken(token: string): string {
  return token.length < 40 ? '…' : `${token.slice(0, 6)}…${token.slice(-4)}`
}
