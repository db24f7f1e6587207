/** A browser without a screen: it keeps cookies by path, follows redirects and submits forms. */
export interface FakeBrowser {
  /** Cookies by name; a test may set or read them. */
  cookies: Map<string, { value: string; path: string; attributes: string }>
  /** URL of the last page. */
  url: () => URL
  get: (url: string) => Promise<Page>
  /** Submits a form of the current page. */
  post: (path: string, fields: Record<string, string>, headers?: Record<string, string>) => Promise<Page>
}

/** The final page of a navigation. */
export interface Page {
  status: number
  text: string
  headers: Headers
}

/** Creates a browser whose whole network is `fetch`. */
export function createFakeBrowser(
  origin: string,
  fetch: (request: Request) => Promise<Response>,
): FakeBrowser {
  const cookies: FakeBrowser['cookies'] = new Map()
  let current = new URL(origin)

  async function send(url: URL, init: RequestInit): Promise<Page> {
    const headers = new Headers(init.headers)
    const sent = [...cookies].filter(([, cookie]) => url.pathname.startsWith(cookie.path))
    if (sent.length > 0) headers.set('cookie', sent.map(([name, { value }]) => `${name}=${value}`).join('; '))
    const response = await fetch(new Request(url, { ...init, headers }))
    for (const line of response.headers.getSetCookie()) keep(line)
    const location = response.headers.get('location')
    if (location !== null) {
      return send(new URL(location, url), { headers: { 'sec-fetch-site': 'same-origin' } })
    }
    current = url
    return { status: response.status, text: await response.text(), headers: response.headers }
  }

  function keep(line: string): void {
    const [pair = '', ...rest] = line.split('; ')
    const attributes = rest.join('; ')
    const name = pair.slice(0, pair.indexOf('='))
    const path = /Path=([^;]*)/.exec(attributes)?.[1] ?? '/'
    if (/Max-Age=0(;|$)/.test(attributes)) cookies.delete(name)
    else cookies.set(name, { value: pair.slice(pair.indexOf('=') + 1), path, attributes })
  }

  return {
    cookies,
    url: () => current,
    get: (url) => send(new URL(url, current), {}),
    post: (path, fields, headers = { origin, 'sec-fetch-site': 'same-origin' }) =>
      send(new URL(path, current), { method: 'POST', body: new URLSearchParams(fields), headers }),
  }
}
