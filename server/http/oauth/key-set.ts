import type { Endpoint } from '../endpoint.ts'
import { json } from '../response.ts'
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
        json(keySet(), 200, {
          'content-type': 'application/jwk-set+json',
          'cache-control': `public, max-age=${maxAgeSeconds}`,
        }),
    },
  }
}
