import type { Cookies } from 'webextension-polyfill'
import type { StoredCookie, Tab } from '../core/ports.ts'
import { webExtension } from './web-extension.ts'

/** Cookies that the browser would send with the tab's page, from the store of the tab: see `Browser.cookies`. */
export async function readCookies(tab: Tab): Promise<readonly StoredCookie[]> {
  if (tab.url === undefined) return []
  // Without a partition key partitioned cookies are left out; an empty one stands for all, and for none.
  const details = {
    url: tab.url,
    partitionKey: {},
    storeId: await findStore(tab),
  } as Cookies.GetAllDetailsType
  const { hostname } = new URL(tab.url)
  if (import.meta.env.FIREFOX) {
    // Wanted where first parties are isolated; Chromium throws when it sees it.
    details.firstPartyDomain = null
    // Sent to http on this computer are `Secure` cookies too, but shown only for https.
    if (/^(?:.+\.)?localhost$|^127(?:\.\d+){3}$/.test(hostname))
      details.url = tab.url.replace(/^http:/, 'https:')
  }
  return (await webExtension.cookies.getAll(details)).flatMap((cookie) => {
    const partition = cookie.partitionKey?.topLevelSite
    // Else it belongs to the app as a part of another site's page.
    const isSent = partition === undefined || isHostOf(hostname, URL.parse(partition)?.hostname)
    return isSent ? [{ ...cookie, partition }] : []
  })
}

/** The container or private window that the tab is in. */
async function findStore(tab: Tab): Promise<string | undefined> {
  if (import.meta.env.FIREFOX) return (await webExtension.tabs.get(tab.id)).cookieStoreId
  const stores = await webExtension.cookies.getAllCookieStores()
  return stores.find(({ tabIds }) => tabIds.includes(tab.id))?.id
}

/** Whether a cookie of `domain`, which may start with a dot, or a site of that host, is one for `hostname`. */
export function isHostOf(hostname: string, domain: string | undefined): boolean {
  return domain !== undefined && `.${hostname}`.endsWith(`.${domain.replace(/^\./, '')}`)
}
