const maxCharacters = 300

/**
 * Text of a server as it may stand in a message: a JSON string of printable ASCII, cut when it is long. So that no server
 * writes escape sequences to a terminal, or sentences that look like ours.
 */
export function quoteServerText(text: string): string {
  const cut = text.length > maxCharacters ? `${text.slice(0, maxCharacters)}...` : text
  return JSON.stringify(cut).replaceAll(
    /[^\x20-\x7E]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** The error code of a server and what it says about it, as they may stand in a message. */
export function quoteServerError(error: string, description: string | undefined): string {
  const code = /^[a-z0-9_.-]{1,64}$/i.test(error) ? error : quoteServerText(error)
  return description === undefined ? code : `${code}: ${quoteServerText(description)}`
}

/** From here on a text is found nowhere by chance. */
const minAnywhere = 8

/** What is shorter is a word of many texts, or a number in them. */
const minWord = 4

const letter = String.raw`[\p{L}\p{N}_]`

/** No letter in front; what is written as %3D ends with one, and is a sign. */
const wordStart = `(?:(?<!${letter})|(?<=%[\\dA-Fa-f]{2}))`

/** In a form, in quotes, or behind a name with a colon. */
const valueStart = String.raw`(?<=[="'\x60]|%3D|(?:secret|password|token|key)["'\x60]?:\s*)`

/**
 * A text with `mark` in place of each of `secrets`. One of eight characters or more is found wherever it stands; a shorter one,
 * which is a part of ordinary words, where it stands by itself; and one of three or less only where it is a whole value: of a
 * form, in quotes, or behind a name such as client_secret. So no text is spoilt, and no secret worth the name is shown.
 */
export function redactSecrets(text: string, secrets: readonly string[], mark: string): string {
  // The longest first: one may be a part of another.
  const ordered = [...new Set(secrets)].filter((secret) => secret !== '').sort((a, b) => b.length - a.length)
  return ordered.reduce(
    (rest, secret) =>
      secret.length >= minAnywhere
        ? rest.replaceAll(secret, () => mark)
        : rest.replaceAll(shortPattern(secret), () => mark),
    text,
  )
}

function shortPattern(secret: string): RegExp {
  const isWord = secret.length >= minWord
  // A secret that begins with a sign needs none in front of it.
  const before = isWord ? (new RegExp(`^${letter}`, 'u').test(secret) ? wordStart : '') : valueStart
  const after = new RegExp(`${letter}$`, 'u').test(secret) ? `(?!${letter})` : ''
  return new RegExp(`${before}${secret.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`)}${after}`, 'gu')
}
