import type { JsonObject } from '../../../json-object.ts'
import type { JsonRpcResponse } from '../../json-rpc.ts'
import { CallError, resultObject, toError2025 } from '../call-error.ts'
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

  /**
   * Sends a request under a new id, with the client's claims in `_meta`. An error that came as the body of a 4xx is a
   * response too; otherwise rejects as {@link Server2026} does.
   */
  async request(
    method: string,
    params: JsonObject | undefined,
    options?: RequestOptions,
  ): Promise<JsonRpcResponse> {
    this.#lastId += 1
    const withClaims = { ...params, _meta: { ...metaOf(params), ...this.#claims() } }
    try {
      return await this.#server.request(
        { jsonrpc: '2.0', id: this.#lastId, method, params: withClaims },
        options,
      )
    } catch (error) {
      const response = this.#server.errorResponse(error)
      if (response === undefined) throw error
      return response
    }
  }

  /** The result of `server/discover`, requested once. A failure is not kept. Throws {@link CallError} too. */
  discover(): Promise<JsonObject> {
    this.#discovered ??= this.#requestDiscover().catch((error: unknown) => {
      this.#discovered = undefined
      throw error
    })
    return this.#discovered
  }

  /** The capabilities of the server, in the form for a 2025 client. */
  async capabilities(): Promise<JsonObject> {
    return mapServerCapabilities((await this.discover())['capabilities'])
  }

  async #requestDiscover(): Promise<JsonObject> {
    const response = await this.request('server/discover', undefined)
    if (!('error' in response)) return resultObject(response)
    const { code, message, data } = toError2025(response.error, 'server/discover', undefined)
    throw new CallError(code, message, data)
  }
}
