import { testEndpoint } from '../endpoint/endpoint-test.ts'
import { clientLink, type CopyFormat, formatText } from './formats.ts'
import { screenOf } from './popup-screen.ts'
import type { PopupAction, PopupView } from './popup-view.ts'
import type { Browser, Intent } from '../ports.ts'
import { type ReadyState, readyView } from './ready-screen.ts'
import { putProfile } from '../profile.ts'
import { settingsHash } from '../settings-hash.ts'
import { hostOf, isWebPage, originPatterns } from '../site.ts'
import { type Look, announcedIn, lookAtTab, unknownTab } from '../session/tab-look.ts'

/** After a reload, the app may take time to renew its session, and without permission no event reports it. */
const waitMs = 1000
const maxWaits = 10
/** Timers of a browser are limited to 24 days. */
const maxMs = 86_400_000
const copiedMs = 2000
const revealedMs = 10_000

/**
 * The popup without its user interface: `show` receives every view, the first when `start` has read the tab. Tokens
 * leave only through the clipboard or to the profile's own `/mcp`. No method rejects: an unexpected error shows an
 * unknown tab, without the error text, which may contain anything.
 */
export class Popup {
  readonly #browser: Browser
  readonly #show: (view: PopupView) => void
  readonly #timers = new Map<string, () => void>()
  #look = unknownTab
  #isClosed = false
  #reads = 0
  /** Id of the chosen session; empty when the user wants to see all. */
  #choice: string | undefined
  /** Remaining checks of the tab after a reload. */
  #waits = 0
  #ready: ReadyState | undefined
  #stopListening = (): void => {}

  constructor(browser: Browser, show: (view: PopupView) => void) {
    this.#browser = browser
    this.#show = show
  }

