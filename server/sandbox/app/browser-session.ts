import { decodeBase64url, decodeUtf8 } from '@drawbridge/shared/base64url.ts'
import { parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { parseCookieHeader, type WireCookie } from '@drawbridge/shared/session-cookie/cookie-header.ts'
import { isSessionCookieName } from '@drawbridge/shared/session-cookie/session-cookie-name.ts'
import {
  readSessionCookie,
  staleSessionCookies,
  writeSessionCookies,
} from '@drawbridge/shared/session-cookie/session-cookie.ts'
import type { Context } from 'hono'
import { deleteCookie, setCookie } from 'hono/cookie'
import { refresh } from '../provider/api/auth-api.ts'
import { type AuthServices, type SessionBody, sessionOf } from '../provider/auth-services.ts'
import { AuthError } from '../provider/auth-error.ts'

/** Four hundred days, the longest life browsers allow; the vendor's library uses the same. */
const cookieSeconds = 34_560_000

type Visitor = Awaited<ReturnType<typeof sessionOf>> & { accessToken: string }

/** Sessions in the app's cookie, in exactly the layout of the vendor's server-side library. */
export class BrowserSessions {
  readonly #name: string
  readonly #services: AuthServices

  constructor(cookieName: string, services: AuthServices) {
    this.#name = cookieName
    this.#services = services
  }

  /**
   * Returns who sent the request; undefined without a session. Refreshes a session whose token has expired, and removes the cookies
   * of one that has ended.
   */
  async visitor(c: Context): Promise<Visitor | undefined> {
    const now = this.#services.runtime.now()
    const reading = readSessionCookie(cookiesOf(c), { name: this.#name, now })
    if (reading.kind === 'absent') return undefined
    try {
      if (reading.kind === 'session') {
        const accessToken = reading.expired ? await this.#refresh(c) : reading.accessToken
        return { ...(await sessionOf(this.#services, accessToken)), accessToken }
      }
    } catch (error) {
      if (!(error instanceof AuthError)) throw error
    }
    this.replace(c, undefined)
    return undefined
  }

  /** Ends the session at the provider and in the browser. */
  async signOut(c: Context): Promise<void> {
    const visitor = await this.visitor(c)
    if (visitor) this.#services.sessions.end(visitor.session.id)
    this.replace(c, undefined)
  }

  /** Signs the browser in to `session`, if there is one, and removes the cookies of an earlier one. */
  replace(c: Context, session: SessionBody | undefined): void {
    const name = this.#name
    const present = cookiesOf(c).map((cookie) => cookie.name)
    const written = session === undefined ? [] : writeSessionCookies(session, { name })
    for (const stale of staleSessionCookies(present, written, { name })) deleteCookie(c, stale)
    // No HttpOnly: the vendor's library omits it, because its code in the page reads the session too.
    for (const cookie of written) {
      setCookie(c, cookie.name, cookie.value, { maxAge: cookieSeconds, sameSite: 'Lax' })
    }
  }

  async #refresh(c: Context): Promise<string> {
    const { session } = await refresh(this.#services, readRefreshToken(cookiesOf(c), this.#name))
    this.replace(c, session)
    return session.access_token
  }
}

function cookiesOf(c: Context): WireCookie[] {
  return parseCookieHeader(c.req.header('cookie') ?? '')
}

/**
 * Reads the refresh token of the app's own cookie; empty if there is none. The shared reader withholds it on purpose: only the
 * session's owner may refresh it. So this reads only the layout that this app writes.
 */
function readRefreshToken(cookies: readonly WireCookie[], name: string): string {
  const value = cookies
    .filter((cookie) => isSessionCookieName(cookie.name, { name }))
    .toSorted((one, other) => one.name.localeCompare(other.name))
    .map((cookie) => cookie.value)
    .join('')
  const bytes = value.startsWith('base64-') ? decodeBase64url(value.slice('base64-'.length)) : undefined
  const token = bytes && parseJsonObject(decodeUtf8(bytes) ?? '')?.['refresh_token']
  return typeof token === 'string' ? token : ''
}
