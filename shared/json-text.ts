/** Parsed JSON, or the place of the error: `, line 3`, or nothing where the parser does not say. */
export type JsonReading = { kind: 'json'; value: unknown } | { kind: 'invalid'; place: string }

/**
 * Returns a value as JSON in which no character moves a terminal: `JSON.stringify` leaves controls of C1, bidirectional marks and
 * line separators as they are. A parser reads the same value.
 */
export function jsonForTerminal(value: unknown): string {
  return JSON.stringify(value).replaceAll(
    /[\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

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
