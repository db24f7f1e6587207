import type { Profile, Settings } from './settings.ts'
import { isWebPage } from './site.ts'

/** The profile for a page: the one with the longest app URL that the page is at or below, else undefined. */
export function chooseProfile(profiles: readonly Profile[], url: string | undefined): Profile | undefined {
  if (!isWebPage(url)) return undefined
  const { origin, pathname } = new URL(url)
  return profiles
    .filter(({ appUrl }) => isAppWithin(`${origin}${pathname}`, appUrl))
    .toSorted((one, other) => other.appUrl.length - one.appUrl.length)[0]
}

/** Whether a page or app is at or below the URL of an app; both without query. */
export function isAppWithin(url: string, appUrl: string): boolean {
  return `${url}/`.startsWith(`${appUrl}/`)
}

/** All profiles: those of the settings, then the one that the build brought along, unless one has its id. */
export function allProfiles(settings: Settings, builtIn: Profile | undefined): readonly Profile[] {
  const { profiles } = settings
  return builtIn === undefined || profiles.some(({ id }) => id === builtIn.id)
    ? profiles
    : [...profiles, builtIn]
}

/** The settings with a profile added, or replaced where its id is known. */
export function putProfile(settings: Settings, profile: Profile): Settings {
  const { profiles } = settings
  return {
    ...settings,
    profiles: profiles.some(({ id }) => id === profile.id)
      ? profiles.map((known) => (known.id === profile.id ? profile : known))
      : [...profiles, profile],
  }
}
