import { isWebPage } from './site.ts'

/** The purpose for which the settings page was opened, from its address. */
export type SettingsRequest =
  | { kind: 'profiles' }
  /** Request permission for the site of `url`, to read or test it; then return to the tab. */
  | { kind: 'allow'; purpose: 'read' | 'test'; url: string; tabId: number | undefined }
  /** Create a profile for an app. */
  | { kind: 'new-profile'; appUrl: string }

/**
 * Reads the hash of the page's address, with or without `#`: see {@link settingsHash}. Falls back
 * to `profiles`. Never throws.
 */
export function parseSettingsHash(hash: string): SettingsRequest {
  const parameters = new URLSearchParams(hash.replace(/^#/, ''))
  const tab = parameters.get('tab') ?? ''
  const tabId = /^\d{1,15}$/.test(tab) ? Number(tab) : undefined
  for (const purpose of ['read', 'test'] as const) {
    const url = parameters.get(purpose) ?? undefined
    if (isWebPage(url)) return { kind: 'allow', purpose, url, tabId }
  }
  const appUrl = parameters.get('new') ?? undefined
  return isWebPage(appUrl) ? { kind: 'new-profile', appUrl } : { kind: 'profiles' }
}

/**
 * Returns the hash with which the settings page requests permission to read or test a site, or creates a profile for
 * a new app. `parseSettingsHash` reads it.
 */
export function settingsHash(kind: 'read' | 'test' | 'new', url: string, tabId: number): string {
  return `${kind}=${encodeURIComponent(url)}&tab=${tabId}`
}
