import { isUrl } from './url.ts'

/** As many as there are in front of any server that people use; more are a loop. */
export const maxRedirects = 3

const [movedPermanently, temporaryRedirect, permanentRedirect] = [301, 307, 308]

/**
 * Returns where a response sends its request, whole and unchanged, if that is at the same origin; undefined for every other response. With
 * 307 and 308 that keeps the method and the body, and nothing has been done yet (RFC 9110 sections 15.4.8 and 15.4.9); 301 does the same
 * for a GET. A 302 or 303 leads to a page for people.
 */
export function redirectTarget(
  { method, url }: { method: string; url: URL },
  { status, location }: { status: number; location: unknown },
): URL | undefined {
  const isFollowed =
    status === temporaryRedirect ||
    status === permanentRedirect ||
    (status === movedPermanently && method === 'GET')
  if (!isFollowed || typeof location !== 'string' || !isUrl(location, url)) return undefined
  const target = new URL(location, url)
  target.hash = ''
  const isElsewhere = target.origin !== url.origin || target.username !== '' || target.password !== ''
  return isElsewhere || target.href === url.href ? undefined : target
}
