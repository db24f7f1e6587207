import type { FetchHandler } from '../http/endpoint.ts'
import type { Metrics } from './metrics.ts'

/**
 * Serves `GET /metrics`, and nothing else. It is for a listener of its own that only the collector reaches: nobody is asked who
 * they are.
 */
export function createMetricsEndpoint(metrics: Pick<Metrics, 'render'>): FetchHandler {
  return async (request) => {
    if (new URL(request.url).pathname !== '/metrics') return new Response('Not found\n', { status: 404 })
    if (request.method !== 'GET') {
      return new Response('Use GET\n', { status: 405, headers: { allow: 'GET' } })
    }
    const { contentType, text } = await metrics.render()
    return new Response(text, { headers: { 'content-type': contentType, 'cache-control': 'no-store' } })
  }
}
