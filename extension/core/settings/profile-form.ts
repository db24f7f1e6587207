import type { Profile } from '../profile.ts'
import {
  type AddressFault,
  addressFault,
  baseUrlOf,
  serverAddressFault,
  tidyAddress,
} from '../server-address.ts'

/** A profile as typed into a form. */
export type ProfileDraft = Record<keyof Profile, string>

/**
 * Reasons for rejecting a member of a profile. `bad-name`: not a valid cookie name. `missing`: required but empty.
 */
export type ProfileFault = AddressFault | 'missing' | 'bad-name'

/** Members that have a form field. */
export type ProfileField = Exclude<keyof ProfileDraft, 'id'>

/** A valid profile, or the fault of each member. */
export type CheckedProfile =
  | { kind: 'valid'; profile: Profile }
  | { kind: 'invalid'; faults: Partial<Record<ProfileField, ProfileFault>> }

/**
 * Validates and normalizes input: removes white space, query, fragment, final slashes and the `/mcp` of the server's
 * URL; an empty label becomes the host of the app. Empty `baseUrl` and `cookieName` become undefined.
 */
export function checkProfile(draft: ProfileDraft): CheckedProfile {
  const [label, appUrl, baseUrl, cookieName] = [
    draft.label,
    draft.appUrl,
    draft.baseUrl,
    draft.cookieName,
  ].map((text) => text.trim()) as [string, string, string, string]
  const found = {
    appUrl: appUrl === '' ? 'missing' : addressFault(appUrl),
    baseUrl: baseUrl === '' ? undefined : serverAddressFault(baseUrl),
    cookieName: /^[^\s;=\p{Cc}]*$/u.test(cookieName) ? undefined : 'bad-name',
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
