import { parseCookieHeader } from '@drawbridge/shared/session-cookie/cookie-header.ts'

/** End of a navigation. `response` is undefined at an address outside the test. */
export interface Visit {
  url: URL
  response: Response | undefined
  status: number | undefined
  html: string
}

/** A browser with the features needed to sign in: cookies per host name, redirects, forms. It runs no script. */
export interface Browser {
  visit(url: string | URL): Promise<Visit>
  /** Submits the form of `at` that has a field or button named `field`, with `fields` filled in. */
  submit(at: Visit, field: string, fields: Record<string, string | string[]>): Promise<Visit>
  cookieHeader(url: string): string
}

/**
 * Creates a browser whose network is `fetch`, which returns undefined for addresses outside the system under test. `languages` is the
 * value of its Accept-Language.
 */
export function createBrowser(
  fetch: (request: Request) => Promise<Response> | undefined,
  languages?: string,
): Browser {
  const jars = new Map<string, Map<string, string>>()
  const jarOf = (hostname: string): Map<string, string> => {
    const jar = jars.get(hostname) ?? new Map<string, string>()
    jars.set(hostname, jar)
    return jar
  }

  function keepCookies(hostname: string, response: Response): void {
    for (const line of response.headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split('; ')
      const [cookie] = parseCookieHeader(pair)
      if (!cookie) continue
      const gone = attributes.some((attribute) => /^max-age=(?:0|-\d+)$/i.test(attribute))
      if (gone) jarOf(hostname).delete(cookie.name)
      else jarOf(hostname).set(cookie.name, cookie.value)
    }
  }

  const cookieHeader = (url: string): string =>
    [...jarOf(new URL(url).hostname)].map(([name, value]) => `${name}=${value}`).join('; ')

  const visitOf = (url: URL, response?: Response, html = ''): Visit => ({
    url,
    response,
    status: response?.status,
    html,
  })

  async function navigate(first: Request): Promise<Visit> {
    let request = first
    for (let hops = 0; hops < 20; hops += 1) {
      const url = new URL(request.url)
      const cookies = cookieHeader(request.url)
      if (cookies !== '') request.headers.set('cookie', cookies)
      if (languages !== undefined) request.headers.set('accept-language', languages)
      const response = await fetch(request)
      if (!response) return visitOf(url)
      keepCookies(url.hostname, response)
      const location = response.headers.get('location')
      if (location === null) return visitOf(url, response, await response.text())
      const next = new URL(location, url)
      if (!/^https?:$/.test(next.protocol)) return visitOf(next)
      request = new Request(next, { redirect: 'manual' })
    }
    throw new Error('The redirects do not end.')
  }

  return {
    cookieHeader,
    visit: (url) => navigate(new Request(url, { redirect: 'manual' })),
    submit(at, field, fields) {
      const form = formsOf(at.html).find(({ names }) => names.has(field))
      if (!form) throw new Error(`The page at ${at.url.pathname} has no form with ${field}.`)
      const body = new URLSearchParams(form.given.filter(([name]) => !Object.hasOwn(fields, name)))
      for (const [name, values] of Object.entries(fields))
        for (const value of [values].flat()) body.append(name, value)
      return navigate(
        new Request(new URL(form.action, at.url), {
          method: 'POST',
          headers: {
            'content-type': 'application/x-www-form-urlencoded',
            origin: at.url.origin,
            'sec-fetch-site': 'same-origin',
          },
          body: body.toString(),
          redirect: 'manual',
        }),
      )
    },
  }
}

interface Form {
  action: string
  /** Values of hidden fields, selected radio buttons and ticked boxes. */
  given: [name: string, value: string][]
  names: Set<string>
}

function formsOf(html: string): Form[] {
  return [...html.matchAll(/<form\b([^>]*)>(.*?)<\/form>/gs)].map(([, head = '', inner = '']) => {
    const controls = [...inner.matchAll(/<(?:input|button|select|textarea)\b([^>]*)>/gs)].map(
      ([, text = '']) => text,
    )
    return {
      action: attribute(head, 'action') ?? '',
      given: controls
        .filter((text) => isGiven(attribute(text, 'type'), text))
        .map((text) => [attribute(text, 'name') ?? '', attribute(text, 'value') ?? '']),
      names: new Set(controls.map((text) => attribute(text, 'name') ?? '')),
    }
  })
}

function isGiven(type: string | undefined, text: string): boolean {
  return type === 'hidden' || (/^(?:radio|checkbox)$/.test(type ?? '') && /\schecked\b/.test(text))
}

function attribute(text: string, name: string): string | undefined {
  const value = new RegExp(`\\b${name}="([^"]*)"`).exec(text)?.[1]
  return value
    ?.replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
}
