import { type Listener, listen } from '../../server/http/listener/listener.ts'

/** Headers of a single connection, or of the encoding that `fetch` has already decoded. */
const notPassedOn = [
  'connection',
  'content-encoding',
  'content-length',
  'host',
  'keep-alive',
  'transfer-encoding',
]

/** A proxy on a loopback port. */
export interface PrefixProxy {
  /** URL for clients that append `/auth/v1`. */
  projectUrl: string
  close(): Promise<void>
}

/**
 * Lets clients that append `/auth/v1` reach an auth API at another path: fetches requests below that prefix from
 * `authUrl`, and passes on redirects unchanged.
 */
export async function startPrefixProxy(authUrl: string): Promise<PrefixProxy> {
  const listener: Listener = await listen(
    async (request) => {
      const { pathname, search } = new URL(request.url)
      const path = /^\/auth\/v1(\/.*)?$/.exec(pathname)
      if (!path) return new Response('Nothing is here.', { status: 404 })
      const hasBody = request.method !== 'GET' && request.method !== 'HEAD'
      const response = await fetch(`${authUrl}${path[1] ?? ''}${search}`, {
        method: request.method,
        headers: passedOn(request.headers),
        redirect: 'manual',
        ...(hasBody && { body: await request.text() }),
      })
      const body = response.body === null ? null : await response.arrayBuffer()
      return new Response(body, { status: response.status, headers: passedOn(response.headers) })
    },
    { host: '127.0.0.1', port: 0 },
  )
  return { projectUrl: `http://127.0.0.1:${listener.port}`, close: () => listener.close() }
}

function passedOn(headers: Headers): Headers {
  const kept = new Headers(headers)
  for (const name of notPassedOn) kept.delete(name)
  return kept
}
