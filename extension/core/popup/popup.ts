import { endsSoon, soonSeconds } from '../session/expiry.ts'
import { clientLink } from './formats.ts'
import { screenOf } from './popup-screen.ts'
import type { PopupAction, PopupView } from './popup-view.ts'
import type { Browser, Intent } from '../ports.ts'
import { type ReadyScreen, createReadyScreen } from './ready-screen.ts'
import { putProfile } from '../profile.ts'
import { settingsHash } from '../settings/settings-request.ts'
import { hostOf, isWebPage, originPatterns } from '../site.ts'
import { type Look, announcedIn, lookAtTab, unknownTab } from '../session/tab-look.ts'

/** The popup without its screen. */
export interface Popup {
  /** Reads the tab and shows the first view that is not `loading`. Goes on with what a permission interrupted. */
  start(): Promise<void>
  /** Must be called in the handler of the click: what needs a gesture is asked before anything is awaited. */
  act(action: PopupAction): Promise<void>
  /** Stops listening and forgets the sessions. Nothing is shown afterwards. */
  close(): void
}

/** After a reload the app may take its time to renew its session, and without permission nobody says when it has. */
const waitMs = 1000
const maxWaits = 10
/** The longest that timers of a browser can wait is 24 days. */
const maxMs = 86_400_000

/**
 * Makes the popup: `show` gets every view, the first when `start` has read the tab. Tokens leave only by the clipboard or
 * to the profile's own `/mcp`. No method rejects: what nobody foresaw is shown as a tab that nothing is known of, and the
 * text of the error, which may hold anything, is not shown.
 */
export function createPopup(browser: Browser, show: (view: PopupView) => void): Popup {
  let look = unknownTab
  let closed = false
  let turn = 0
  /** The id of the session that was chosen; empty when the person wants to see all. */
  let choice: string | undefined
  /** How often the tab is still looked at after a reload. */
  let waits = 0
  let ready: ReadyScreen | undefined
  let stopListening = (): void => {}
  const timers = new Map<string, () => void>()

  /** One timer of a name: a later one takes its place. */
  const later = (name: string, milliseconds: number, run: () => void): void => {
    timers.get(name)?.()
    timers.set(name, browser.setTimer(run, milliseconds))
  }

  const screen = (of = look): ReturnType<typeof screenOf> => screenOf(of, choice, waits > 0, browser.now())

  const update = (): void => {
    if (closed) return
    const found = screen()
    if (!('token' in found)) {
      ready = undefined
      show(found)
      return
    }
    waits = 0
    const { view, token } = found
    if (ready?.token !== token) ready = createReadyScreen(browser, token, update)
    show(ready.view(look, view))
    awaitEnd(view.expiresAt)
  }

  /** The screen changes when the session ends soon, and when it has ended. */
  const awaitEnd = (expiresAt: number | undefined): void => {
    if (expiresAt === undefined) return
    const now = browser.now()
    const left = expiresAt - now - (endsSoon(expiresAt, now) ? 0 : soonSeconds)
    later('end', Math.min(maxMs, Math.floor(left * 1000) + 1), update)
  }

  const read = async (): Promise<void> => {
    const own = ++turn
    const next = await lookAtTab(browser, look.tab).catch(() => ({ ...look, reading: unknownTab.reading }))
    if (closed || own !== turn) return
    const found = screen(next)
    // While the tab reloads, whatever cannot be used is no answer yet.
    if (waits > 0 && !('token' in found) && found.kind !== 'several') return
    look = withFirstAnnouncement(next, look)
    update()
  }

  /** Looks again and again until the app has renewed its session, or has had time enough. */
  const wait = (): void =>
    later('wait', waitMs, () => {
      if (waits === 0) return
      waits--
      void read()
      wait()
    })

  const reload = async (): Promise<void> => {
    waits = maxWaits
    update()
    wait()
    await browser.reload(look.tab)
  }

  const test = (): unknown => ready?.test(look.profile?.baseUrl)

  const ask = async (kind: Intent['kind'], url: string | undefined): Promise<void> => {
    const { id } = look.tab
    if (!isWebPage(url)) return
    if (browser.asksInTab) return browser.openSettings(settingsHash(kind, new URL(url).origin, id))
    browser.setIntent({ kind, tabId: id })
    try {
      if (!(await browser.requestRead(originPatterns(url), kind))) return
    } finally {
      // Still here: nobody else has to go on with it.
      await browser.takeIntent()
    }
    await (kind === 'read' ? read() : test())
  }

  const choose = (sessionId: string): void => {
    choice = sessionId
    update()
  }

  /** What the person has confirmed is a profile like any other: shown in the settings, and no announcement changes it. */
  const confirmServer = async (): Promise<void> => {
    const { url } = look.tab
    const baseUrl = announcedIn(look)
    if (baseUrl === undefined || !isWebPage(url)) return
    const { host: label, origin: appUrl } = new URL(url)
    const profile = look.profile ?? { id: crypto.randomUUID(), label, appUrl, cookieName: undefined }
    await browser.saveSettings(putProfile(await browser.loadSettings(), { ...profile, baseUrl }))
    await read()
  }

  const openSettings = (): Promise<void> => {
    const { url, id } = look.tab
    const isNew = !look.profile && isWebPage(url)
    return browser.openSettings(isNew ? settingsHash('new', new URL(url).origin, id) : '')
  }

  const actions: { [Kind in PopupAction['kind']]: (action: PopupAction & { kind: Kind }) => unknown } = {
    allow: () => ask('read', look.further ? `https://${look.further}` : look.tab.url),
    'allow-test': () => ask('test', look.profile?.baseUrl),
    copy: ({ format }) => ready?.copy(format, look.profile?.baseUrl),
    reload,
    'read-again': read,
    choose: ({ sessionId }) => choose(sessionId),
    'show-all': () => choose(''),
    reveal: () => ready?.reveal(true),
    hide: () => ready?.reveal(false),
    'use-server': confirmServer,
    'open-client': ({ client }) =>
      look.profile?.baseUrl && browser.openTab(clientLink(client, look.profile.baseUrl)),
    test,
    'open-app': () => look.appUrl && browser.openTab(look.appUrl),
    settings: openSettings,
  }

  return {
    async start() {
      const [intent] = await Promise.all([browser.takeIntent().catch(() => undefined), read()])
      if (closed) return
      stopListening = browser.onSessionChange(look.tab, () => void read())
      if (intent?.kind === 'test' && intent.tabId === look.tab.id) await test()
    },
    async act(action) {
      if (closed) return
      try {
        await (actions[action.kind] as (action: PopupAction) => unknown)(action)
      } catch {
        update()
      }
    },
    close() {
      closed = true
      stopListening()
      for (const stop of timers.values()) stop()
      look = unknownTab
      ready = undefined
    },
  }
}

/** The first announcement of a page stays: the page must not exchange it under the person's click. */
function withFirstAnnouncement(next: Look, last: Look): Look {
  const { reading } = next
  const before = last.reading.kind === 'sessions' ? last.reading.announced : undefined
  if (reading.kind !== 'sessions' || before === undefined) return next
  const isSameSite = hostOf(next.tab.url) === hostOf(last.tab.url)
  return isSameSite ? { ...next, reading: { ...reading, announced: before } } : next
}
