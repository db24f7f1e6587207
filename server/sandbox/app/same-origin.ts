/**
 * Whether a form was sent by a page of this origin. Browsers say so in `Sec-Fetch-Site` and `Origin`; a request that
 * says neither is refused. Other ports of localhost are another origin, though the same site: SameSite cookies alone
 * would let their pages through.
 */
export function isSameOrigin(headers: Headers, appOrigin: string): boolean {
  const site = headers.get('sec-fetch-site')
  const origin = headers.get('origin')
  if (site !== null && site !== 'same-origin') return false
  if (origin === null || origin === 'null') return site === 'same-origin'
  return origin === appOrigin
}
