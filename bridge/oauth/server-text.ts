const maxCharacters = 300

/** Quotes server text as JSON of printable ASCII, cut when long: no escape sequences, and nothing that imitates ours. */
export function quoteServerText(text: string): string {
  const cut = text.length > maxCharacters ? `${text.slice(0, maxCharacters)}...` : text
  return JSON.stringify(cut).replaceAll(
    /[^\x20-\x7E]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Quotes a server's error code and description for a message. */
export function quoteServerError(error: string, description: string | undefined): string {
  const code = /^[a-z0-9_.-]{1,64}$/i.test(error) ? error : quoteServerText(error)
  return description === undefined ? code : `${code}: ${quoteServerText(description)}`
}

/** Shorter texts are not secrets, and occur in many words. */
const minSecretLength = 4

/** Replaces each of `secrets` in a text with `mark`, wherever it stands. */
export function redactSecrets(text: string, secrets: readonly string[], mark: string): string {
  // Longest first, since one may be part of another.
  const ordered = [...new Set(secrets)]
    .filter(({ length }) => length >= minSecretLength)
    .sort((a, b) => b.length - a.length)
  return ordered.reduce((rest, secret) => rest.replaceAll(secret, () => mark), text)
}
