import type { CaseFetch } from './wire.ts'

const maxSteps = 12

/** End of a social sign-in. */
export type SocialWalk = { kind: 'returned'; params: URLSearchParams } | { kind: 'stuck'; reason: string }

/**
 * Goes from the auth API through the social provider and back to `callbackUrl` like a browser, with redirects and
 * cookies. Stops at any page except the stand-in of the embedded provider.
 */
export async function walkSocialSignIn(
  start: string,
  callbackUrl: string,
  send: CaseFetch,
): Promise<SocialWalk> {
  const cookies = new Map<string, string>()
  let request = new Request(start, { redirect: 'manual' })
  for (let step = 0; step < maxSteps; step += 1) {
    const here = new URL(request.url)
    request.headers.set('cookie', [...cookies.values()].join('; '))
    const response = await send(request).catch(() => undefined)
    if (!response) return { kind: 'stuck', reason: `${here.host} cannot be reached` }
    for (const cookie of response.headers.getSetCookie()) {
      const [pair = ''] = cookie.split(';')
      cookies.set(`${here.host} ${pair.split('=')[0] ?? ''}`, pair)
    }
    const location = response.headers.get('location')
    if (location !== null) {
      const next = new URL(location, here)
      if (next.origin + next.pathname === callbackUrl) return { kind: 'returned', params: next.searchParams }
      request = new Request(next, { redirect: 'manual' })
      continue
    }
    const form = standInForm(await response.text())
    if (!form) return { kind: 'stuck', reason: `${here.host} answered ${response.status} with a page` }
    request = new Request(form.action, { method: 'POST', body: form.fields, redirect: 'manual' })
  }
  return { kind: 'stuck', reason: 'the redirects never end' }
}

/** Returns the form of the embedded provider's stand-in, with its first account chosen. */
function standInForm(page: string): { action: string; fields: URLSearchParams } | undefined {
  const attribute = (pattern: RegExp): string | undefined => pattern.exec(page)?.[1]
  const action = attribute(/<form method="post" action="([^"]*)"/)
  const state = attribute(/name="state" value="([^"]*)"/)
  const account = attribute(/<button name="account" value="([^"]*)"/)
  if (action === undefined || state === undefined || account === undefined) return undefined
  return { action, fields: new URLSearchParams({ state, account }) }
}
