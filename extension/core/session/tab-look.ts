import type { Browser, Tab } from '../ports.ts'
import { allProfiles, chooseProfile } from '../profile.ts'
import { findHiddenHost } from './hidden-host.ts'
import { readSessions } from './session-reader.ts'
import type { SessionsReading } from './session-reader.ts'
import type { Profile } from '../settings.ts'

/** What is known of the tab that the popup is about. */
export interface Look {
  tab: Tab
  profile: Profile | undefined
  /** The app to go to from elsewhere. */
  appUrl: string | undefined
  reading: SessionsReading
  /** A host above the tab's whose cookies were not shown: see `hidden-host.ts`. */
  further: string | undefined
}

/** What is known before anything was read, and when reading fails. */
export const unknownTab: Look = {
  tab: { id: -1, url: undefined, incognito: false },
  profile: undefined,
  appUrl: undefined,
  reading: { kind: 'none', mayRead: false, refused: true },
  further: undefined,
}

/** Base URL of the server that the page announces; undefined where one is set: what a person has entered or confirmed stays. */
export function announcedIn({ profile, reading }: Look): string | undefined {
  return reading.kind === 'sessions' && profile?.baseUrl === undefined ? reading.announced : undefined
}

/** Looks at the tab and the settings as they are now. `last` is the tab as it was known before. */
export async function lookAtTab(browser: Browser, last: Tab): Promise<Look> {
  const [found = unknownTab.tab, settings] = await Promise.all([browser.tab(), browser.loadSettings()])
  // A reload may take away what a click on the toolbar gave: then it is the same site still, as far as anybody knows.
  const url = found.url ?? (found.id === last.id ? last.url : undefined)
  const tab = { ...found, url }
  const profiles = allProfiles(settings, browser.builtInProfile)
  const profile = chooseProfile(profiles, url)
  const { appUrl } = profile ?? profiles[0] ?? unknownTab
  const reading = await readSessions(browser, tab, profile)
  const further =
    url && reading.kind === 'none' && reading.mayRead ? await findHiddenHost(browser, url) : undefined
  return { tab, profile, appUrl, reading, further }
}
