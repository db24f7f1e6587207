import { isExactNumber, isJsonObject, type JsonObject } from './json-object.ts'

declare global {
  interface JSON {
    rawJSON?: (text: string) => object
    parse(
      text: string,
      reviver: (key: string, value: unknown, context: { source: string }) => unknown,
    ): unknown
  }
}

/**
 * Matches JSON with numbers that JavaScript may write otherwise: those with an exponent, 16 characters, or a zero at the end of their
 * fraction, tiny ones and -0. Others are too short to be rounded. Texts may look like that too.
 */
const oddNumber = /(?:^|[[:,\s])-?(?:[\d.]{16}|[\d.]+[eE]|\d+\.\d*0(?!\d)|0\.000000|(?<=-)0(?![.\d]))/

/**
 * Parses JSON that is going to be serialized again. A number that JavaScript would write otherwise (9007199254740993, 1.0, 1e400) becomes
 * an object that `JSON.stringify` writes as it came; {@link plainNumber} is its value. Throws for invalid JSON, and a `RangeError` where
 * such a number is nested too deeply. Node 20, which only the bridge runs on, cannot keep them.
 */
export function parseExactJson(text: string): unknown {
  const { rawJSON } = JSON
  if (!rawJSON || !hasOddNumber(text)) return JSON.parse(text)
  return JSON.parse(text, (_, value, { source }) =>
    typeof value === 'number' && String(value) !== source ? rawJSON(source) : value,
  )
}

/** False if each number in this JSON is one that JavaScript writes as it came. */
export function hasOddNumber(text: string): boolean {
  return oddNumber.test(text)
}

/** {@link parseExactJson} for text that must be a JSON object; `undefined` for anything else. */
export function parseExactObject(text: string): JsonObject | undefined {
  try {
    const value = parseExactJson(text)
    return isJsonObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** The value of a number that was kept as it came, rounded; any other value is returned as it is. */
export function plainNumber(value: unknown): unknown {
  return isExactNumber(value) ? Number(JSON.stringify(value)) : value
}

/** Compares two texts or numbers, which may have been kept as they came. */
export function isSameScalar(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other)
}
