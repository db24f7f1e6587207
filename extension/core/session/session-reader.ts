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
import { displayText } from '../display-text.ts'
import { announcedServer } from '../server-address.ts'
import type { SessionView } from '../session/session-view.ts'
import type { SessionPlace } from '../session/session-view.ts'
import type { Browser, StoredCookie, Tab } from '../ports.ts'
import type { Profile } from '../settings.ts'
import { originPatterns } from '../site.ts'
import { farthestSecond, readTokenFacts } from './token-facts.ts'

/** A session that was found: what is shown of it, and its secret, which only `popup.ts` may take out. */
export interface FoundSession {
  view: SessionView
  token: string
}

/** What a tab says about sessions. */
export type SessionsReading =
  /**
   * At least one, no token twice. First that of the profile's cookie name, then whatever has not ended. `announced` is the
   * base URL of the MCP server that the page announces: nobody has confirmed it.
   */
  | { kind: 'sessions'; sessions: readonly FoundSession[]; announced?: string | undefined }
  /** Something is called like a session and is none. */
  | { kind: 'invalid'; project: string; reason: InvalidSessionReason }
  /** `mayRead`: cookies of the site could be read. `refused`: the page could not. */
  | { kind: 'none'; mayRead: boolean; refused: boolean }

/**
 * Reads every session of a tab's site: cookies as far as the extension may, and what the page itself sees. One session a
 * name: as on the server the first that has not ended counts, else the first; cookies of the browser come before
 * those of the page and these before local storage. Chunks of different stores, partitions, domains or paths are never
 * joined. A token that could not stand in a header is none. Never rejects.
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
  const refused = page === 'refused'
  const { cookies, entries, announced } = refused ? { cookies: [], entries: [], announced: undefined } : page
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
  const result = resultOf(readings, profile) ?? { kind: 'none', mayRead, refused }
  return result.kind === 'sessions' ? { ...result, announced: announcedServer(announced) } : result
}

/** What may be joined to one session. */
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

/** Local storage holds the text as it is: a `%` in it is no percent-encoding. */
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
  // RFC 6750 section 2.1. Anything else could break out of the header, or of the line that it is pasted to.
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
  const { account, issuer } = readTokenFacts(token)
  // Whatever shows it has to make a date of it.
  const expiresAt = end && Math.max(-farthestSecond, Math.min(farthestSecond, end))
  return { token, view: { id: name, account, project: projectOf(name), issuer, place, expiresAt } }
}

function projectOf(name: string): string {
  return displayText(findSessionCookieNames([name])[0]?.projectRef ?? name, 80)
}
