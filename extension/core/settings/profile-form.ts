import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { Profile, Settings } from '../settings.ts'
import {
  type AddressFault,
  addressFault,
  baseUrlOf,
  serverAddressFault,
  tidyAddress,
} from '../server-address.ts'

/** A profile as typed into a form. */
export interface ProfileDraft {
  id: string
  label: string
  appUrl: string
  baseUrl: string
  cookieName: string
}

/**
 * Why a member of a profile is unusable. `bad-name`: no name that a cookie can have. `too-long`: over 2048 characters.
 * `missing`: empty and needed.
 */
export type ProfileFault = AddressFault | 'missing' | 'bad-name'

/** The members that a form has a field for. */
export type ProfileField = Exclude<keyof ProfileDraft, 'id'>

/** A profile that can be stored, or what is wrong with each member. */
export type CheckedProfile =
  | { kind: 'valid'; profile: Profile }
  | { kind: 'invalid'; faults: Partial<Record<ProfileField, ProfileFault>> }

/**
 * Checks and tidies what was typed: white space, query, fragment, final slashes and the `/mcp` of the server's URL go, an
 * empty label becomes the host of the app. Empty `baseUrl` and `cookieName` are none.
 */
export function checkProfile(draft: ProfileDraft): CheckedProfile {
  const [label, appUrl, baseUrl, cookieName] = [
    draft.label,
    draft.appUrl,
    draft.baseUrl,
    draft.cookieName,
  ].map((text) => text.trim()) as [string, string, string, string]
  const found = {
    label: isTooLong(label),
    appUrl: appUrl === '' ? 'missing' : addressFault(appUrl),
    baseUrl: baseUrl === '' ? undefined : serverAddressFault(baseUrl),
    cookieName: isTooLong(cookieName) ?? (/^[^\s;=\p{Cc}]*$/u.test(cookieName) ? undefined : 'bad-name'),
  } as const
  const faults = Object.fromEntries(Object.entries(found).filter(([, fault]) => fault !== undefined))
  if (Object.keys(faults).length > 0) return { kind: 'invalid', faults }
  return {
    kind: 'valid',
    profile: {
      id: draft.id,
      label: label || new URL(appUrl).host,
      appUrl: tidyAddress(appUrl),
      baseUrl: baseUrl === '' ? undefined : baseUrlOf(baseUrl),
      cookieName: cookieName || undefined,
    },
  }
}

/** The settings without a profile. */
export function removeProfile(settings: Settings, id: string): Settings {
  return { ...settings, profiles: settings.profiles.filter((profile) => profile.id !== id) }
}

/**
 * Reads one profile of a file, which gets the id `id`; undefined when a member is unusable. Members that are not known are
 * dropped, and so is the id of the file.
 */
export function parseProfile(value: unknown, id: string): Profile | undefined {
  if (!isJsonObject(value)) return undefined
  const { label = '', appUrl, baseUrl = '', cookieName = '' } = value
  const isDraft = [label, appUrl, baseUrl, cookieName].every((member) => typeof member === 'string')
  if (!isDraft) return undefined
  const checked = checkProfile({ id, label, appUrl, baseUrl, cookieName } as ProfileDraft)
  return checked.kind === 'valid' ? checked.profile : undefined
}

function isTooLong(text: string): 'too-long' | undefined {
  return text.length > 2048 ? 'too-long' : undefined
}
