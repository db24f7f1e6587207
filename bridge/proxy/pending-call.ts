import type { JsonRpcId, WireMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { Context } from '@drawbridge/shared/mcp/pipeline.ts'

export interface ClientContext extends Context {
  readonly era: McpEra
  /** The request that is on its way; undefined for other messages. */
  readonly call?: PendingCall
}

/** A request of the client that has no answer yet. */
export interface PendingCall {
  readonly id: JsonRpcId
  readonly method: string
  readonly era: McpEra
  readonly wire: WireMessage
  /** Resolves when the client has its answer or has cancelled. */
  readonly answered: Promise<void>
  /** When the server last sent anything for it, by the wall clock in milliseconds. */
  activeAtMs: number
  /** Sends the server the notification of a cancellation, if it needs one. Undefined until the call is sent. */
  cancel: ((notice: WireMessage) => Promise<void>) | undefined
  /** Aborting it ends the work for this call. */
  abort: AbortController
}
