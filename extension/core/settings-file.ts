import { parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { parseProfile, putProfile } from './profile-form.ts'
import type { Settings } from './settings.ts'

/** What became of a file. */
export type ImportedSettings =
  /** `count`: profiles in the file, that were added or have replaced ones with their id. */
  | { kind: 'imported'; settings: Settings; count: number }
  /** `not-ours`: no JSON of this extension. `newer`: of a later version. `too-large`: over 256 thousand characters. */
  | { kind: 'refused'; reason: 'not-ours' | 'newer' | 'too-large' }
  /** The profile at `position`, from 1, cannot be used. */
  | { kind: 'refused'; reason: 'bad-profile'; position: number }

const format = 'drawbridge-extension'
const mostCharacters = 256_000

/** The settings as a JSON file, without anything secret. */
export function exportSettings({ version, profiles }: Settings): string {
  return `${JSON.stringify({ format, version, profiles }, undefined, 2)}\n`
}

/** Adds the profiles of a file. All or nothing; members that are not known are dropped. Never throws. */
export function importSettings(settings: Settings, file: string): ImportedSettings {
  if (file.length > mostCharacters) return { kind: 'refused', reason: 'too-large' }
  const content = parseJsonObject(file)
  if (content?.['format'] !== format) return { kind: 'refused', reason: 'not-ours' }
  const { version, profiles } = content
  if (typeof version === 'number' && version > settings.version) return { kind: 'refused', reason: 'newer' }
  if (version !== 1 || !Array.isArray(profiles)) return { kind: 'refused', reason: 'not-ours' }
  let imported = settings
  for (const [index, value] of profiles.entries()) {
    const profile = parseProfile(value)
    if (profile === undefined) return { kind: 'refused', reason: 'bad-profile', position: index + 1 }
    imported = putProfile(imported, profile)
  }
  return { kind: 'imported', settings: imported, count: profiles.length }
}
