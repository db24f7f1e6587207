import type { Metrics } from './metrics.ts'

/** Serves `GET /metrics` only. Needs its own listener that only the collector reaches: it does not authenticate. */
export function createMetricsEndpoint(
  metrics: Pick<Metrics, 'render'>,
): (request: Request) => Promise<Response> {
  return async (request) => {
    if (new URL(request.url).pathname !== '/metrics') return new Response('Not found\n', { status: 404 })
    if (request.method !== 'GET') {
      return new Response('Use GET\n', { status: 405, headers: { allow: 'GET' } })
    }
    const { contentType, text } = await metrics.render()
    return new Response(text, { headers: { 'content-type': contentType, 'cache-control': 'no-store' } })
  }
}
