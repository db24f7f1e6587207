/** JSON text that was parsed, or where it is invalid: `, line 3`, or nothing where the parser does not say. */
export type JsonReading = { kind: 'json'; value: unknown } | { kind: 'invalid'; place: string }

/** Parses JSON that a person wrote. The parser's message is not repeated: it quotes the text, which may hold a secret. */
export function readJsonText(text: string): JsonReading {
  try {
    return { kind: 'json', value: JSON.parse(text) as unknown }
  } catch (error) {
    const { message } = error as Error
    const position =
      / at position (\d+)/.exec(message)?.[1] ?? (/end of JSON/.test(message) ? text.length : undefined)
    const place = position === undefined ? '' : `, line ${text.slice(0, Number(position)).split('\n').length}`
    return { kind: 'invalid', place }
  }
}
