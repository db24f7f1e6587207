/**
 * The hash of the page of settings that asks for permission to read or test a site, or makes a profile for a new app. What
 * reads it, `parseSettingsHash`, is kept out of the popup.
 */
export function settingsHash(kind: 'read' | 'test' | 'new', url: string, tabId: number): string {
  return `${kind}=${encodeURIComponent(url)}&tab=${tabId}`
}
