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

/** Text of this length does not occur by chance. */
const minAnywhere = 8
/** Shorter text is part of many sentences. */
const minWord = 4

/**
 * Replaces each of `secrets` in a text with `mark`: one of eight characters or more anywhere; a shorter one, which may
 * be part of ordinary words, only where it stands alone; one of three or fewer, which may be a word, only as a value:
 * after `=`, a quote, or a name such as `client_secret:`.
 */
export function redactSecrets(text: string, secrets: readonly string[], mark: string): string {
  // Longest first, since one may be part of another.
  const ordered = [...new Set(secrets)].filter((secret) => secret !== '').sort((a, b) => b.length - a.length)
  return ordered.reduce((rest, secret) => rest.replaceAll(patternOf(secret), () => mark), text)
}

function patternOf(secret: string): string | RegExp {
  if (secret.length >= minAnywhere) return secret
  const letter = String.raw`[\p{L}\p{N}_]`
  // %3D ends with a letter, but stands for a sign. A secret that begins with a sign needs no other in front of it.
  const wordStart = new RegExp(`^${letter}`, 'u').test(secret)
    ? `(?:(?<!${letter})|(?<=%[\\dA-Fa-f]{2}))`
    : ''
  const valueStart = String.raw`(?<=[="'\x60]|%3D|(?:secret|password|token|key)["'\x60]?:\s*)`
  const before = secret.length >= minWord ? wordStart : valueStart
  const after = new RegExp(`${letter}$`, 'u').test(secret) ? `(?!${letter})` : ''
  return new RegExp(`${before}${secret.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)}${after}`, 'gu')
}
