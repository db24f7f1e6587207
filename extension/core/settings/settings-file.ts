import { parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { parseProfile } from './profile-form.ts'
import { putProfile } from '../profile.ts'
import { isAppWithin } from '../profile.ts'
import type { Profile, Settings } from '../settings.ts'

/** A profile that an import would add (`before` undefined) or change. */
export interface ProfileChange {
  before: Profile | undefined
  after: Profile
}

/** What importing a file would do. */
export type ImportPlan =
  /** `kept`: profiles of the file that are left out, because the build brought its own for their app. */
  | { kind: 'planned'; changes: readonly ProfileChange[]; kept: readonly Profile[] }
  /** `not-ours`: no JSON of this extension. `newer`: of a later version. `too-large`: over 256 thousand characters. */
  | { kind: 'refused'; reason: 'not-ours' | 'newer' | 'too-large' }
  /** The profile at `position`, from 1, cannot be used. */
  | { kind: 'refused'; reason: 'bad-profile'; position: number }

const format = 'drawbridge-extension'
const maxCharacters = 256_000

/** The settings as a JSON file, without anything secret. */
export function exportSettings({ version, profiles }: Settings): string {
  return `${JSON.stringify({ format, version, profiles }, undefined, 2)}\n`
}

/**
 * Decides what a file would change: all or nothing, and only after somebody was asked. A profile changes the known one for the
 * same app; any other gets a new id from `newId`, as those in the file are anybody's. The app of `builtIn` is left alone. Members
 * that are not known are dropped. Never throws.
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

/** What a file has in the place of profiles, or why it is refused. */
function readProfiles(file: string, settings: Settings): unknown[] | 'not-ours' | 'newer' | 'too-large' {
  if (file.length > maxCharacters) return 'too-large'
  const content = parseJsonObject(file)
  if (content?.['format'] !== format) return 'not-ours'
  const { version, profiles } = content
  if (typeof version === 'number' && version > settings.version) return 'newer'
  return version === 1 && Array.isArray(profiles) ? profiles : 'not-ours'
}

/** The settings after a plan that somebody agreed to. */
export function applyImport(settings: Settings, changes: readonly ProfileChange[]): Settings {
  return changes.reduce((changed, { after }) => putProfile(changed, after), settings)
}

/** But for the id. */
function isSame(one: Profile, other: Profile): boolean {
  return (
    one.label === other.label &&
    one.appUrl === other.appUrl &&
    one.baseUrl === other.baseUrl &&
    one.cookieName === other.cookieName
  )
}
