import type { JsonRpcId } from '@drawbridge/shared/mcp/json-rpc.ts'

/** What the outermost members of a message say. `invalid` is no message, or none that may stand alone. */
export type Envelope =
  | { kind: 'request'; id: JsonRpcId; method: string }
  | { kind: 'notification'; method: string }
  | { kind: 'response'; id: JsonRpcId; isError: boolean }
  /** Only 2025-03-26 has batches. */
  | { kind: 'batch' }
  | { kind: 'invalid'; id: JsonRpcId | undefined; reason: string }

/**
 * One message as it came, to be passed on byte by byte. `bytes` is UTF-8 JSON without any line end in it, so that it can be
 * a line of stdio.
 */
export interface WireMessage {
  bytes: Buffer
  envelope: Envelope
  /** The HTTP status of the refusal whose body this response was; undefined for whatever came with 2xx or without a status. */
  status?: number
  /** The bridge made it in place of a server that wants a sign-in: it says nothing about the server. */
  isStandIn?: true
}
