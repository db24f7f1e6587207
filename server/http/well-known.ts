import { everyone } from './middleware/cors.ts'
import type { Endpoint } from './endpoint.ts'

/**
 * Serves the operator's texts below `/.well-known/`, by name: proofs of ownership of the host. Served at the origin's root, even if
 * BASE_URL has a path.
 */
export function createWellKnownEndpoints(texts: ReadonlyMap<string, string>): Endpoint[] {
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' }
  return [...texts].map(([name, text]) => ({
    path: `/.well-known/${name}`,
    cors: everyone,
    methods: { GET: () => ({ status: 200, headers, body: text }) },
  }))
}
