import type { Cookies } from 'webextension-polyfill'
import type { StoredCookie, Tab } from '../core/ports.ts'
import { webExtension } from './web-extension.ts'

/** Returns the cookies that the browser would send with the tab's page, from the tab's store: see `Browser.cookies`. */
export async function readCookies(tab: Tab): Promise<readonly StoredCookie[]> {
  if (tab.url === undefined) return []
  // Without a partition key, partitioned cookies are omitted; an empty one matches all, and none.
  const details = {
    url: tab.url,
    partitionKey: {},
    storeId: await findStore(tab),
  } as Cookies.GetAllDetailsType
  const { hostname } = new URL(tab.url)
  if (import.meta.env.FIREFOX) {
    // Required with first-party isolation; Chromium throws on it.
    details.firstPartyDomain = null
    // http on this computer receives `Secure` cookies too, but they are listed only for https.
    if (/^(?:.+\.)?localhost$|^127(?:\.\d+){3}$/.test(hostname))
      details.url = tab.url.replace(/^http:/, 'https:')
  }
  return (await webExtension.cookies.getAll(details)).flatMap((cookie) => {
    const partition = cookie.partitionKey?.topLevelSite
    // Otherwise it belongs to the app embedded in another site's page.
    const isSent = partition === undefined || isHostOf(hostname, URL.parse(partition)?.hostname)
    return isSent ? [{ ...cookie, partition }] : []
  })
}

/** Returns the store of the tab's container or private window. */
async function findStore(tab: Tab): Promise<string | undefined> {
  if (import.meta.env.FIREFOX) return (await webExtension.tabs.get(tab.id)).cookieStoreId
  const stores = await webExtension.cookies.getAllCookieStores()
  return stores.find(({ tabIds }) => tabIds.includes(tab.id))?.id
}

/** Returns whether a cookie of `domain`, which may start with a dot, or a site of that host, applies to `hostname`. */
export function isHostOf(hostname: string, domain: string | undefined): boolean {
  return domain !== undefined && `.${hostname}`.endsWith(`.${domain.replace(/^\./, '')}`)
}
