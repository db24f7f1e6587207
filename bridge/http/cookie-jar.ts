import { parseSetCookie } from './set-cookie.ts'
import type { StoredCookie } from './set-cookie.ts'
import type { HttpClient, HttpRequest, HttpResponse } from './http-client.ts'
import { isLoopbackHost } from './request-url.ts'

/** A server that sets more loses its oldest. */
const maxCookiesPerOrigin = 50

/**
 * A client that sends back the cookies it gets, for balancers that hold a session on one server by them. They are kept in
 * memory and belong to the exact origin that set them: `Domain` is not honoured, so that nothing reaches another host.
 * A `Cookie` header of the request itself comes first. `now` is in epoch seconds.
 */
export function withCookies(client: HttpClient, now: () => number = systemSeconds): HttpClient {
  const jar = new Map<string, StoredCookie[]>()
  let latest: URL | undefined
  let latestText = ''

  /** Nearly all requests are for the same URL. */
  function urlOf(text: string): URL | undefined {
    if (latest !== undefined && latestText === text) return latest
    if (!URL.canParse(text)) return undefined
    latest = new URL(text)
    latestText = text
    return latest
  }

  function withHeader(request: HttpRequest, url: URL): HttpRequest {
    if (jar.size === 0) return request
    const kept = (jar.get(url.origin) ?? []).filter((cookie) => !isExpired(cookie, now()))
    const sent = kept.filter((cookie) => isFor(cookie, url))
    if (sent.length === 0) return request
    const own = Object.keys(request.headers).find((name) => name.toLowerCase() === 'cookie')
    const pairs = sent
      .toSorted((one, other) => other.path.length - one.path.length)
      .map((cookie) => `${cookie.name}=${cookie.value}`)
    const value = [...(own === undefined ? [] : [request.headers[own]]), ...pairs].join('; ')
    return { ...request, headers: { ...request.headers, [own ?? 'Cookie']: value } }
  }

  function store(response: HttpResponse, url: URL): void {
    const lines = response.headers['set-cookie']
    if (lines === undefined) return
    let cookies = jar.get(url.origin) ?? []
    for (const line of typeof lines === 'string' ? [lines] : lines) {
      const cookie = parseSetCookie(line, url.pathname, now())
      if (cookie === undefined) continue
      cookies = cookies.filter((old) => old.name !== cookie.name || old.path !== cookie.path)
      if (!isExpired(cookie, now())) cookies.push(cookie)
    }
    jar.set(url.origin, cookies.slice(-maxCookiesPerOrigin))
  }

  return {
    async send(request) {
      const url = urlOf(request.url)
      if (url === undefined) return client.send(request)
      const response = await client.send(withHeader(request, url))
      store(response, url)
      return response
    },
    close: () => client.close(),
  }
}

function isExpired(cookie: StoredCookie, now: number): boolean {
  return cookie.expiresAt !== undefined && cookie.expiresAt <= now
}

function isFor(cookie: StoredCookie, url: URL): boolean {
  if (cookie.secure && url.protocol !== 'https:' && !isLoopbackHost(url.hostname)) return false
  const { path } = cookie
  if (!url.pathname.startsWith(path)) return false
  return path.endsWith('/') || url.pathname.length === path.length || url.pathname[path.length] === '/'
}

function systemSeconds(): number {
  return Math.floor(Date.now() / 1000)
}
