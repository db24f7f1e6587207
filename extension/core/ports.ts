import type { WireCookie } from '@drawbridge/shared/session-cookie/cookie-header.ts'
import type { Profile, Settings } from './settings.ts'

/** A tab as far as the extension may see it. */
export interface Tab {
  id: number
  /** Absent without permission for its site: then the tab is known by its number alone. */
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

/** What a page shows to its own scripts: no HttpOnly cookies. Both lists in the browser's order, values untouched. */
export interface PageView {
  cookies: readonly WireCookie[]
  /** Of local storage, only what is called like a session. */
  entries: readonly { key: string; value: string }[]
  /** The address in the page's `<link rel="mcp-server">`, made absolute. Anything at all: see `announced-server.ts`. */
  announced?: string | undefined
}

/** A request of the extension. Credentials are never sent, redirects never followed, nothing is cached, no referrer. */
export interface EndpointRequest {
  url: string
  method: 'GET' | 'POST' | 'DELETE'
  headers: Readonly<Record<string, string>>
  body?: string
  timeoutMs: number
}

/** What came back, at most 1 MB of it. `header` knows lower-case names; CORS may hide some. */
export interface EndpointResponse {
  status: number
  header(name: string): string | undefined
  body: string
}

/**
 * The browser, as the logic knows it: `platform/browser.ts` is the real one; tests use one in memory with the
 * same rules (cookie stores, partitions, permissions that hide cookies). Times are epoch seconds. Promises reject only for
 * unexpected faults.
 */
export interface Browser {
  /** Firefox draws the question about a permission below the popup: there the page of settings asks. */
  readonly asksInTab: boolean
  /** The profile of a build for one team. */
  readonly builtInProfile: Profile | undefined
  now(): number
  /** Calls back once, after that many milliseconds; returns what prevents it. */
  setTimer(callback: () => void, milliseconds: number): () => void
  /** The tab that the popup is about: the active one of the window, or the one that the address of the page names. */
  tab(): Promise<Tab | undefined>
  /**
   * Cookies for the tab's page in the tab's own store (container, private window), partitions included. Empty without
   * permission for its site, which is no proof of anything: ask `mayRead` too.
   */
  cookies(tab: Tab): Promise<readonly StoredCookie[]>
  /** Reads the page itself, by the permission that a click on the toolbar gives. `names` are further cookie names. */
  page(tab: Tab, names: readonly string[]): Promise<PageView | 'refused'>
  /**
   * Whether cookies of the site may be read: see `originPatterns` in `site.ts`. To `test` is to send a token to the site,
   * which in Firefox takes a consent of its own besides; elsewhere both purposes are the same.
   */
  mayRead(patterns: readonly string[], purpose: Intent['kind']): Promise<boolean>
  /**
   * Asks the person. Must be called in the handler of a click, before anything is awaited. In Chromium the popup may be
   * gone before it settles: then the background opens it again, and `takeIntent` says what it is to go on with.
   */
  requestRead(patterns: readonly string[], purpose: Intent['kind']): Promise<boolean>
  /** Kept in memory until it is taken, the browser ends, or a minute is over. Does not wait. */
  setIntent(intent: Intent): void
  takeIntent(): Promise<Intent | undefined>
  /** Reloads the tab; resolves when it is told to, not when it is done. */
  reload(tab: Tab): Promise<void>
  copy(text: string): Promise<void>
  /** Rejects with `EndpointUnreachableError` when there is no response: network, TLS, CORS, redirect or time. */
  fetch(request: EndpointRequest): Promise<EndpointResponse>
  loadSettings(): Promise<Settings>
  saveSettings(settings: Settings): Promise<void>
  /** Opens the page of settings: `hash` says what it is to show, see `settings-hash.ts`. */
  openSettings(hash: string): Promise<void>
  /** Opens a page of the web in a new tab. */
  openTab(url: string): Promise<void>
  /** Calls back when a cookie that the extension may see changed, or the tab has loaded; returns what ends that. */
  onSessionChange(tab: Tab, listener: () => void): () => void
}

/** What the page of settings needs besides; `platform/settings-browser.ts` is the real one, kept out of the popup. */
export interface SettingsBrowser extends Browser {
  /** Match patterns of the sites that were allowed so far. */
  allowed(): Promise<readonly string[]>
  /** Takes back what was allowed. False when the browser keeps it, as for the site of a team's build. */
  forget(patterns: readonly string[]): Promise<boolean>
  /** Shows that tab and closes this page; false when there is no such tab any more: then this page stays. */
  returnTo(tabId: number): Promise<boolean>
  /** What opens the popup, as the browser writes it (`Alt+Shift+D`); undefined when nothing does. */
  shortcut(): Promise<string | undefined>
}

/** What the popup was doing when the question about a permission closed it. */
export interface Intent {
  kind: 'read' | 'test'
  tabId: number
}

/** No response: why is known to nobody but the browser. */
export class EndpointUnreachableError extends Error {
  override readonly name = 'EndpointUnreachableError'
}
