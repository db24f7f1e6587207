import { decodeBase64url, decodeUtf8 } from '@drawbridge/shared/base64url.ts'
import { parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { parseCookieHeader, type WireCookie } from '@drawbridge/shared/session-cookie/cookie-header.ts'
import { isSessionCookieName } from '@drawbridge/shared/session-cookie/session-cookie-name.ts'
import {
  readSessionCookie,
  staleSessionCookies,
  writeSessionCookies,
} from '@drawbridge/shared/session-cookie/session-cookie.ts'
import { refresh } from '../provider/api/auth-api.ts'
import { type AuthServices, type SessionBody, sessionOf } from '../provider/auth-services.ts'
import { AuthError } from '../provider/auth-error.ts'

/** Four hundred days, the longest life browsers allow; the vendor's library uses the same. */
const cookieSeconds = 34_560_000

const attributes = 'Path=/; SameSite=Lax'

/** The visitor of a page, and the cookies to set because the session was refreshed or has ended. */
export type Visitor =
  | { kind: 'user'; user: { id: string; email: string }; sessionId: string; setCookies: string[] }
  | { kind: 'nobody'; setCookies: string[] }

/** Sessions in the app's cookie, in exactly the layout of the vendor's server-side library. */
export class BrowserSessions {
  readonly #name: string
  readonly #services: AuthServices

  constructor(cookieName: string, services: AuthServices) {
    this.#name = cookieName
    this.#services = services
  }

  /** Finds the user who sent the request. Refreshes the session if its token has expired. */
  async visitor(request: Request): Promise<Visitor> {
    const reading = readSessionCookie(cookiesOf(request), {
      name: this.#name,
      now: this.#services.runtime.now(),
    })
    if (reading.kind === 'absent') return { kind: 'nobody', setCookies: [] }
    if (reading.kind === 'invalid') return this.#nobody(request)
    try {
      return reading.expired ? await this.#refresh(request) : await this.#identify(reading.accessToken, [])
    } catch (error) {
      if (error instanceof AuthError) return this.#nobody(request)
      throw error
    }
  }

  /** Ends the session at the provider and returns the `Set-Cookie` values that remove it. */
  async signOut(request: Request): Promise<string[]> {
    const current = await this.visitor(request)
    if (current.kind === 'user') this.#services.sessions.end(current.sessionId)
    return this.replace(request, undefined)
  }

  /** Returns the `Set-Cookie` values that sign the browser in to `session`, if there is one, and remove an earlier session's. */
  replace(request: Request, session: SessionBody | undefined): string[] {
    const name = this.#name
    const present = cookiesOf(request).map((cookie) => cookie.name)
    const written = session === undefined ? [] : writeSessionCookies(session, { name })
    // No HttpOnly: the vendor's library omits it, because its code in the page reads the session too.
    return [
      ...staleSessionCookies(present, written, { name }).map(
        (stale) => `${stale}=; Max-Age=0; ${attributes}`,
      ),
      ...written.map((cookie) => `${cookie.name}=${cookie.value}; Max-Age=${cookieSeconds}; ${attributes}`),
    ]
  }

  async #refresh(request: Request): Promise<Visitor> {
    const refreshToken = readRefreshToken(cookiesOf(request), this.#name)
    if (refreshToken === undefined) return this.#nobody(request)
    const { session } = await refresh(this.#services, refreshToken)
    return this.#identify(session.access_token, this.replace(request, session))
  }

  async #identify(accessToken: string, setCookies: string[]): Promise<Visitor> {
    const { account, session } = await sessionOf(this.#services, accessToken)
    return { kind: 'user', user: account, sessionId: session.id, setCookies }
  }

  #nobody(request: Request): Visitor {
    return { kind: 'nobody', setCookies: this.replace(request, undefined) }
  }
}

function cookiesOf(request: Request): WireCookie[] {
  return parseCookieHeader(request.headers.get('cookie') ?? '')
}

/**
 * Reads the refresh token of the app's own cookie. The shared reader withholds it on purpose: only the session's owner may refresh
 * it. So this reads only the layout that this app writes.
 */
function readRefreshToken(cookies: readonly WireCookie[], name: string): string | undefined {
  const value = cookies
    .filter((cookie) => isSessionCookieName(cookie.name, { name }))
    .toSorted((one, other) => one.name.localeCompare(other.name))
    .map((cookie) => cookie.value)
    .join('')
  const bytes = value.startsWith('base64-') ? decodeBase64url(value.slice('base64-'.length)) : undefined
  const token = bytes && parseJsonObject(decodeUtf8(bytes) ?? '')?.['refresh_token']
  return typeof token === 'string' ? token : undefined
}
