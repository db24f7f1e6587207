import type { JsonRpcId } from '@drawbridge/shared/json-rpc.ts'
import type { McpEra } from '@drawbridge/shared/mcp-protocol.ts'
import type { WireMessage } from './wire-message.ts'

/** A request of the local client that has no answer yet. */
export interface CallInFlight {
  readonly id: JsonRpcId
  readonly method: string
  readonly era: McpEra
  readonly wire: WireMessage
  /** Ends what is done for it at the server. */
  readonly abort: AbortController
  /** Monotonic milliseconds of the last sign of life from the server. */
  heardAt: number
  /** What carries it; whoever does compares by identity. */
  carrier: object | undefined
}

/** The requests that wait for an answer. Whoever takes one out may answer it, so that each is answered once. */
export interface InFlight {
  /** Undefined when a request with this id waits already. */
  open(id: JsonRpcId, method: string, era: McpEra, wire: WireMessage): CallInFlight | undefined
  get(id: JsonRpcId): CallInFlight | undefined
  isOpen(call: CallInFlight): boolean
  /** Whether the call was still waiting; it is not any more. */
  settle(call: CallInFlight): boolean
  calls(): Iterable<CallInFlight>
  readonly count: number
  /** Bytes of all requests that wait. */
  readonly bytes: number
}

/** `clock` is what `heardAt` starts with. */
export function createInFlight(clock: { nowMs: number }): InFlight {
  const calls = new Map<JsonRpcId, CallInFlight>()
  let bytes = 0
  return {
    open(id, method, era, wire) {
      if (calls.has(id)) return undefined
      const call: CallInFlight = {
        id,
        method,
        era,
        wire,
        abort: new AbortController(),
        heardAt: clock.nowMs,
        carrier: undefined,
      }
      calls.set(id, call)
      bytes += wire.bytes.length
      return call
    },
    get: (id) => calls.get(id),
    isOpen: (call) => calls.get(call.id) === call,
    settle(call) {
      if (calls.get(call.id) !== call) return false
      calls.delete(call.id)
      bytes -= call.wire.bytes.length
      return true
    },
    calls: () => calls.values(),
    get count() {
      return calls.size
    },
    get bytes() {
      return bytes
    },
  }
}
