const maxCharacters = 1000

/**
 * Makes foreign text safe for a terminal: writes control characters, which begin escape sequences, line ends and
 * bidirectional marks as JSON escapes. Cuts long text.
 */
export function plainText(text: string): string {
  const cut = text.length > maxCharacters ? `${text.slice(0, maxCharacters)}...` : text
  return cut.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) =>
    Array.from({ length: character.length }, (_, index) => escaped(character.charCodeAt(index))).join(''),
  )
}

function escaped(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`
}
