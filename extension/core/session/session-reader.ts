import type { WireCookie } from '@drawbridge/shared/session-cookie/cookie-header.ts'
import {
  findSessionCookieNames,
  isSessionCookieName,
} from '@drawbridge/shared/session-cookie/session-cookie-name.ts'
import {
  type InvalidSessionReason,
  type SessionCookieReading,
  readSessionCookie,
} from '@drawbridge/shared/session-cookie/session-cookie.ts'
import { readJwt } from '@drawbridge/shared/oauth/jwt.ts'
import { displayText } from '../display-text.ts'
import { announcedServer } from '../server-address.ts'
import type { Browser, StoredCookie, Tab } from '../ports.ts'
import type { Profile } from '../profile.ts'
import { hostOf, originPatterns } from '../site.ts'

/** The source of a session. */
type SessionPlace = 'cookie' | 'partitioned-cookie' | 'local-storage'

/** A session as displayed in the popup: contains no secret except a revealed token. */
export interface SessionView {
  /** Stable while the popup is open. */
  id: string
  /** The token's e-mail or, without one, its subject; undefined when it is not a JWT. Not verified. */
  account: string | undefined
  /** The project reference of a default cookie name, or else the cookie's name. */
  project: string
  /** Host of the token's issuer, or the issuer itself when it is not a URL. */
  issuer: string | undefined
  place: SessionPlace
  /** Epoch seconds. */
  expiresAt: number | undefined
}

/** A session with its display data and its secret, which only `popup.ts` may use. */
export interface FoundSession {
  view: SessionView
  token: string
}

/** The last second that a date can hold and thus display. */
export const farthestSecond = 8.64e12

/** Result of reading a tab. */
export type SessionsReading =
  /**
   * At least one session, no token twice: first the one with the profile's cookie name, then active ones. `announced` is
   * the unconfirmed base URL of the MCP server that the page announces.
   */
  | { kind: 'sessions'; sessions: readonly FoundSession[]; announced?: string | undefined }
  /** A value is named like a session but is not one. */
  | { kind: 'invalid'; project: string; reason: InvalidSessionReason }
  /** `mayRead`: cookies of the site were readable. */
  | { kind: 'none'; mayRead: boolean }

/**
 * Reads every session of a tab's site: cookies as far as permitted, and what the page itself sees. Returns one
 * session per name: as on the server, the first active one, or else the first; browser cookies come before those of
 * the page and these before local storage. Never joins chunks of different stores, partitions, domains or paths.
 * Skips tokens that are not valid in a header. Never rejects.
 */
export async function readSessions(
  browser: Browser,
  tab: Tab,
  profile: Profile | undefined,
): Promise<SessionsReading> {
  const patterns = originPatterns(tab.url)
  const names = ['supabase-auth-token', profile?.cookieName ?? []].flat()
  const [stored, page, mayRead] = await Promise.all([
    browser.cookies(tab).catch(() => []),
    browser.page(tab, names).catch(() => 'refused' as const),
    patterns.length > 0 && browser.mayRead(patterns, 'read').catch(() => false),
  ])
  const { cookies, entries, announced } =
    page === 'refused' ? { cookies: [], entries: [], announced: undefined } : page
  const places = [
    ...storedPlaces(stored),
    { place: 'cookie', cookies } as const,
    ...entries.map(localStoragePlace),
  ]
  const readings = places.flatMap(({ place, cookies }) =>
    namesIn(cookies, names).map((name): NamedReading => ({
      name,
      place,
      reading: readOne(cookies, name, browser.now()),
    })),
  )
  const result = resultOf(readings, profile) ?? { kind: 'none', mayRead }
  return result.kind === 'sessions' ? { ...result, announced: announcedServer(announced) } : result
}

/** Values that may be joined to one session. */
interface Place {
  place: SessionPlace
  cookies: readonly WireCookie[]
}

interface NamedReading {
  name: string
  place: SessionPlace
  reading: SessionCookieReading
}

type NamedSession = NamedReading & { reading: { kind: 'session' } }

function storedPlaces(cookies: readonly StoredCookie[]): Place[] {
  const groups = new Map<string, Place & { cookies: StoredCookie[] }>()
  for (const cookie of cookies) {
    const { storeId, partition, domain, path } = cookie
    const key = JSON.stringify([storeId, partition, domain, path])
    const place = partition === undefined ? 'cookie' : 'partitioned-cookie'
    const group = groups.get(key) ?? { place, cookies: [] }
    group.cookies.push(cookie)
    groups.set(key, group)
  }
  return [...groups.values()]
}

/** Local storage holds the text unencoded: a `%` in it is literal. */
function localStoragePlace({ key, value }: { key: string; value: string }): Place {
  return { place: 'local-storage', cookies: [{ name: key, value: value.replaceAll('%', '%25') }] }
}

function namesIn(cookies: readonly WireCookie[], names: readonly string[]): string[] {
  const further = names.filter((name) => cookies.some((cookie) => isSessionCookieName(cookie.name, { name })))
  const usual = findSessionCookieNames(cookies.map(({ name }) => name))
  return [...new Set([...usual.map(({ name }) => name), ...further])]
}

function readOne(cookies: readonly WireCookie[], name: string, now: number): SessionCookieReading {
  const reading = readSessionCookie(cookies, { name, now })
  // RFC 6750 section 2.1. Anything else could break out of the header, or of the line it is pasted into.
  const isBearer = reading.kind !== 'session' || /^[\w.~+/-]+=*$/.test(reading.accessToken)
  return isBearer ? reading : { kind: 'invalid', reason: 'no-access-token' }
}

function resultOf(
  readings: readonly NamedReading[],
  profile: Profile | undefined,
): SessionsReading | undefined {
  const rank = ({ name, reading }: NamedSession): number =>
    (name === profile?.cookieName ? 0 : 2) + Number(reading.expired)
  const seen = new Set<string>()
  const sessions = readings
    .filter(isSession)
    .toSorted((one, other) => rank(one) - rank(other))
    .filter(({ name, reading }) => {
      const isNew = !seen.has(name) && !seen.has(reading.accessToken)
      seen.add(name).add(reading.accessToken)
      return isNew
    })
    .map(sessionOf)
  if (sessions.length > 0) return { kind: 'sessions', sessions }
  const [invalid] = readings.flatMap(({ name, reading }) =>
    reading.kind === 'invalid' ? [{ ...reading, project: projectOf(name) }] : [],
  )
  return invalid
}

function isSession(found: NamedReading): found is NamedSession {
  return found.reading.kind === 'session'
}

function sessionOf({ name, place, reading }: NamedSession): FoundSession {
  const { accessToken: token, expiresAt: end } = reading
  const { email, sub, iss } = readJwt(token)?.claims ?? {}
  const account = textOf(email) ?? textOf(sub)
  const issuer = textOf(iss)
  // Clamped, because it will be displayed as a date.
  const expiresAt = end && Math.max(-farthestSecond, Math.min(farthestSecond, end))
  return {
    token,
    view: { id: name, account, project: projectOf(name), issuer: hostOf(issuer) || issuer, place, expiresAt },
  }
}

function textOf(claim: unknown): string | undefined {
  return typeof claim === 'string' && claim !== '' ? displayText(claim) : undefined
}

function projectOf(name: string): string {
  return displayText(findSessionCookieNames([name])[0]?.projectRef ?? name, 80)
}
