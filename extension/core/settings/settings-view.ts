import type { Discovery } from '../endpoint/endpoint-discovery.ts'
import type { ImportPlan, ProfileChange } from './settings-file.ts'
import type { ProfileDraft, ProfileFault, ProfileField } from './profile-form.ts'

/** What a site is allowed for: to be read, or to get tokens in tests. */
export type Purpose = 'read' | 'test'

/** Whether the person lets something happen with a site. */
export interface SiteAccess {
  host: string
  state: 'allowed' | 'not-allowed'
}

/** A profile as the page shows it. */
export interface ProfileView {
  id: string
  label: string
  appUrl: string
  baseUrl: string | undefined
  cookieName: string | undefined
  /** Came with the build: it can be changed, and not deleted. */
  builtIn: boolean
  /** The app's site, to be read. */
  app: SiteAccess
  /** The MCP server's site, to get tokens in tests; undefined without server. */
  server: SiteAccess | undefined
}

/** The form for one profile. */
export interface ProfileForm {
  isNew: boolean
  /** What the fields hold. */
  draft: ProfileDraft
  faults: Partial<Record<ProfileField, ProfileFault>>
  lookup: Discovery | { kind: 'none' | 'running' }
}

/** Why a file was not imported. `nothing-new`: all that it may change is so already. */
export type ImportFault = Extract<ImportPlan, { kind: 'refused' }>['reason'] | 'nothing-new'

/** What has just happened. Said once, and gone with the next action. */
export type SettingsNotice =
  | { kind: 'none' }
  | { kind: 'saved' | 'deleted'; label: string }
  | { kind: 'allowed' | 'refused' | 'taken-back' | 'kept'; host: string }
  | { kind: 'imported'; count: number }
  /** `position`: of the profile that is bad, from 1, else 0. */
  | { kind: 'not-imported'; reason: ImportFault; position: number }

/** How the question ended. `allowed` stays on the screen only when there is no tab to go back to. */
export type AllowOutcome = 'open' | 'refused' | 'allowed'

/** The page of settings. */
export type SettingsView =
  | { kind: 'loading' }
  /** One question for one site, for a person who comes from the popup and wants to go back. */
  | {
      kind: 'allow'
      purpose: Purpose
      host: string
      outcome: AllowOutcome
    }
  | ProfilesView

/** All profiles, and what belongs to them. */
export interface ProfilesView {
  kind: 'profiles'
  profiles: readonly ProfileView[]
  /** Hosts that were allowed and belong to no profile. */
  otherSites: readonly string[]
  form: ProfileForm | undefined
  /** The profile that is about to be deleted. */
  deleting: { id: string; label: string } | undefined
  /** The import that is about to happen, and the labels of what it leaves out for the sake of the build's own profile. */
  importing: { changes: readonly ProfileChange[]; kept: readonly string[] } | undefined
  notice: SettingsNotice
  /** What opens the popup. */
  shortcut: string | undefined
}

/** What a person can do there. */
export type SettingsAction =
  | { kind: 'add' | 'cancel' | 'return' | 'allow-asked' | 'confirm-delete' | 'confirm-import' }
  | { kind: 'edit' | 'delete'; id: string }
  | { kind: 'save' | 'look-up' | 'allow-look-up'; draft: ProfileDraft }
  | { kind: 'allow' | 'take-back'; purpose: Purpose; id: string }
  | { kind: 'take-back-site'; host: string }
  | { kind: 'import'; file: string }
