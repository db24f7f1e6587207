import { parseCookieHeader } from '@drawbridge/shared/session-cookie/cookie-header.ts'

/** A cookie of this host alone. What it holds has to be sealed by whoever writes it: nothing else proves where it comes from. */
export interface HostCookie {
  /** As it came; undefined without one. */
  read(request: Request): string | undefined
  /** The same from the text of a `Cookie` header. */
  readFrom(cookieHeader: string | undefined): string | undefined
  /** `Set-Cookie` value. */
  write(value: string): string
  /** `Set-Cookie` value that takes it away. */
  clear(): string
}

/**
 * The cookie `drawbridge-LABEL` for a base URL: with the `__Host-` prefix where https allows it, so that no other host of
 * the domain can plant one, and out of reach of scripts. Lax, since browsers come back from a social provider by a cross-site
 * redirect.
 */
export function createHostCookie(baseUrl: string, label: string, maxAgeSeconds: number): HostCookie {
  const secure = baseUrl.startsWith('https:')
  const name = `${secure ? '__Host-' : ''}drawbridge-${label}`
  const written = (value: string, maxAge: number): string =>
    `${name}=${value}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
  const readFrom = (cookieHeader: string | undefined): string | undefined =>
    parseCookieHeader(cookieHeader ?? '').find((cookie) => cookie.name === name)?.value
  return {
    read: (request) => readFrom(request.headers.get('cookie') ?? undefined),
    readFrom,
    write: (value) => written(value, maxAgeSeconds),
    clear: () => written('', 0),
  }
}
