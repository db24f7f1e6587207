import { isLoopbackHostname } from '../oauth/redirect-uri.ts'

/** Any text but an empty one. */
export function parseText(text: string): string {
  if (text.trim() === '') throw new TypeError('expected a value that is not empty')
  return text
}

/** A token or key as it may stand in an HTTP header. A line end that was copied along is dropped. */
export function parseToken(text: string): string {
  const token = text.trim()
  if (!/^[\x21-\x7E]+$/.test(token)) throw new TypeError('expected text without spaces and line ends')
  return token
}

/** `on` or `off`; also `true`, `false`, `1` and `0`, as people write in variables. */
export function parseSwitch(text: string): boolean {
  if (/^(?:on|true|1)$/i.test(text)) return true
  if (/^(?:off|false|0)$/i.test(text)) return false
  throw new TypeError('expected on or off')
}

/** The parser and choices of a setting that can only be one of `values`. */
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

/** What durations of a program may be. */
export interface DurationRange {
  /** The unit of the parsed number. Nothing between two of them is accepted. */
  unitMs: number
  /** The longest, as it would be written: `24h`. */
  max: string
  examples: string
}

/** A parser of durations of at least one unit: a number of seconds, or a number with its unit, such as `500ms` or `30d`. */
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

/** Comma-separated values; spaces around them are dropped. */
export function parseList(text: string): string[] {
  return splitAt(text, ',')
}

/** The parts between separators, without spaces around them; empty ones are dropped. */
export function splitAt(text: string, separator: string): string[] {
  return text
    .split(separator)
    .map((part) => part.trim())
    .filter(Boolean)
}

/** An absolute http or https URL; undefined for any other text. */
export function webUrl(text: string): URL | undefined {
  return /^https?:\/\/\S+$/i.test(text) && URL.canParse(text) ? new URL(text) : undefined
}

/** Whether requests to `url` cannot be overheard: https, or plain http on this machine. */
export function isSecureUrl({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && isLoopbackHostname(hostname))
}
