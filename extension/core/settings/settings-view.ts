import type { Profile } from '../profile.ts'
import type { ProfileDraft, ProfileFault, ProfileField } from './profile-form.ts'

/** Purpose of a permission: to read a site, or to send tokens to it in tests. */
export type Purpose = 'read' | 'test'

/** A profile as displayed. */
export interface ProfileView extends Profile {
  /** Permission to read the app's site. */
  mayRead: boolean
  /** Permission to send tokens to the MCP server's site in tests. */
  mayTest: boolean
}

/** The form for one profile. */
export interface ProfileForm {
  isNew: boolean
  /** Current content of the fields. */
  draft: ProfileDraft
  faults: Partial<Record<ProfileField, ProfileFault>>
}

/** The most recent event. Shown once, until the next action. */
export type SettingsNotice =
  | { kind: 'none' }
  | { kind: 'saved' | 'deleted'; label: string }
  | { kind: 'allowed' | 'refused' | 'taken-back' | 'kept'; host: string }

/** Outcome of the prompt. `allowed` stays on the screen only when there is no tab to return to. */
export type AllowOutcome = 'open' | 'refused' | 'allowed'

/** The settings page. */
export type SettingsView =
  | { kind: 'loading' }
  /** A single prompt for one site, for users who come from the popup and want to return. */
  | {
      kind: 'allow'
      purpose: Purpose
      host: string
      outcome: AllowOutcome
    }
  | ProfilesView

/** All profiles and their data. */
export interface ProfilesView {
  kind: 'profiles'
  profiles: readonly ProfileView[]
  /** Allowed hosts that belong to no profile. */
  otherSites: readonly string[]
  form: ProfileForm | undefined
  /** The profile to delete, awaiting confirmation. */
  deleting: { id: string; label: string } | undefined
  notice: SettingsNotice
}

/** The user's actions on this page. */
export type SettingsAction =
  | { kind: 'add' | 'cancel' | 'return' | 'allow-asked' | 'confirm-delete' }
  | { kind: 'edit' | 'delete'; id: string }
  | { kind: 'save'; draft: ProfileDraft }
  | { kind: 'allow' | 'take-back'; purpose: Purpose; id: string }
  | { kind: 'take-back-site'; host: string }
