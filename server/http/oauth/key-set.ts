import type { Endpoint } from '../endpoint.ts'
import { everyone } from '../middleware/cors.ts'

/** Shorter than a key stays published after the next one began to sign. */
const maxAgeSeconds = 60

/** `/oauth/jwks`: the keys for verifying assertions (RFC 7517 section 5). */
export function createKeySetEndpoint(basePath: string, keySet: () => object): Endpoint {
  return {
    path: `${basePath}/oauth/jwks`,
    cors: everyone,
    methods: {
      GET: () =>
        Response.json(keySet(), {
          headers: {
            'content-type': 'application/jwk-set+json',
            'cache-control': `public, max-age=${maxAgeSeconds}`,
          },
        }),
    },
  }
}
