/** One challenge of a `WWW-Authenticate` header. Scheme and parameter names are lower-cased, values are not. */
export interface AuthenticateChallenge {
  scheme: string
  params: Map<string, string>
}

/** The content of a bearer challenge. `error` is for requests that sent a credential (RFC 6750 section 3.1). */
export interface BearerChallenge {
  /** URL of the protected resource metadata (RFC 9728 section 5.1). */
  resourceMetadata: string
  /** Space-separated scopes the operation needs (MCP 2026-07-28 authorization, scope selection). */
  scope?: string | undefined
  error?: string | undefined
  errorDescription?: string | undefined
}

/** Builds the value of a `WWW-Authenticate` header (RFC 6750 section 3, RFC 9728 section 5.1). */
export function bearerChallenge(challenge: BearerChallenge): string {
  const params: [string, string | undefined][] = [
    ['resource_metadata', challenge.resourceMetadata],
    ['scope', challenge.scope],
    ['error', challenge.error],
    ['error_description', challenge.errorDescription],
  ]
  const written = params.flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${quote(value)}`]))
  return `Bearer ${written.join(', ')}`
}

/**
 * Reads all challenges of a `WWW-Authenticate` header, also several in one value (RFC 9110 sections 11.2 to
 * 11.6.1). Skips a token68, uses the first of repeated parameters, and skips invalid text up to the next comma. Never throws;
 * takes time linear in the length of the header.
 */
export function parseWwwAuthenticate(header: string): AuthenticateChallenge[] {
  const challenges: AuthenticateChallenge[] = []
  const reader = new HeaderReader(header)
  while (!reader.atEnd()) {
    readElement(reader, challenges)
    reader.skipPast(',')
  }
  return challenges
}

/** One comma-separated element: a scheme, a scheme with its first parameter, or a further parameter. */
function readElement(reader: HeaderReader, challenges: AuthenticateChallenge[]): void {
  reader.take(optionalSpace)
  const current = challenges.at(-1)
  if (current !== undefined && readParameter(reader, current.params)) return
  const scheme = reader.take(token)
  if (scheme === undefined || !reader.follows(schemeEnd)) return
  const params = new Map<string, string>()
  challenges.push({ scheme: scheme.toLowerCase(), params })
  reader.take(optionalSpace)
  // A token68 is not a parameter: its equals signs come last, with no value after them.
  readParameter(reader, params)
}

function readParameter(reader: HeaderReader, params: Map<string, string>): boolean {
  const start = reader.take(parameterStart)
  if (start === undefined) return false
  const value = reader.take(quotedString)?.slice(1, -1).replaceAll(/\\(.)/gs, '$1') ?? reader.take(token)
  const name = start.slice(0, start.search(/[ \t=]/)).toLowerCase()
  if (value !== undefined && !params.has(name)) params.set(name, value)
  return true
}

const optionalSpace = /[ \t]*/y
const token = /[!#$%&'*+\-.^_`|~0-9A-Za-z]+/y
const schemeEnd = /[ \t]*(?:,|$)|[ \t]/y
const parameterStart = /[!#$%&'*+\-.^_`|~0-9A-Za-z]+[ \t]*=[ \t]*/y
const quotedString = /"[^"\\]*(?:\\.[^"\\]*)*"/sy

class HeaderReader {
  readonly #text: string
  #position = 0

  constructor(text: string) {
    this.#text = text
  }

  atEnd(): boolean {
    return this.#position >= this.#text.length
  }

  follows(pattern: RegExp): boolean {
    pattern.lastIndex = this.#position
    return pattern.test(this.#text)
  }

  take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#position
    const found = pattern.exec(this.#text)?.[0]
    this.#position += found?.length ?? 0
    return found
  }

  skipPast(character: string): void {
    const index = this.#text.indexOf(character, this.#position)
    this.#position = index === -1 ? this.#text.length : index + 1
  }
}

/** Replaces line ends, which could split the response, and non-ASCII, which a header value cannot contain. */
function quote(value: string): string {
  return `"${value.replaceAll(/[^\x20-\x7E]/g, '?').replaceAll(/["\\]/g, String.raw`\$&`)}"`
}
