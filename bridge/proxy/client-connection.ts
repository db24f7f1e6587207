import { isJsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { jsonRpcError } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { JsonRpcId } from '@drawbridge/shared/mcp/json-rpc.ts'
import { toWireMessage } from '@drawbridge/shared/mcp/message.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'
import type { PendingRequest, PendingRequests } from './pending-requests.ts'
import { TransportError } from '../transport/transport.ts'
import { isSignInNeeded } from '../sign-in/sign-in-attempt.ts'
import type { ToolFilter } from './tool-filter.ts'
import type { DescribeFailure } from '@drawbridge/shared/mcp/adapter/ports.ts'

/** The way back to the local client. Lets one answer through for each call, and none for a call that is over. */
export interface ClientConnection {
  /** A message of the server that came for this call. Resolves when there is room for the next one. */
  forCall(call: PendingRequest, message: WireMessage): Promise<void>
  /** A message that comes for no call in particular, or whose call only its id tells. */
  unsolicited(message: WireMessage): Promise<void>
  /** Answers a call with what went wrong: the server's own words if it had any. */
  fail(call: PendingRequest, error: unknown): void
  /** Answers something that never became a call. */
  refuse(id: JsonRpcId | null, code: number, reason: string): void
}

/** What goes out, and by which rules. */
export interface ClientConnectionPorts {
  pendingRequests: PendingRequests
  filter: ToolFilter
  describeFailure: DescribeFailure
  write(message: WireMessage): Promise<void>
  /** The server has said something for this call. */
  heard(call: PendingRequest): void
  /** A call has been answered: there may be room for more. */
  answered(call: PendingRequest): void
  note(text: string): void
}

const done = Promise.resolve()

/** Knows nothing of eras: answers look alike in both. */
export function createClientConnection(ports: ClientConnectionPorts): ClientConnection {
  const { pendingRequests, filter } = ports

  function answer(call: PendingRequest, message: WireMessage): Promise<void> {
    if (!pendingRequests.settle(call)) return done
    const isFiltered = filter.hasRules && call.method === 'tools/list'
    const written = ports.write(isFiltered ? filtered(call.id, message) : message)
    ports.answered(call)
    return written
  }

  /** What cannot be filtered is not shown. */
  function filtered(id: JsonRpcId, message: WireMessage): WireMessage {
    try {
      return filterTools(message, filter)
    } catch (error) {
      return describe(id, error, ports.describeFailure)
    }
  }

  return {
    forCall(call, message) {
      const { envelope } = message
      ports.heard(call)
      switch (envelope.kind) {
        case 'response':
          if (envelope.id === call.id) return answer(call, message)
          ports.note('The server answered a request that was not asked there.')
          return done
        case 'request':
        case 'notification':
          return ports.write(message)
        default:
          ports.note('The server sent something that is no message.')
          return done
      }
    },
    unsolicited(message) {
      const { envelope } = message
      if (envelope.kind === 'request' || envelope.kind === 'notification') return ports.write(message)
      const call = envelope.kind === 'response' ? pendingRequests.get(envelope.id) : undefined
      return call === undefined ? done : answer(call, message)
    },
    fail(call, error) {
      if (!pendingRequests.isOpen(call)) return
      const theirs = error instanceof TransportError && !isSignInNeeded(error) ? error.response : undefined
      void answer(
        call,
        (theirs && withId(theirs, call.id)) ?? describe(call.id, error, ports.describeFailure),
      )
    },
    refuse(id, code, reason) {
      // This answer names no request that can be looked up again by its id.
      const message = toWireMessage(jsonRpcError(id, code, reason))
      void ports.write(message)
    },
  }
}

function describe(id: JsonRpcId, error: unknown, describeFailure: DescribeFailure): WireMessage {
  const { code, message, data } = describeFailure(error)
  return toWireMessage(jsonRpcError(id, code, message, data))
}

/** An error that the server could not give an id, because it did not read that far, gets the one that it is for. */
function withId(response: WireMessage, id: JsonRpcId): WireMessage | undefined {
  const { envelope } = response
  if (envelope.kind === 'response' && envelope.id === id) return response
  const body = parseJsonObject(response.text)
  const error = body?.['error']
  if (!isJsonObject(error) || typeof error['code'] !== 'number' || typeof error['message'] !== 'string')
    return undefined
  return toWireMessage({
    ...body,
    jsonrpc: '2.0',
    id,
    error: { ...error, code: error['code'], message: error['message'] },
  })
}

function filterTools(message: WireMessage, filter: ToolFilter): WireMessage {
  if (message.envelope.kind === 'response' && message.envelope.isError) return message
  const body = parseJsonObject(message.text)
  const result = body?.['result']
  if (body === undefined || !isJsonObject(result)) return message
  const kept = { ...body, result: filter.filterResult(result) }
  return { text: JSON.stringify(kept), envelope: message.envelope }
}
