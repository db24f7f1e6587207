import type { HttpRequest, HttpResponse } from './http-client.ts'

/**
 * The cookies of one server, for load balancers with sticky sessions. Kept in memory, and sent only to the origin that set them.
 * `Domain`, `Path` and `Secure` are ignored: the bridge calls a single URL.
 */
export class CookieJar {
  readonly #cookies = new Map<string, { value: string; expiresAt: number }>()

  /** Returns the headers with the cookies added to an existing `Cookie` header. `now` is in epoch seconds. */
  withCookies(headers: HttpRequest['headers'], now: number): HttpRequest['headers'] {
    const pairs = [...this.#cookies].filter(([, { expiresAt }]) => expiresAt > now)
    if (pairs.length === 0) return headers
    const own = Object.keys(headers).find((name) => name.toLowerCase() === 'cookie')
    const given = own === undefined ? [] : [headers[own]]
    const text = [...given, ...pairs.map(([name, { value }]) => `${name}=${value}`)].join('; ')
    return { ...headers, [own ?? 'Cookie']: text }
  }

  /** Stores the cookies of a response. A server that sets too many loses its oldest. */
  store({ headers }: Pick<HttpResponse, 'headers'>, now: number): void {
    for (const line of [headers['set-cookie'] ?? []].flat()) {
      const [, name = '', value = '', attributes = ''] = setCookie.exec(line) ?? []
      if (name === '' || name.length + value.length > maxCharacters) continue
      this.#cookies.delete(name)
      const expiresAt = expiryOf(attributes, now)
      if (expiresAt > now) this.#cookies.set(name, { value, expiresAt })
      const [oldest] = this.#cookies.keys()
      if (this.#cookies.size > maxCookies && oldest !== undefined) this.#cookies.delete(oldest)
    }
  }
}

const maxCookies = 50

/** The limit of browsers. More would only fill the head of the request. */
const maxCharacters = 4096

/** A name, a value and the attributes (RFC 6265 section 5.2), with no character that must not come back in a header. */
const setCookie = /^ *([\x21-\x3A\x3C\x3E-\x7E]+) *= *([\x20-\x3A\x3C-\x7E]*?) *(;.*)?$/

/** Epoch seconds; `Max-Age` wins, wherever it stands (RFC 6265 section 5.3). */
function expiryOf(attributes: string, now: number): number {
  const [, maxAge] = /; *max-age *= *(-?\d+) *(?:;|$)/i.exec(attributes) ?? []
  if (maxAge !== undefined) return now + Number(maxAge)
  const [, expires = ''] = /; *expires *= *([^;]+)/i.exec(attributes) ?? []
  const ms = Date.parse(expires)
  return Number.isNaN(ms) ? Infinity : Math.floor(ms / 1000)
}
