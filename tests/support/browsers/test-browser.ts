import type { Page } from 'puppeteer-core'
import type { Settings } from '../../../extension/core/settings.ts'
import type { ObservedRequest } from './observing-proxy.ts'

export type BrowserKind = 'chromium' | 'firefox'

/** A tab with a page of the web in it. */
export interface Tab {
  page: Page
  /** The browser's own number of it. */
  id: number
}

/** The popup as a click on the toolbar opens it, over the page. In Firefox no driver reaches it but by this. */
export interface RealPopup {
  /** Runs `read` inside the popup: it sees nothing outside itself, and returns what JSON can hold. */
  read<Value>(read: (popup: Window) => Value): Promise<Value>
  /** Clicks, as a person does as far as permissions of the browser are concerned. */
  click(selector: string): Promise<void>
}

/** A running browser with an empty profile and the built extension in it. */
export interface TestBrowser {
  readonly kind: BrowserKind
  /** Folder of the profile. Removed by `close`. */
  readonly profile: string
  /** Every request that left the browser, of the extension and of pages. */
  readonly requests: readonly ObservedRequest[]
  /** What pages of the extension wrote to their consoles, and what they failed with. */
  readonly complaints: string[]
  openTab(url: string): Promise<Tab>
  /** A tab with cookies of its own: a private window in Chromium, a container in Firefox. */
  openSeparateTab(url: string): Promise<Tab>
  /** The popup for that tab, as a page of its own, in a private window if the tab is. Resolves when it shows anything but that it is loading. */
  openPopupFor(tab: Pick<Tab, 'id'> & { page?: Page }): Promise<Page>
  openSettings(hash?: string): Promise<Page>
  /** Clicks the icon in the toolbar while `tab` is in front. */
  clickToolbar(tab: Tab): Promise<RealPopup>
  /**
   * Lets go of every page, as a driver that watches a popup makes it slower: it holds it at its start and asks of it while
   * it loads. What is returned clicks the icon over that tab and resolves when the click is done, not when the popup is
   * there. Nothing else of this browser may be used from then on, but for `close`.
   */
  letGo(tab: Tab): Promise<() => Promise<Pick<RealPopup, 'read'>>>
  /** Waits for a popup that the extension opens by itself. Call it before what leads to that. */
  nextPopup(): Promise<RealPopup>
  /** Waits for a page of settings that the extension opens by itself. Call it before what leads to that. */
  nextSettings(): Promise<Page>
  /** Whenever the extension asks for those hosts from now on, the answer is yes. */
  answerYes(...hosts: readonly string[]): Promise<void>
  /** Allows the extension to read cookies of those hosts (`*.NAME` is all below NAME), as its own question would. */
  grant(...hosts: readonly string[]): Promise<void>
  /** Makes a page believe that this is what the person prefers. */
  prefer(page: Page, colorScheme: 'light' | 'dark'): Promise<void>
  /** Text of the badge for that tab. */
  badge(tab: Tab): Promise<string>
  /** Everything that the extension stored, as JSON. */
  stored(): Promise<string>
  /** Stores settings as the page of settings does. */
  store(settings: Settings): Promise<void>
  close(): Promise<void>
}

/** What a browser is started with. */
export interface BrowserOptions {
  executablePath: string
  /** Folder of the built extension. */
  extension: string
  /** `HOST:PORT` of the proxy that everything goes through. */
  proxy: string
  requests: readonly ObservedRequest[]
}

/** The part of the extensions' interface that tests call inside its pages; named alike in both browsers. */
export interface ExtensionApi {
  tabs: { query(query: object): Promise<{ id: number }[]> }
  permissions: {
    request(permissions: object): Promise<boolean>
    getAll(): Promise<{ origins: string[] }>
  }
  action: { getBadgeText(details: { tabId: number }): Promise<string> }
  storage: Record<
    'local' | 'session' | 'sync',
    { get(keys: null): Promise<object>; set(items: object): Promise<void> }
  >
}

/** What the extension asks for to read a host: Chromium wants the scheme of each cookie. */
export function hostPatterns(hosts: readonly string[]): string[] {
  return hosts.flatMap((host) => [`https://${host}/*`, `http://${host}/*`])
}
