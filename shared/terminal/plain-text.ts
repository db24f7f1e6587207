const maxCharacters = 1000

/**
 * Text of others as it may stand on a terminal: what is not seen - control characters, with which escape sequences begin,
 * line ends, and what turns the direction of writing - is written as in JSON. Cut when it is long.
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
