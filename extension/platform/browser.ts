import type { Permissions, Tabs } from 'webextension-polyfill'
import type { Browser, Intent, PageView, Tab } from '../core/ports.ts'
import { parseSettings } from '../core/profile.ts'
import { isHostOf, readCookies } from './cookies.ts'
import { fetchEndpoint } from './endpoint-fetch.ts'
import { storeIntent, takeIntent } from './intent.ts'
import { readPage } from './page-reader.ts'
import { webExtension } from './web-extension.ts'

/** The chunks of a session change one by one, but count as one change. */
const quietMs = 150

/** Creates the real browser. See `Browser` for the contract of each member. */
export function createBrowser(): Browser {
  return {
    asksInTab: import.meta.env.FIREFOX,
    onWindows: navigator.userAgent.includes('Windows'),
    now: () => Date.now() / 1000,
    setTimer(callback, milliseconds) {
      const timer = setTimeout(callback, milliseconds)
      return () => clearTimeout(timer)
    },
    tab: findTab,
    cookies: readCookies,
    page: lookAtPage,
    mayRead: (patterns, purpose) => webExtension.permissions.contains(permissionsFor(patterns, purpose)),
    requestRead: (patterns, purpose) => webExtension.permissions.request(permissionsFor(patterns, purpose)),
    setIntent: storeIntent,
    takeIntent,
    reload: (tab) => webExtension.tabs.reload(tab.id),
    copy: (text) => navigator.clipboard.writeText(text),
    fetch: fetchEndpoint,
    loadSettings: async () => parseSettings((await webExtension.storage.local.get('settings')).settings),
    saveSettings: (settings) => webExtension.storage.local.set({ settings }),
    openSettings: (hash) => openTab(webExtension.runtime.getURL(`options.html#${hash}`)),
    openTab,
    onSessionChange,
  }
}

async function openTab(url: string): Promise<void> {
  await webExtension.tabs.create({ url })
}

async function findTab(): Promise<Tab | undefined> {
  const [, named] = /^#tab=(\d+)$/.exec(location.hash) ?? []
  const { tabs } = webExtension
  const tab = named
    ? await tabs.get(Number(named)).catch(() => undefined)
    : (await tabs.query({ active: true, currentWindow: true }))[0]
  return tab?.id === undefined ? undefined : (tab as Tab)
}

async function lookAtPage(tab: Tab, names: readonly string[]): Promise<PageView | 'refused'> {
  try {
    const [frame] = await webExtension.scripting.executeScript({
      target: { tabId: tab.id },
      func: readPage,
      args: [names],
    })
    return (frame?.result as PageView | undefined) ?? 'refused'
  } catch {
    return 'refused'
  }
}

/** Adds Firefox's consent to send data, as a test sends the token to a server. */
function permissionsFor(patterns: readonly string[], purpose: Intent['kind']): Permissions.Permissions {
  const origins = [...patterns]
  return import.meta.env.FIREFOX && purpose === 'test'
    ? { origins, data_collection: ['authenticationInfo'] }
    : { origins }
}

function onSessionChange(tab: Tab, listener: () => void): () => void {
  const { cookies, tabs } = webExtension
  const hostname = URL.parse(tab.url ?? '')?.hostname ?? ''
  let timer: ReturnType<typeof setTimeout> | undefined
  const later = (): void => {
    clearTimeout(timer)
    timer = setTimeout(listener, quietMs)
  }
  const onCookie = ({ cookie }: { cookie: { domain: string } }): unknown =>
    isHostOf(hostname, cookie.domain) && later()
  const onTab = (id: number, { status }: Tabs.OnUpdatedChangeInfoType): unknown =>
    id === tab.id && status === 'complete' && later()
  cookies.onChanged.addListener(onCookie)
  tabs.onUpdated.addListener(onTab)
  return () => {
    clearTimeout(timer)
    cookies.onChanged.removeListener(onCookie)
    tabs.onUpdated.removeListener(onTab)
  }
}
