import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { isWebPage } from './site.ts'

/** A web app whose sessions are read, and the MCP server that accepts its tokens. Contains no secrets. */
export interface Profile {
  /** Stable; assigned when the profile is created. */
  id: string
  label: string
  /** Scheme, host and port of the app, with a path where several apps share an origin; no trailing slash. */
  appUrl: string
  /** Base URL of the MCP server, without trailing slash; `/mcp` follows. */
  baseUrl: string | undefined
  /** Name of the session cookie, if it is not the provider's default. */
  cookieName: string | undefined
}

/** Stored settings. A later `version` is migrated to, never from. */
export interface Settings {
  version: 1
  profiles: readonly Profile[]
}

/**
 * Reads stored settings of any version. Profiles are validated when created, see `profile-form.ts`; this checks only
 * their shape and drops invalid ones, as a popup must always open. Never throws.
 */
export function parseSettings(value: unknown): Settings {
  const profiles = isJsonObject(value) && value['version'] === 1 ? value['profiles'] : undefined
  return { version: 1, profiles: Array.isArray(profiles) ? profiles.filter(isProfile) : [] }
}

function isProfile(value: unknown): value is Profile {
  if (!isJsonObject(value)) return false
  const { id, label, appUrl, baseUrl = '', cookieName = '' } = value
  const isText = [id, label, appUrl, baseUrl, cookieName].every((member) => typeof member === 'string')
  return isText && isWebPage(appUrl as string)
}

/** Returns the profile for a page: the one with the longest app URL that contains the page, or undefined. */
export function chooseProfile(profiles: readonly Profile[], url: string | undefined): Profile | undefined {
  if (!isWebPage(url)) return undefined
  const { origin, pathname } = new URL(url)
  return profiles
    .filter(({ appUrl }) => `${origin}${pathname}/`.startsWith(`${appUrl}/`))
    .toSorted((one, other) => other.appUrl.length - one.appUrl.length)[0]
}

/** Adds a profile to the settings, or replaces the one with its id. */
export function putProfile(settings: Settings, profile: Profile): Settings {
  const { profiles } = settings
  return {
    ...settings,
    profiles: profiles.some(({ id }) => id === profile.id)
      ? profiles.map((known) => (known.id === profile.id ? profile : known))
      : [...profiles, profile],
  }
}
