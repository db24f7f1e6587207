import type { JsonObject } from '../../../json-object.ts'
import { resultOf, toError2025 } from '../call-error.ts'
import { mapServerCapabilities } from '../capabilities.ts'
import { metaOf } from '../../params.ts'
import type { RequestOptions, Server2026 } from '../ports.ts'

/** A 2026-07-28 server, called on behalf of one client. */
export class Upstream2026 {
  readonly #server: Server2026
  readonly #claims: () => JsonObject
  #lastId = 0
  #discovered: Promise<JsonObject> | undefined

  /** `claims` returns the reserved members of `_meta`; other members of the client's `_meta` are kept. */
  constructor(server: Server2026, claims: () => JsonObject, discovered: JsonObject | undefined) {
    this.#server = server
    this.#claims = claims
    this.#discovered = discovered && Promise.resolve(discovered)
  }

  /** Sends a request under a new id, with the client's claims in `_meta`. Throws as {@link resultOf} does. */
  request(method: string, params?: JsonObject, options?: RequestOptions): Promise<JsonObject> {
    this.#lastId += 1
    const withClaims = { ...params, _meta: { ...metaOf(params), ...this.#claims() } }
    return resultOf(
      this.#server.request({ jsonrpc: '2.0', id: this.#lastId, method, params: withClaims }, options),
      this.#server,
      (error) => toError2025(error, method, params),
    )
  }

  /** The result of `server/discover`, requested once. A failure is not kept. */
  discover(): Promise<JsonObject> {
    this.#discovered ??= this.request('server/discover').catch((error: unknown) => {
      this.#discovered = undefined
      throw error
    })
    return this.#discovered
  }

  /** The capabilities of the server, in the form for a 2025 client. */
  async capabilities(): Promise<JsonObject> {
    return mapServerCapabilities((await this.discover())['capabilities'])
  }
}
