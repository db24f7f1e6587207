/** Parsed JSON, or the place of the error: `, line 3`, or nothing where the parser does not say. */
export type JsonReading = { kind: 'json'; value: unknown } | { kind: 'invalid'; place: string }

/** Parses JSON written by a user. Drops the parser's message, which quotes the text and so possibly a secret. */
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
