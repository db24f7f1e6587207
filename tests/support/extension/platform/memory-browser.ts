import {
  EndpointUnreachableError,
  type Browser,
  type EndpointRequest,
  type EndpointResponse,
  type Intent,
  type Tab,
} from '../../../../extension/core/ports.ts'
import type { Settings } from '../../../../extension/core/profile.ts'

/** A stored cookie. Its visibility follows Chromium's rules, the narrower ones, as measured in release 156. */
export interface MemoryCookie {
  name: string
  value: string
  /** Without leading dot. */
  domain: string
  /** Not sent to hosts below the domain. */
  hostOnly: boolean
  path: string
  secure: boolean
  httpOnly: boolean
  /** The top-level site of a partitioned cookie. */
  partition: string | undefined
  storeId: string
}

/** A tab with the data stored by its page. */
export interface MemoryTab {
  id: number
  /** The real address, even if the extension may not see it. */
  url: string
  incognito: boolean
  /** Container, private window or profile. */
  storeId: string
  /** The user has clicked the toolbar icon there. Reset by a reload if `clickEndsWithReload`. */
  clicked: boolean
  /** A page of the browser, a store, a PDF. */
  refusesScripts: boolean
  localStorage: Readonly<Record<string, string>>
  /** Address in the page's `<link rel="mcp-server">`. */
  announced?: string
}

/** State that a test can inspect and change. */
export interface MemoryWorld {
  /** Epoch seconds. Change it through `advance` where timers matter. */
  now: number
  tabs: MemoryTab[]
  /** The popup's tab. */
  activeTab: number
  cookies: MemoryCookie[]
  /** Allowed match patterns of the form `scheme://host/*`. */
  allowed: Set<string>
  /** Consent to send tokens, which Firefox requires in addition. */
  mayTest: boolean
  /** The user's answer to a permission prompt. */
  answer: 'allow' | 'deny'
  /** The prompt closes the popup, as in Chromium: the promise never settles. */
  questionClosesPopup: boolean
  clickEndsWithReload: boolean
  questions: { patterns: readonly string[]; purpose: Intent['kind'] }[]
  clipboard: string | undefined
  clipboardFails: boolean
  settings: Settings
  intent: Intent | undefined
  openedSettings: string[]
  openedTabs: string[]
  /** Called when a tab is reloaded, before listeners: lets the app renew its session. */
  onReload: (tab: MemoryTab) => void
  requests: EndpointRequest[]
  /** The network. Undefined means no response. */
  respond: (request: EndpointRequest) => MemoryResponse | undefined
}

/** A response of the network; `headers` have lower-case names. */
export interface MemoryResponse {
  status: number
  headers?: Readonly<Record<string, string>>
  body?: string
}

/** The in-memory browser of tests: the port, and its state. */
export interface MemoryBrowser extends Browser {
  readonly world: MemoryWorld
  /** Advances the clock, including timers, and runs everything that is due. */
  advance(seconds: number): Promise<void>
  /** Notifies listeners that a cookie has changed or a tab has loaded. */
  announceChange(): Promise<void>
}

