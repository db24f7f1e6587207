/** Where a browser came to rest. */
export interface Arrival {
  url: string
  status: number
  headers: Headers
  html: string
}

/** Opens a URL and follows redirects the way a browser does, without cookies; stops where nobody answers. */
export async function visit(url: string): Promise<Arrival> {
  let place = url
  for (let hops = 0; hops < 10; hops++) {
    const response = await fetch(place, { redirect: 'manual' })
    const location = response.headers.get('location')
    if (location === null || response.status < 300 || response.status > 399) {
      return { url: place, status: response.status, headers: response.headers, html: await response.text() }
    }
    await response.body?.cancel()
    place = new URL(location, place).href
  }
  throw new Error('The redirects do not end.')
}

/** Where an authorization request is redirected to, without going there. */
export async function redirectOf(url: string): Promise<URL> {
  const response = await fetch(url, { redirect: 'manual' })
  await response.body?.cancel()
  return new URL(response.headers.get('location') ?? '', url)
}
