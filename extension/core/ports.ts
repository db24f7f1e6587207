import type { WireCookie } from '@drawbridge/shared/session-cookie/cookie-header.ts'
import type { Settings } from './profile.ts'

/** A tab as far as the extension can see it. */
export interface Tab {
  id: number
  /** Absent without permission for its site; only the id of the tab is known then. */
  url: string | undefined
  incognito: boolean
}

/** A cookie that the browser would send with the tab's page, as on the wire. */
export interface StoredCookie extends WireCookie {
  domain: string
  path: string
  storeId: string
  /** The top-level site of a partitioned cookie (CHIPS). */
  partition: string | undefined
  httpOnly: boolean
}

/** Data visible to a page's own scripts: no HttpOnly cookies. Both lists in the browser's order, values unchanged. */
export interface PageView {
  cookies: readonly WireCookie[]
  /** From local storage, only entries named like a session. */
  entries: readonly { key: string; value: string }[]
  /** The address in the page's `<link rel="mcp-server">`, made absolute. Untrusted: see `announcedServer`. */
  announced?: string | undefined
}

/** A request of the extension: without credentials, redirects, cache or referrer. */
export interface EndpointRequest {
  url: string
  method: 'GET' | 'POST' | 'DELETE'
  headers: Readonly<Record<string, string>>
  body?: string
  timeoutMs: number
}

/** The response, at most 1 MB of it. `header` expects lower-case names; CORS may hide some. */
export interface EndpointResponse {
  status: number
  header(name: string): string | undefined
  body: string
}

/**
 * The browser, as used by the logic: `platform/browser.ts` is the real one; tests use one in memory with the same
 * rules (cookie stores, partitions, permissions that hide cookies). Times are epoch seconds. Promises reject only for
 * unexpected faults.
 */
export interface Browser {
  /** Firefox shows permission prompts below the popup, so the settings page requests them. */
  readonly asksInTab: boolean
  /** Commands to copy are for PowerShell. */
  readonly onWindows: boolean
  now(): number
  /** Calls back once after a delay; returns a function that cancels it. */
  setTimer(callback: () => void, milliseconds: number): () => void
  /** Returns the popup's tab: the window's active one, or the one in the page's address. */
  tab(): Promise<Tab | undefined>
  /**
   * Returns cookies for the tab's page in the tab's own store (container, private window), including partitions.
   * Empty without permission for its site, so check `mayRead` too.
   */
  cookies(tab: Tab): Promise<readonly StoredCookie[]>
  /**
   * Reads the page itself, with the permission granted by a click on the toolbar. `names` are additional cookie
   * names.
   */
  page(tab: Tab, names: readonly string[]): Promise<PageView | 'refused'>
  /**
   * Returns whether cookies of the site may be read: see `originPatterns` in `site.ts`. Purpose `test` sends a token
   * to the site, for which Firefox requires a separate consent; elsewhere both purposes are the same.
   */
  mayRead(patterns: readonly string[], purpose: Intent['kind']): Promise<boolean>
  /**
   * Prompts the user. Call in a click handler, before the first await. In Chromium the popup may close before this
   * settles: the background then reopens it, and `takeIntent` returns what to continue.
   */
  requestRead(patterns: readonly string[], purpose: Intent['kind']): Promise<boolean>
  /** Kept in memory until it is taken, the browser exits, or a minute passes. Does not wait. */
  setIntent(intent: Intent): void
  takeIntent(): Promise<Intent | undefined>
  /** Reloads the tab; resolves when the reload has started. */
  reload(tab: Tab): Promise<void>
  copy(text: string): Promise<void>
  /** Rejects with `EndpointUnreachableError` without a response: network, TLS, CORS, redirect or timeout. */
  fetch(request: EndpointRequest): Promise<EndpointResponse>
  loadSettings(): Promise<Settings>
  saveSettings(settings: Settings): Promise<void>
  /** Opens the settings page; `hash` selects what it shows, see `settings-hash.ts`. */
  openSettings(hash: string): Promise<void>
  /** Opens a web page in a new tab. */
  openTab(url: string): Promise<void>
  /** Calls back when a visible cookie has changed or the tab has loaded; returns a function that stops this. */
  onSessionChange(tab: Tab, listener: () => void): () => void
}

/** Additional needs of the settings page; `platform/settings-browser.ts` is the real one, kept out of the popup. */
export interface SettingsBrowser extends Browser {
  /** Match patterns of the allowed sites. */
  allowed(): Promise<readonly string[]>
  /** Revokes a permission. Does nothing when the browser keeps it, as with permission for all sites. */
  forget(patterns: readonly string[]): Promise<void>
  /** Shows that tab and closes this page; false, and the page stays, when the tab is gone. */
  returnTo(tabId: number): Promise<boolean>
}

/** The popup's action when a permission prompt closed it. */
export interface Intent {
  kind: 'read' | 'test'
  tabId: number
}

/** No response; only the browser knows why. */
export class EndpointUnreachableError extends Error {
  override readonly name = 'EndpointUnreachableError'
}
