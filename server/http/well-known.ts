import { everyone } from './middleware/cors.ts'
import type { Endpoint } from './endpoint.ts'

/**
 * Serves the operator's texts below `/.well-known/`, by name: proofs of ownership of the host. At the root of the origin, where
 * they are looked for, whatever the path of the base URL.
 */
export function createWellKnownEndpoints(texts: ReadonlyMap<string, string>): Endpoint[] {
  const headers = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' }
  return [...texts].map(([name, text]) => ({
    path: `/.well-known/${name}`,
    cors: everyone,
    methods: { GET: () => ({ status: 200, headers, body: text }) },
  }))
}
