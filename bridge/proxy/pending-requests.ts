import type { JsonRpcId } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'

/** A request of the local client that has no answer yet. */
export interface PendingRequest {
  readonly id: JsonRpcId
  readonly method: string
  readonly era: McpEra
  readonly wire: WireMessage
  /** Ends what is done for it at the server. */
  readonly abort: AbortController
  /** Monotonic milliseconds of the last sign of life from the server. */
  heardAt: number
  /** What carries it; whoever does compares by identity. */
  handler: object | undefined
}

/** The requests that wait for an answer. Whoever takes one out may answer it, so that each is answered once. */
export interface PendingRequests {
  /** Undefined when a request with this id waits already. */
  open(id: JsonRpcId, method: string, era: McpEra, wire: WireMessage): PendingRequest | undefined
  get(id: JsonRpcId): PendingRequest | undefined
  isOpen(call: PendingRequest): boolean
  /** Whether the call was still waiting; it is not any more. */
  settle(call: PendingRequest): boolean
  calls(): Iterable<PendingRequest>
  readonly count: number
  /** Bytes of all requests that wait. */
  readonly bytes: number
}

/**
 * `clock` is what `heardAt` starts with. No `Map`, for the garbage of one where entries come and go: its old tables keep each
 * other alive, and with them every call there was, until the next full collection (see `createRoster`). There are never so
 * many calls that looking through a list would count: the proxy reads no more before there are.
 */
export function createPendingRequests(clock: { nowMs: number }): PendingRequests {
  const calls: PendingRequest[] = []
  let bytes = 0

  function find(id: JsonRpcId): PendingRequest | undefined {
    for (let index = calls.length - 1; index >= 0; index -= 1)
      if (calls[index]?.id === id) return calls[index]
    return undefined
  }

  return {
    open(id, method, era, wire) {
      if (find(id) !== undefined) return undefined
      const call: PendingRequest = {
        id,
        method,
        era,
        wire,
        abort: new AbortController(),
        heardAt: clock.nowMs,
        handler: undefined,
      }
      calls.push(call)
      bytes += wire.text.length
      return call
    },
    get: find,
    isOpen: (call) => calls.includes(call),
    settle(call) {
      const index = calls.lastIndexOf(call)
      if (index === -1) return false
      calls.splice(index, 1)
      bytes -= call.wire.text.length
      return true
    },
    calls: () => [...calls],
    get count() {
      return calls.length
    },
    get bytes() {
      return bytes
    },
  }
}
