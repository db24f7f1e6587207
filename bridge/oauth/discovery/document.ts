import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { retryAfterSeconds } from '../../http/retry-after.ts'
import { OAuthFailure } from '../login-port.ts'
import { type OAuthPorts, type ServerAnswer, exchangeJson } from '../server-exchange.ts'

/**
 * Whether the bridge may go to `url` because `from` said so: https, or plain http within this machine, or http anywhere
 * when the user allowed it. A server elsewhere cannot point the bridge at plain ports of this machine. No user
 * information, which a careless reader takes for the host.
 */
export function isSafeUrl(url: string, from: string, allowHttp: boolean): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, hostname, username, password } = new URL(url)
  if (username !== '' || password !== '') return false
  if (protocol === 'https:') return true
  if (protocol !== 'http:') return false
  return allowHttp || (isLoopbackHostname(hostname) && isLoopbackHostname(new URL(from).hostname))
}

/** Whether a resource that {@link coversServer} covers more than that server: a path above its own, or any query. */
export function coversMore(resource: string, serverUrl: string): boolean {
  const [covered, server] = [new URL(resource), new URL(serverUrl)]
  const pathOf = ({ pathname }: URL): string => pathname.replace(/\/$/, '')
  return pathOf(covered) !== pathOf(server) || covered.search !== server.search
}

/**
 * Whether tokens for `resource` are meant for the server that was asked: the same URL, or the origin or a whole part of
 * the path of it (RFC 9728 section 3.3, MCP 2026-07-28 authorization; the conformance suite takes the prefix too). A final
 * slash and the case of scheme and host make no difference; a query has to be the same where there is one.
 */
export function coversServer(resource: string, serverUrl: string): boolean {
  if (!URL.canParse(resource) || resource.includes('#')) return false
  const [covered, server] = [new URL(resource), new URL(serverUrl)]
  if (covered.username !== '' || covered.password !== '' || covered.origin !== server.origin) return false
  if (covered.search !== '' && covered.search !== server.search) return false
  const path = covered.pathname.replace(/\/$/, '')
  return server.pathname === path || server.pathname.startsWith(`${path}/`)
}

const maxRedirects = 3

/** A document, what is wrong with one that is there, or why it could not be had. */
type DocumentAttempt =
  | { place: string; document: unknown }
  | { place: string; fault: string }
  | { place: string; failure: OAuthFailure }

/**
 * The metadata documents at `places`, asked for one by one as far as the caller goes on. Left out are those that are not
 * there, which is what any answer below 500 means but JSON with status 200: web apps answer every path with a page, and
 * gateways with 401. What claims to be JSON and cannot be read has a `fault`. For 429 and 5xx there is a failure `unavailable`, because a server that is ill for a moment must not
 * look like one of another kind. Rejects with `NetworkError`. Not checked: what is in a document.
 */
export async function* fetchDocuments(
  places: Iterable<string>,
  options: { allowHttp: boolean; signal: AbortSignal },
  ports: OAuthPorts,
): AsyncGenerator<DocumentAttempt, void, undefined> {
  for (const place of places) {
    try {
      const found = await fetchDocument(place, options, ports)
      if (found !== undefined) yield { place, ...found }
    } catch (error) {
      if (!(error instanceof OAuthFailure)) throw error
      yield { place, failure: error }
    }
  }
}

async function fetchDocument(
  url: string,
  options: { allowHttp: boolean; signal: AbortSignal },
  { http, runtime }: OAuthPorts,
): Promise<{ document: unknown } | { fault: string } | undefined> {
  let place = url
  for (let redirects = 0; redirects <= maxRedirects; redirects++) {
    const headers = { accept: 'application/json' }
    const answer = await exchangeJson({ method: 'GET', url: place, headers }, http, options.signal)
    if (answer.status === 429 || answer.status >= 500) {
      const { origin, pathname } = new URL(place)
      throw new OAuthFailure('unavailable', `${origin}${pathname} answered with status ${answer.status}.`, {
        ...pauseOf(answer, runtime.now()),
      })
    }
    if (answer.status === 200) return documentOf(answer)
    const next = redirectTarget(answer.status, answer.headers['location'], place)
    if (next === undefined || !isSafeUrl(next, place, options.allowHttp)) return undefined
    place = next
  }
  return undefined
}

function documentOf({ json, headers }: ServerAnswer): { document: unknown } | { fault: string } | undefined {
  if (json !== undefined) return { document: json }
  const isJson = /^application\/(?:[\w.+-]+\+)?json\b/i.test(String(headers['content-type'] ?? ''))
  return isJson ? { fault: 'it is no valid JSON, or larger than 256 KB' } : undefined
}

function redirectTarget(
  status: number,
  location: string | string[] | undefined,
  from: string,
): string | undefined {
  if (![301, 302, 303, 307, 308].includes(status) || typeof location !== 'string') return undefined
  return URL.canParse(location, from) ? new URL(location, from).href : undefined
}

function pauseOf({ headers }: ServerAnswer, now: number): { retryAfterSeconds?: number } {
  const seconds = retryAfterSeconds(headers, now)
  return seconds === undefined ? {} : { retryAfterSeconds: seconds }
}
