import type { Page } from 'puppeteer-core'
import type { Settings } from '../../../extension/core/profile.ts'
import type { ObservedRequest } from './observing-proxy.ts'

export type BrowserKind = 'chromium' | 'firefox'

/** A tab with a web page. */
export interface Tab {
  page: Page
  /** The browser's id of it. */
  id: number
}

/** The popup as opened by a click on the toolbar, over the page. In Firefox drivers reach it only this way. */
export interface RealPopup {
  /** Runs `read` inside the popup: it must be self-contained, and return a JSON value. */
  read<Value>(read: (popup: Window) => Value): Promise<Value>
  /** Clicks with a user gesture, as far as the browser's permissions are concerned. */
  click(selector: string): Promise<void>
}

/** A running browser with an empty profile and the built extension. */
export interface TestBrowser {
  readonly kind: BrowserKind
  /** Folder of the profile. Removed by `close`. */
  readonly profile: string
  /** Every request that left the browser, from the extension and from pages. */
  readonly requests: readonly ObservedRequest[]
  /** Console output and errors of the extension's pages. */
  readonly complaints: string[]
  openTab(url: string): Promise<Tab>
  /** Opens a tab with separate cookies: a private window in Chromium, a container in Firefox. */
  openSeparateTab(url: string): Promise<Tab>
  /**
   * Opens the popup for that tab as a page, in a private window if the tab is in one. Resolves when it no longer
   * shows that it is loading.
   */
  openPopupFor(tab: Pick<Tab, 'id'> & { page?: Page }): Promise<Page>
  openSettings(hash?: string): Promise<Page>
  /** Clicks the icon in the toolbar while `tab` is in front. */
  clickToolbar(tab: Tab): Promise<RealPopup>
  /**
   * Detaches from every page, since a driver that watches a popup slows it down: it stops it at its start and queries
   * it while it loads. Returns a function that clicks the icon over that tab and resolves when the click is done, not
   * when the popup has opened. Only `close` may be used afterwards.
   */
  letGo(tab: Tab): Promise<() => Promise<Pick<RealPopup, 'read'>>>
  /** Waits for a popup that the extension opens by itself. Call it before the action that opens it. */
  nextPopup(): Promise<RealPopup>
  /** Waits for a settings page that the extension opens by itself. Call it before the action that opens it. */
  nextSettings(): Promise<Page>
  /** Grants all later requests of the extension for those hosts. */
  answerYes(...hosts: readonly string[]): Promise<void>
  /** Allows the extension to read cookies of those hosts (`*.NAME` is all below NAME), as its own prompt would. */
  grant(...hosts: readonly string[]): Promise<void>
  /** Makes a page see this user preference. */
  prefer(page: Page, colorScheme: 'light' | 'dark'): Promise<void>
  /** Returns the match patterns of the sites that the extension may read. */
  allowed(): Promise<readonly string[]>
  /** Returns everything that the extension stored, as JSON. */
  stored(): Promise<string>
  /** Stores settings like the settings page. */
  store(settings: Settings): Promise<void>
  close(): Promise<void>
}

/** Options for starting a browser. */
export interface BrowserOptions {
  executablePath: string
  /** Empty folder for its data. */
  profile: string
  /** Folder of the built extension. */
  extension: string
  /** `HOST:PORT` of the proxy for all traffic. */
  proxy: string
  requests: readonly ObservedRequest[]
}

/** The part of the extension interface that tests call inside its pages; the same names in both browsers. */
export interface ExtensionApi {
  tabs: { query(query: object): Promise<{ id: number }[]> }
  permissions: {
    request(permissions: object): Promise<boolean>
    getAll(): Promise<{ origins: string[] }>
  }
  storage: Record<
    'local' | 'session' | 'sync',
    { get(keys: null): Promise<object>; set(items: object): Promise<void> }
  >
}

/** Returns the patterns that the extension requests to read a host: Chromium needs the scheme of each cookie. */
export function hostPatterns(hosts: readonly string[]): string[] {
  return hosts.flatMap((host) => [`https://${host}/*`, `http://${host}/*`])
}
