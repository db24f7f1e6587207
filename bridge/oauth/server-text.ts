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
