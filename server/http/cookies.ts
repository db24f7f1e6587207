import { parseCookieHeader } from '@drawbridge/shared/session-cookie/cookie-header.ts'
import { generateCookie } from 'hono/cookie'
import { knownSeconds } from '../core/sign-in/device-cookie.ts'

const hourInSeconds = 3600
const dayInSeconds = 24 * hourInSeconds

/** A cookie for this host only. Its content must be sealed or random: nothing else proves its origin. */
interface HostCookie {
  /** Undefined without a well-formed one. */
  read(request: Request): string | undefined
  /** Reads it from the text of a `Cookie` header. */
  readFrom(cookieHeader: string | undefined): string | undefined
  /** Returns a `Set-Cookie` value. */
  write(value: string): string
  /** Returns a `Set-Cookie` value that deletes it. */
  clear(): string
}

export interface LoginCookies {
  /** Ties forms to one browser; one value serves all its tabs. */
  csrf: HostCookie
  /** Lists the accounts that signed in with this browser before. */
  device: HostCookie
  /** What was last chosen for each client. */
  choices: HostCookie
  /** The session of a user managing their connections. */
  account: HostCookie
}

/** Creates the cookies of sign-in. Over https each is bound to its host. */
export function createLoginCookies(baseUrl: string): LoginCookies {
  return {
    csrf: createHostCookie(baseUrl, 'browser', dayInSeconds, /^[A-Za-z0-9_-]{43}$/),
    device: createHostCookie(baseUrl, 'known', knownSeconds),
    choices: createHostCookie(baseUrl, 'choices', knownSeconds),
    account: createHostCookie(baseUrl, 'account', hourInSeconds),
  }
}

/**
 * Creates the cookie `drawbridge-LABEL` for a base URL: with the `__Host-` prefix where https allows it, so that no other host of
 * the domain can plant one, and not readable by scripts. Lax, not Strict: browsers return from a social provider by a cross-site
 * redirect.
 */
function createHostCookie(
  baseUrl: string,
  label: string,
  maxAge: number,
  valuePattern: RegExp = /^/,
): HostCookie {
  const secure = baseUrl.startsWith('https:')
  const name = `${secure ? '__Host-' : ''}drawbridge-${label}`
  const attributes = { path: '/', httpOnly: true, sameSite: 'Lax', secure } as const
  const readFrom = (cookieHeader: string | undefined): string | undefined => {
    const value = parseCookieHeader(cookieHeader ?? '').find((cookie) => cookie.name === name)?.value
    return value !== undefined && valuePattern.test(value) ? value : undefined
  }
  return {
    read: (request) => readFrom(request.headers.get('cookie') ?? undefined),
    readFrom,
    write: (value) => generateCookie(name, value, { ...attributes, maxAge }),
    clear: () => generateCookie(name, '', { ...attributes, maxAge: 0 }),
  }
}
