import type { JsonObject } from '../../../json-object.ts'
import type { JsonRpcResponse } from '../../json-rpc.ts'
import { metaOf } from '../params.ts'
import type { AskOptions, ModernServer } from '../ports.ts'

/** A 2026-07-28 server, asked in the name of one client. */
export interface ModernUpstream {
  /**
   * Sends a request under an id of its own, with the client's claims in `_meta`. An error that came as the body of a 4xx is a
   * response too; else rejects as {@link ModernServer} does.
   */
  ask(method: string, params: JsonObject | undefined, options?: AskOptions): Promise<JsonRpcResponse>
}

/** `claims` are the reserved members of `_meta`; what the client's own `_meta` says beside them goes along. */
export function createModernUpstream(server: ModernServer, claims: () => JsonObject): ModernUpstream {
  let lastId = 0

  return {
    async ask(method, params, options) {
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
