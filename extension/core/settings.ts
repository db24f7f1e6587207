import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { isWebPage } from './site.ts'

/** A web app whose sessions are read, and the MCP server that takes its tokens. Holds nothing secret. */
export interface Profile {
  /** Stable, chosen when the profile is made. */
  id: string
  label: string
  /** Scheme, host and port of the app, with a path where several apps share an origin; no trailing slash. */
  appUrl: string
  /** Base URL of the MCP server, without trailing slash; `/mcp` follows. */
  baseUrl: string | undefined
  /** Name of the session cookie where it is not the provider's usual one. */
  cookieName: string | undefined
}

/** What is stored. A later `version` is migrated to, never from. */
export interface Settings {
  version: 1
  profiles: readonly Profile[]
}

/** What is stored at first. */
export const emptySettings: Settings = { version: 1, profiles: [] }

/**
 * Reads what is stored, of any version. Profiles are checked when they are made, see `profile-form.ts`; here only that they
 * have the right shape. What has not is left out: a popup must open all the same. Never throws.
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
