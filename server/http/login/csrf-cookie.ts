import { parseCookieHeader } from '@drawbridge/shared/session-cookie/cookie-header.ts'
import type { BrowserBinding } from '../../core/sign-in/sign-in-transaction.ts'

const maxAgeSeconds = 24 * 3600

/** The cookie that ties login pages to one browser; one value serves all its tabs. */
export interface BindingCookie {
  read(request: Request): BrowserBinding | undefined
  /** `Set-Cookie` value. Lax, not Strict: the browser comes back from the social provider by a cross-site redirect. */
  write(binding: BrowserBinding): string
}

/** The {@link BindingCookie} for a base URL: with the `__Host-` prefix where https allows it. */
export function createBindingCookie(baseUrl: string): BindingCookie {
  const secure = baseUrl.startsWith('https:')
  const name = secure ? '__Host-drawbridge-browser' : 'drawbridge-browser'
  return {
    read(request) {
      const cookies = parseCookieHeader(request.headers.get('cookie') ?? '')
      const value = cookies.find((cookie) => cookie.name === name)?.value
      return value !== undefined && /^[A-Za-z0-9_-]{43}$/.test(value) ? value : undefined
    },
    write: (binding) =>
      `${name}=${binding}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`,
  }
}
