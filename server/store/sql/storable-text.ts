const escape = '\u0001'

/** Encodes NUL, which Postgres cannot store and which ends a text that SQLite returns to Node 22. {@link decodeText} is the inverse. */
export function encodeText(text: string): string {
  if (!text.includes('\0') && !text.includes(escape)) return text
  return text.replaceAll(escape, `${escape}1`).replaceAll('\0', `${escape}0`)
}

/** Inverse of {@link encodeText}. */
export function decodeText(stored: string): string {
  if (!stored.includes(escape)) return stored
  return stored.replaceAll(`${escape}0`, '\0').replaceAll(`${escape}1`, escape)
}
