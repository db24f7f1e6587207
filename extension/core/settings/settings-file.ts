import { parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { parseProfile } from './profile-form.ts'
import { isAppWithin, type Profile, putProfile, type Settings } from '../profile.ts'

/** A profile that an import would add (`before` undefined) or change. */
export interface ProfileChange {
  before: Profile | undefined
  after: Profile
}

/** Effect of importing a file. */
export type ImportPlan =
  /** `kept`: profiles of the file that are skipped, because the build has its own for their app. */
  | { kind: 'planned'; changes: readonly ProfileChange[]; kept: readonly Profile[] }
  /** `not-ours`: not JSON of this extension. `newer`: a later version. `too-large`: over 256 thousand characters. */
  | { kind: 'refused'; reason: 'not-ours' | 'newer' | 'too-large' }
  /** The profile at `position`, counted from 1, is invalid. */
  | { kind: 'refused'; reason: 'bad-profile'; position: number }

const format = 'drawbridge-extension'
const maxCharacters = 256_000

/** Returns the settings as a JSON file without secrets. */
export function exportSettings({ version, profiles }: Settings): string {
  return `${JSON.stringify({ format, version, profiles }, undefined, 2)}\n`
}

/**
 * Plans the import of a file: all or nothing, to be applied after the user has agreed. A profile updates the known
 * one for the same app; any other gets a new id from `newId`, as ids in the file are untrusted. Leaves the app of
 * `builtIn` alone. Drops unknown members. Never throws.
 */
export function planImport(
  settings: Settings,
  builtIn: Profile | undefined,
  file: string,
  newId: () => string,
): ImportPlan {
  const profiles = readProfiles(file, settings)
  if (!Array.isArray(profiles)) return { kind: 'refused', reason: profiles }
  const kept: Profile[] = []
  let planned = settings
  for (const [index, value] of profiles.entries()) {
    const profile = parseProfile(value, newId())
    if (profile === undefined) return { kind: 'refused', reason: 'bad-profile', position: index + 1 }
    if (builtIn !== undefined && isAppWithin(profile.appUrl, builtIn.appUrl)) {
      if (!isSame(profile, builtIn)) kept.push(profile)
      continue
    }
    const known = planned.profiles.find(({ appUrl }) => appUrl === profile.appUrl)
    planned = putProfile(planned, { ...profile, id: known?.id ?? profile.id })
  }
  const changes = planned.profiles
    .map((after) => ({ before: settings.profiles.find(({ id }) => id === after.id), after }))
    .filter(({ before, after }) => before === undefined || !isSame(before, after))
  return { kind: 'planned', changes, kept }
}

/** Returns the file's profile list, or why the file is refused. */
function readProfiles(file: string, settings: Settings): unknown[] | 'not-ours' | 'newer' | 'too-large' {
  if (file.length > maxCharacters) return 'too-large'
  const content = parseJsonObject(file)
  if (content?.['format'] !== format) return 'not-ours'
  const { version, profiles } = content
  if (typeof version === 'number' && version > settings.version) return 'newer'
  return version === 1 && Array.isArray(profiles) ? profiles : 'not-ours'
}

/** Applies a plan after the user has agreed to it. */
export function applyImport(settings: Settings, changes: readonly ProfileChange[]): Settings {
  return changes.reduce((changed, { after }) => putProfile(changed, after), settings)
}

/** Compares profiles, ignoring the id. */
function isSame(one: Profile, other: Profile): boolean {
  return (
    one.label === other.label &&
    one.appUrl === other.appUrl &&
    one.baseUrl === other.baseUrl &&
    one.cookieName === other.cookieName
  )
}