/** Creates a browser with one clicked https tab, no cookies and no permissions. */
export function createMemoryBrowser(
  start: Partial<MemoryWorld> & Partial<Pick<Browser, 'asksInTab' | 'onWindows'>> = {},
): MemoryBrowser {
  const { asksInTab = false, onWindows = false, ...given } = start
  const world: MemoryWorld = { ...newWorld(), ...given }
  const timers = new Map<number, { at: number; callback: () => void }>()
  const listeners = new Set<() => void>()
  let timerId = 0

  const findTab = ({ id }: Tab): MemoryTab | undefined => world.tabs.find((tab) => tab.id === id)

  return {
    world,
    ...clockOf(),
    asksInTab,
    onWindows,
    async tab() {
      const tab = world.tabs.find(({ id }) => id === world.activeTab)
      if (tab === undefined) return undefined
      const { id, url, incognito } = tab
      return { id, url: tab.clicked || isAllowed(world, url) ? url : undefined, incognito }
    },
    async cookies(tab) {
      const real = findTab(tab)
      if (real === undefined || !isAllowed(world, real.url)) return []
      return world.cookies
        .filter((cookie) => isSent(cookie, real))
        .filter(({ secure, domain }) => isAllowed(world, `${secure ? 'https' : 'http'}://${domain}/`))
        .map(({ name, value, domain, hostOnly, path, storeId, partition, httpOnly }) => {
          return { name, value, domain: hostOnly ? domain : `.${domain}`, path, storeId, partition, httpOnly }
        })
    },
    async page(tab, names) {
      const real = findTab(tab)
      const mayScript = real && (real.clicked || isAllowed(world, real.url))
      if (!mayScript || real.refusesScripts || !/^https?:/.test(real.url)) return 'refused'
      const isWanted = (name: string): boolean =>
        /^sb-.+-auth-token(?:\.\d+)?$/.test(name) ||
        names.some((wanted) => name === wanted || name.startsWith(`${wanted}.`))
      return {
        cookies: world.cookies
          .filter((cookie) => !cookie.httpOnly && isSent(cookie, real) && isWanted(cookie.name))
          .map(({ name, value }) => ({ name, value })),
        entries: Object.entries(real.localStorage).flatMap(([key, value]) =>
          isWanted(key) ? [{ key, value }] : [],
        ),
        announced: real.announced,
      }
    },
    async mayRead(patterns, purpose) {
      if (asksInTab && purpose === 'test' && !world.mayTest) return false
      return patterns.every((pattern) => world.allowed.has(pattern))
    },
    async requestRead(patterns, purpose) {
      world.questions.push({ patterns, purpose })
      if (world.answer === 'allow') for (const pattern of patterns) world.allowed.add(pattern)
      if (world.questionClosesPopup) return new Promise(() => {})
      return world.answer === 'allow'
    },
    setIntent(intent) {
      world.intent = intent
    },
    async takeIntent() {
      const { intent } = world
      world.intent = undefined
      return intent
    },
    async reload(tab) {
      const real = findTab(tab)
      if (real === undefined) return
      if (world.clickEndsWithReload) real.clicked = false
      world.onReload(real)
    },
    async copy(text) {
      if (world.clipboardFails) throw new Error('The clipboard is not to be had.')
      world.clipboard = text
    },
    async fetch(request) {
      world.requests.push(request)
      const response = world.respond(request)
      if (response === undefined) throw new EndpointUnreachableError('There was no response.')
      return responseOf(response)
    },
    loadSettings: async () => world.settings,
    async saveSettings(settings) {
      world.settings = settings
    },
    async openSettings(hash) {
      world.openedSettings.push(hash)
    },
    async openTab(url) {
      world.openedTabs.push(url)
    },
    onSessionChange(_tab, listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }

  function clockOf(): Pick<MemoryBrowser, 'now' | 'setTimer' | 'advance' | 'announceChange'> {
    return {
      now: () => world.now,
      setTimer(callback, milliseconds) {
        const id = ++timerId
        timers.set(id, { at: world.now + milliseconds / 1000, callback })
        return () => timers.delete(id)
      },
      async advance(seconds) {
        const end = world.now + seconds
        await settle()
        for (;;) {
          const [next] = [...timers].filter(([, { at }]) => at <= end).sort(([, a], [, b]) => a.at - b.at)
          if (next === undefined) break
          const [id, { at, callback }] = next
          timers.delete(id)
          world.now = Math.max(world.now, at)
          callback()
          await settle()
        }
        world.now = end
      },
      async announceChange() {
        for (const listener of listeners) listener()
        await settle()
      },
    }
  }
}

function newWorld(): MemoryWorld {
  return {
    now: 1_800_000_000,
    tabs: [newTab({})],
    activeTab: 1,
    cookies: [],
    allowed: new Set(),
    mayTest: false,
    answer: 'allow',
    questionClosesPopup: false,
    clickEndsWithReload: false,
    questions: [],
    clipboard: undefined,
    clipboardFails: false,
    settings: { version: 1, profiles: [] },
    intent: undefined,
    openedSettings: [],
    openedTabs: [],
    onReload: () => {},
    requests: [],
    respond: () => undefined,
  }
}

/** Returns a tab of an https app whose toolbar icon was clicked, with the given changes. */
export function newTab(given: Partial<MemoryTab>): MemoryTab {
  return {
    id: 1,
    url: 'https://app.example.com/',
    incognito: false,
    storeId: '0',
    clicked: true,
    refusesScripts: false,
    localStorage: {},
    ...given,
  }
}

/** Returns a host-only cookie of that app that scripts can read, with the given changes. */
export function newCookie(given: Partial<MemoryCookie> & Pick<MemoryCookie, 'name' | 'value'>): MemoryCookie {
  return {
    domain: 'app.example.com',
    hostOnly: true,
    path: '/',
    secure: false,
    httpOnly: false,
    partition: undefined,
    storeId: '0',
    ...given,
  }
}

function isAllowed({ allowed }: MemoryWorld, url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return allowed.has(`${protocol}//${hostname}/*`)
}

/** Returns whether the browser sends the cookie with the tab's own page (RFC 6265 section 5.4, and CHIPS). */
function isSent(cookie: MemoryCookie, tab: MemoryTab): boolean {
  const { protocol, hostname, pathname } = new URL(tab.url)
  const isHost = hostname === cookie.domain || (!cookie.hostOnly && hostname.endsWith(`.${cookie.domain}`))
  const isPath = pathname === cookie.path || pathname.startsWith(cookie.path.replace(/\/?$/, '/'))
  const isScheme = !cookie.secure || protocol === 'https:' || hostname === 'localhost'
  const site = cookie.partition === undefined ? hostname : new URL(cookie.partition).hostname
  const isPartition = `.${hostname}`.endsWith(`.${site}`)
  return isHost && isPath && isScheme && isPartition && cookie.storeId === tab.storeId
}

function responseOf({ status, headers = {}, body = '' }: MemoryResponse): EndpointResponse {
  return { status, header: (name) => headers[name], body }
}

/** Lets due promises settle, including dynamic imports of loaded modules. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve))
}
