import type { JsonObject } from '../../../json-object.ts'
import type { JsonRpcResponse } from '../../json-rpc.ts'
import { metaOf } from '../params.ts'
import type { RequestOptions, Server2026 } from '../ports.ts'

/** A 2026-07-28 server, called on behalf of one client. */
export interface Upstream2026 {
  /**
   * Sends a request under a new id, with the client's claims in `_meta`. An error that came as the body of a 4xx is a
   * response too; else rejects as {@link Server2026} does.
   */
  request(method: string, params: JsonObject | undefined, options?: RequestOptions): Promise<JsonRpcResponse>
}

/** `claims` are the reserved members of `_meta`; other members of the client's `_meta` are kept. */
export function createUpstream2026(server: Server2026, claims: () => JsonObject): Upstream2026 {
  let lastId = 0

  return {
    async request(method, params, options) {
      lastId += 1
      const stamped = { ...params, _meta: { ...metaOf(params), ...claims() } }
      try {
        return await server.request({ jsonrpc: '2.0', id: lastId, method, params: stamped }, options)
      } catch (error) {
        const response = server.errorResponse(error)
        if (response === undefined) throw error
        return response
      }
    },
  }
}