  /** Reads the tab and shows the first view that is not `loading`. Continues what a permission prompt interrupted. */
  async start(): Promise<void> {
    const [intent] = await Promise.all([this.#browser.takeIntent().catch(() => undefined), this.#read()])
    if (this.#isClosed) return
    this.#stopListening = this.#browser.onSessionChange(this.#look.tab, () => void this.#read())
    if (intent?.kind === 'test' && intent.tabId === this.#look.tab.id) await this.#test()
  }

  /** Call in the click handler: requests that need a user gesture go out before the first await. */
  async act(action: PopupAction): Promise<void> {
    if (this.#isClosed) return
    try {
      await (this.#actions[action.kind] as (action: PopupAction) => unknown)(action)
    } catch {
      this.#update()
    }
  }

  /** Stops listening and forgets the sessions. Shows nothing afterwards. */
  close(): void {
    this.#isClosed = true
    this.#stopListening()
    for (const stop of this.#timers.values()) stop()
    this.#look = unknownTab
    this.#ready = undefined
  }

  readonly #actions: { [Kind in PopupAction['kind']]: (action: PopupAction & { kind: Kind }) => unknown } = {
    allow: () => this.#ask('read', this.#look.further ? `https://${this.#look.further}` : this.#look.tab.url),
    'allow-test': () => this.#ask('test', this.#look.profile?.baseUrl),
    copy: ({ format }) => this.#copy(format),
    reload: () => this.#reload(),
    'read-again': () => this.#read(),
    choose: ({ sessionId }) => this.#choose(sessionId),
    'show-all': () => this.#choose(''),
    reveal: () => this.#reveal(true),
    hide: () => this.#reveal(false),
    'use-server': () => this.#confirmServer(),
    'open-client': ({ client }) => {
      const baseUrl = this.#look.profile?.baseUrl
      return baseUrl && this.#browser.openTab(clientLink(client, baseUrl))
    },
    test: () => this.#test(),
    'open-app': () => this.#look.appUrl && this.#browser.openTab(this.#look.appUrl),
    settings: () => this.#openSettings(),
  }

  /** Starts a named timer, replacing an earlier one. */
  #later(name: string, milliseconds: number, run: () => void): void {
    this.#timers.get(name)?.()
    this.#timers.set(name, this.#browser.setTimer(run, milliseconds))
  }

  #screen(look = this.#look): ReturnType<typeof screenOf> {
    return screenOf(look, this.#choice, this.#waits > 0, this.#browser.now())
  }

  #update(): void {
    if (this.#isClosed) return
    const found = this.#screen()
    if (!('token' in found)) {
      this.#ready = undefined
      this.#show(found)
      return
    }
    this.#waits = 0
    if (this.#ready?.token !== found.token) this.#ready = { token: found.token, test: { kind: 'none' } }
    this.#show(readyView(this.#ready, this.#look, found))
    const { expiresAt } = found.view
    if (expiresAt === undefined) return
    const left = Math.floor((expiresAt - this.#browser.now()) * 1000) + 1
    this.#later('end', Math.min(maxMs, left), () => this.#update())
  }

  /** Copies immediately, while the click still counts as a user gesture. */
  async #copy(format: CopyFormat): Promise<void> {
    const ready = this.#ready
    if (!ready) return
    const baseUrl = this.#look.profile?.baseUrl
    try {
      const { onWindows } = this.#browser
      await this.#browser.copy(formatText(format, { token: ready.token, baseUrl, onWindows }))
      Object.assign(ready, { copied: format, copyFailed: false })
      this.#later('copied', copiedMs, () => {
        ready.copied = undefined
        this.#update()
      })
    } catch {
      Object.assign(ready, { copied: undefined, copyFailed: true })
    }
    this.#update()
  }

  #reveal(isRevealed: boolean): void {
    if (!this.#ready) return
    this.#ready.isRevealed = isRevealed
    if (isRevealed) this.#later('hide', revealedMs, () => this.#reveal(false))
    this.#update()
  }

  async #read(): Promise<void> {
    const own = ++this.#reads
    const look = this.#look
    const next = await lookAtTab(this.#browser, look.tab).catch(() => ({
      ...look,
      reading: unknownTab.reading,
    }))
    if (this.#isClosed || own !== this.#reads) return
    const found = this.#screen(next)
    // While the tab reloads, unusable results are not final.
    if (this.#waits > 0 && !('token' in found) && found.kind !== 'several') return
    this.#look = withFirstAnnouncement(next, look)
    this.#update()
  }

  /** Checks repeatedly until the app has renewed its session or time is up. */
  #wait(): void {
    this.#later('wait', waitMs, () => {
      if (this.#waits === 0) return
      this.#waits--
      void this.#read()
      this.#wait()
    })
  }

  async #reload(): Promise<void> {
    this.#waits = maxWaits
    this.#update()
    this.#wait()
    await this.#browser.reload(this.#look.tab)
  }

  async #test(): Promise<void> {
    const ready = this.#ready
    const baseUrl = this.#look.profile?.baseUrl
    if (!ready || !baseUrl) return
    ready.test = { kind: 'running' }
    this.#update()
    ready.test = await testEndpoint(this.#browser, baseUrl, ready.token)
    this.#update()
  }

  async #ask(kind: Intent['kind'], url: string | undefined): Promise<void> {
    const { id } = this.#look.tab
    if (!isWebPage(url)) return
    const browser = this.#browser
    if (browser.asksInTab) return browser.openSettings(settingsHash(kind, new URL(url).origin, id))
    browser.setIntent({ kind, tabId: id })
    try {
      if (!(await browser.requestRead(originPatterns(url), kind))) return
    } finally {
      // This popup is still open, so nothing else has to continue.
      await browser.takeIntent()
    }
    await (kind === 'read' ? this.#read() : this.#test())
  }

  #choose(sessionId: string): void {
    this.#choice = sessionId
    this.#update()
  }

  /** Stores the confirmed server as an ordinary profile: shown in the settings, and unaffected by announcements. */
  async #confirmServer(): Promise<void> {
    const { url } = this.#look.tab
    const baseUrl = announcedIn(this.#look)
    if (baseUrl === undefined || !isWebPage(url)) return
    const { host: label, origin: appUrl } = new URL(url)
    const profile = this.#look.profile ?? { id: crypto.randomUUID(), label, appUrl, cookieName: undefined }
    const settings = await this.#browser.loadSettings()
    await this.#browser.saveSettings(putProfile(settings, { ...profile, baseUrl }))
    await this.#read()
  }

  #openSettings(): Promise<void> {
    const { url, id } = this.#look.tab
    const isNew = !this.#look.profile && isWebPage(url)
    return this.#browser.openSettings(isNew ? settingsHash('new', new URL(url).origin, id) : '')
  }
}

/** Keeps the first announcement of a page, which must not change it under the user's click. */
function withFirstAnnouncement(next: Look, last: Look): Look {
  const { reading } = next
  const before = last.reading.kind === 'sessions' ? last.reading.announced : undefined
  if (reading.kind !== 'sessions' || before === undefined) return next
  const isSameSite = hostOf(next.tab.url) === hostOf(last.tab.url)
  return isSameSite ? { ...next, reading: { ...reading, announced: before } } : next
}
