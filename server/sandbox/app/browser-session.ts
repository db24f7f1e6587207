import { decodeBase64url, decodeUtf8 } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { parseCookieHeader, type WireCookie } from '@drawbridge/shared/session-cookie/cookie-header.ts'
import {
  readSessionCookie,
  staleSessionCookies,
  writeSessionCookies,
} from '@drawbridge/shared/session-cookie/session-cookie.ts'
import type { AuthClient, ProviderSession, User } from './auth-client.ts'

/** Four hundred days, the longest life browsers grant; the library writes the same. */
const COOKIE_SECONDS = 34_560_000

/** Who looks at a page, and the cookies that the answer must set because the session was refreshed or has ended. */
export type Visitor =
  | { kind: 'user'; user: User; accessToken: string; setCookies: string[] }
  | { kind: 'nobody'; setCookies: string[] }
  /** The provider does not answer. The session is kept: it may be fine. */
  | { kind: 'unknown' }

/** The session cookie of the app, laid out exactly as the vendor's server-side library lays it out. */
export interface BrowserSessions {
  visitor(request: Request): Promise<Visitor>
  /** `Set-Cookie` values that sign the browser in, and remove what an earlier session left. */
  signIn(request: Request, session: ProviderSession): string[]
  /** Ends the session at the provider and returns the `Set-Cookie` values that remove it. */
  signOut(request: Request): Promise<string[]>
}

/** Sessions in cookies named `cookieName`, refreshed at the provider when their token has expired. */
export function createBrowserSessions(
  config: { cookieName: string; secure: boolean },
  ports: { auth: AuthClient; runtime: Pick<Runtime, 'now'> },
): BrowserSessions {
  const name = config.cookieName
  const attributes = `Path=/; SameSite=Lax${config.secure ? '; Secure' : ''}`

  function replace(request: Request, session: ProviderSession | undefined): string[] {
    const present = cookiesOf(request).map((cookie) => cookie.name)
    const written = session === undefined ? [] : writeSessionCookies(session, { name })
    // No HttpOnly: the vendor's library writes it so, because its code in the page reads the session too.
    return [
      ...staleSessionCookies(present, written, { name }).map(
        (stale) => `${stale}=; Max-Age=0; ${attributes}`,
      ),
      ...written.map((cookie) => `${cookie.name}=${cookie.value}; Max-Age=${COOKIE_SECONDS}; ${attributes}`),
    ]
  }

  async function refresh(request: Request): Promise<Visitor> {
    const refreshToken = readRefreshToken(cookiesOf(request), name)
    if (refreshToken === undefined) return { kind: 'nobody', setCookies: replace(request, undefined) }
    const refreshed = await ports.auth.refresh(refreshToken)
    if (refreshed.ok) {
      return identify(request, refreshed.value.access_token, replace(request, refreshed.value))
    }
    if (refreshed.fault.kind === 'unavailable') return { kind: 'unknown' }
    return { kind: 'nobody', setCookies: replace(request, undefined) }
  }

  async function identify(request: Request, accessToken: string, setCookies: string[]): Promise<Visitor> {
    const found = await ports.auth.user(accessToken)
    if (found.ok) return { kind: 'user', user: found.value, accessToken, setCookies }
    if (found.fault.kind === 'unavailable') return { kind: 'unknown' }
    return { kind: 'nobody', setCookies: replace(request, undefined) }
  }

  async function visitor(request: Request): Promise<Visitor> {
    const reading = readSessionCookie(cookiesOf(request), { name, now: ports.runtime.now() })
    if (reading.kind === 'absent') return { kind: 'nobody', setCookies: [] }
    if (reading.kind === 'invalid') return { kind: 'nobody', setCookies: replace(request, undefined) }
    return reading.expired ? refresh(request) : identify(request, reading.accessToken, [])
  }

  return {
    visitor,
    signIn: replace,
    async signOut(request) {
      const current = await visitor(request)
      if (current.kind === 'user') await ports.auth.signOut(current.accessToken)
      return replace(request, undefined)
    },
  }
}

function cookiesOf(request: Request): WireCookie[] {
  return parseCookieHeader(request.headers.get('cookie') ?? '')
}

/**
 * The refresh token of the app's own cookie. The shared reader withholds it on purpose: whoever does not own the
 * session must not refresh it. So only the layout that this app writes is understood here.
 */
function readRefreshToken(cookies: readonly WireCookie[], name: string): string | undefined {
  const value = joinCookie(cookies, name)
  const bytes = value.startsWith('base64-') ? decodeBase64url(value.slice('base64-'.length)) : undefined
  if (bytes === undefined) return undefined
  try {
    const session: unknown = JSON.parse(decodeUtf8(bytes) ?? '')
    const isSession = typeof session === 'object' && session !== null && 'refresh_token' in session
    return isSession && typeof session.refresh_token === 'string' ? session.refresh_token : undefined
  } catch {
    return undefined
  }
}

function joinCookie(cookies: readonly WireCookie[], name: string): string {
  const values = new Map(cookies.map((cookie) => [cookie.name, cookie.value]))
  const whole = values.get(name)
  if (whole !== undefined) return whole
  let joined = ''
  for (let index = 0; values.has(`${name}.${index}`); index++) joined += values.get(`${name}.${index}`) ?? ''
  return joined
}
