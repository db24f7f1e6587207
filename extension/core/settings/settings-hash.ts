import { isWebPage } from '../site.ts'

/** What the page of settings is opened for, as its address says. */
export type SettingsRequest =
  | { kind: 'profiles' }
  /** To ask for permission for the site of `url`, to read it or to test it: then the person goes back to the tab. */
  | { kind: 'allow'; purpose: 'read' | 'test'; url: string; tabId: number | undefined }
  /** To make a profile for an app. */
  | { kind: 'new-profile'; appUrl: string }

/** Reads the hash of the page's address, with or without `#`: see `settingsHash` in `settings-request.ts`. What is not understood is `profiles`. Never throws. */
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
