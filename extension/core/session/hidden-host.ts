import type { Browser } from '../ports.ts'
import { originPatterns } from '../site.ts'

/**
 * The nearest host above a site's whose cookies Chromium keeps back: it shows those with `Domain=example.com` only to
 * whoever may read example.com itself. Firefox, known by where it asks, shows them to whoever may read a host that gets
 * them. Undefined when none is kept back. Never rejects. Not in the reader: the badge does not ask for anything.
 */
export async function findHiddenHost(browser: Browser, url: string): Promise<string | undefined> {
  if (browser.asksInTab) return undefined
  let host = hostAbove(new URL(url).hostname)
  const isShown = (name: string): Promise<boolean> =>
    browser.mayRead(originPatterns(`https://${name}`), 'read').catch(() => true)
  while (host !== undefined && (await isShown(host))) host = hostAbove(host)
  return host
}

/**
 * The host above, of which a cookie may be that the host gets too; undefined where there is none that could have cookies,
 * as far as can be told without the list of public suffixes.
 */
export function hostAbove(hostname: string): string | undefined {
  const above = hostname.slice(hostname.indexOf('.') + 1)
  const isName = /\.[a-z][^.]*$/.test(above)
  return isName && !/^(?:ac|co|com|edu|gov|net|org)\.[a-z]{2}$/.test(above) ? above : undefined
}
