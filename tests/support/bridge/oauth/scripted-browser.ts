import { connect } from 'node:net'

/** Returns whether something listens there. */
export function isReachable(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port })
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })
}

/** Final page of a navigation. */
export interface Arrival {
  url: string
  status: number
  headers: Headers
  html: string
}

/** Opens a URL and follows redirects like a browser without cookies; stops at an address that does not respond. */
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
