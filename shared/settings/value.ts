import { isLoopbackHostname } from '../oauth/redirect-uri.ts'
import { isUrl } from '../url.ts'

/** Accepts any text but an empty one. */
export function parseText(text: string): string {
  if (text.trim() === '') throw new TypeError('expected a value that is not empty')
  return text
}

/** Parses a token or key for an HTTP header. Drops a copied line end. */
export function parseToken(text: string): string {
  const token = text.trim()
  if (!/^[\x21-\x7E]+$/.test(token)) throw new TypeError('expected text without spaces and line ends')
  return token
}

/** Parses `on` or `off`; also `true`, `false`, `1` and `0`, as often used in variables. */
export function parseSwitch(text: string): boolean {
  if (/^(?:on|true|1)$/i.test(text)) return true
  if (/^(?:off|false|0)$/i.test(text)) return false
  throw new TypeError('expected on or off')
}

/** Returns the parser and choices of a setting limited to `values`. */
export function oneOf<Value extends string>(
  ...values: readonly Value[]
): { choices: readonly Value[]; parse: (text: string) => Value } {
  return {
    choices: values,
    parse(text) {
      const found = values.find((value) => value === text)
      if (!found) throw new TypeError(`expected ${values.join(', ').replace(/, ([^,]*)$/, ' or $1')}`)
      return found
    },
  }
}

const msPerUnit: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

/** Limits for durations. */
export interface DurationRange {
  /** Unit of the parsed number; only whole multiples are accepted. */
  unitMs: number
  /** Maximum, as a user would write it: `24h`. */
  max: string
  examples: string
}

/**
 * Creates a parser for durations of at least one unit: a number of seconds, or a number with its unit, such as
 * `500ms` or `30d`.
 */
export function durationParser({ unitMs, max, examples }: DurationRange): (text: string) => number {
  const maxMs = parseMs(max) ?? 0
  return (text) => {
    const ms = parseMs(text)
    if (ms === undefined || ms < unitMs || ms > maxMs || ms % unitMs !== 0) {
      throw new TypeError(`expected seconds, or a number with a unit, such as ${examples}, up to ${max}`)
    }
    return ms / unitMs
  }
}

function parseMs(text: string): number | undefined {
  const [, number, unit = 's'] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|[smhd])?$/.exec(text) ?? []
  return number === undefined ? undefined : Math.round(Number(number) * (msPerUnit[unit] ?? 1))
}

/** Splits comma-separated values and trims them. */
export function parseList(text: string): string[] {
  return splitAt(text, ',')
}

/** Splits at a separator, trims the parts and drops empty ones. */
export function splitAt(text: string, separator: string): string[] {
  return text
    .split(separator)
    .map((part) => part.trim())
    .filter(Boolean)
}

/** Parses an absolute http or https URL; undefined for any other text. */
export function webUrl(text: string): URL | undefined {
  return /^https?:\/\/\S+$/i.test(text) && isUrl(text) ? new URL(text) : undefined
}

/** Returns whether requests to `url` cannot be intercepted: https, or plain http on this machine. */
export function isSecureUrl({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && isLoopbackHostname(hostname))
}
