import type { Browser, Tab } from '../ports.ts'
import { chooseProfile, type Profile } from '../profile.ts'
import { readSessions, type SessionsReading } from './session-reader.ts'
import { originPatterns } from '../site.ts'

/** Current knowledge about the popup's tab. */
export interface Look {
  tab: Tab
  profile: Profile | undefined
  /** The app to open from another site. */
  appUrl: string | undefined
  reading: SessionsReading
  /** A parent host whose cookies are hidden: see {@link findHiddenHost}. */
  further: string | undefined
}

/** Initial state, also used when reading fails. */
export const unknownTab: Look = {
  tab: { id: -1, url: undefined, incognito: false },
  profile: undefined,
  appUrl: undefined,
  reading: { kind: 'none', mayRead: false },
  further: undefined,
}

/**
 * Returns the base URL of the server that the page announces; undefined when one is already set, as entered or
 * confirmed values take precedence.
 */
export function announcedIn({ profile, reading }: Look): string | undefined {
  return reading.kind === 'sessions' && profile?.baseUrl === undefined ? reading.announced : undefined
}

/** Reads the current tab and settings. `last` is the previously known tab. */
export async function lookAtTab(browser: Browser, last: Tab): Promise<Look> {
  const [found = unknownTab.tab, { profiles }] = await Promise.all([browser.tab(), browser.loadSettings()])
  // A reload may revoke what a click on the toolbar granted; assume that it is still the same site.
  const url = found.url ?? (found.id === last.id ? last.url : undefined)
  const tab = { ...found, url }
  const profile = chooseProfile(profiles, url)
  const { appUrl } = profile ?? profiles[0] ?? unknownTab
  const reading = await readSessions(browser, tab, profile)
  const further =
    url && reading.kind === 'none' && reading.mayRead ? await findHiddenHost(browser, url) : undefined
  return { tab, profile, appUrl, reading, further }
}

/**
 * Returns the nearest parent host whose cookies Chromium hides: it shows those with `Domain=example.com` only to
 * extensions that may read example.com itself. Firefox, recognized by where it prompts, shows them with permission
 * for any host that receives them. Undefined when none are hidden. Never rejects.
 */
async function findHiddenHost(browser: Browser, url: string): Promise<string | undefined> {
  if (browser.asksInTab) return undefined
  let host = hostAbove(new URL(url).hostname)
  const isShown = (name: string): Promise<boolean> =>
    browser.mayRead(originPatterns(`https://${name}`), 'read').catch(() => true)
  while (host !== undefined && (await isShown(host))) host = hostAbove(host)
  return host
}

/**
 * Returns the parent host whose cookies this host may receive; undefined when it cannot have cookies, as far as this
 * is known without the list of public suffixes.
 */
function hostAbove(hostname: string): string | undefined {
  const above = hostname.slice(hostname.indexOf('.') + 1)
  const isName = /\.[a-z][^.]*$/.test(above)
  return isName && !/^(?:ac|co|com|edu|gov|net|org)\.[a-z]{2}$/.test(above) ? above : undefined
}
