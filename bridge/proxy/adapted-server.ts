import { parseJsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { parseJsonRpcMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { JsonRpcMessage, JsonRpcRequest, JsonRpcResponse } from '@drawbridge/shared/mcp/json-rpc.ts'
import { isNestedDeeply, parseWireMessage, toWireMessage } from '@drawbridge/shared/mcp/message.ts'
import { TransportError } from '../transport/transport.ts'
import type { Transport } from '../transport/transport.ts'
import type { RequestOptions, Session2025, Server2026 } from '@drawbridge/shared/mcp/adapter/ports.ts'

/** A transport as the adapter's 2026-07-28 server. */
export function createServer2026(transport: Transport): Server2026 {
  return { request: (message, options) => request(transport, message, options), errorResponse }
}

/**
 * Opens a session on a new transport. An error as the answer to `initialize` is thrown as a `TransportError` that
 * has it as its `response`.
 */
export async function openSession2025(
  transport: Transport,
  initialize: JsonRpcRequest,
): Promise<Session2025> {
  const answer = await request(transport, initialize)
  if ('error' in answer)
    throw new TransportError('refused', answer.error.message, { response: toWireMessage(answer) })
  const send = (message: JsonRpcMessage): Promise<void> =>
    transport.send(toWireMessage(message), { deliver() {} })
  await send({ jsonrpc: '2.0', method: 'notifications/initialized' })
  return {
    initialized: answer.result as JsonObject,
    request: (message, options) => request(transport, message, options),
    notify: send,
    answer: send,
    close: () => transport.close(closeGraceMs),
  }
}

/** The JSON-RPC error that a server sent as the body of a 4xx; undefined if something else failed. */
export function errorResponse(failure: unknown): JsonRpcResponse | undefined {
  if (!(failure instanceof TransportError) || failure.response === undefined) return undefined
  // Signing in settles 401 and 403, whatever their body says.
  if (failure.fault !== 'refused' && failure.fault !== 'not_found') return undefined
  const parsed = parseJsonRpcMessage(parseJsonObject(failure.response.text))
  return parsed.kind === 'response' && 'error' in parsed.message ? parsed.message : undefined
}

const closeGraceMs = 500

/** Resolves at the response, even if the stream stays open after it. */
function request(
  transport: Transport,
  message: JsonRpcRequest,
  options: RequestOptions = {},
): Promise<JsonRpcResponse> {
  const { signal, onMessage } = options
  return new Promise((resolve, reject) => {
    transport
      .send(toWireMessage(message), {
        ...(signal === undefined ? {} : { signal }),
        deliver(wire) {
          const { kind } = wire.envelope
          if (isNestedDeeply(wire))
            throw new TransportError(
              'too_large',
              'An answer of the server is nested more than 1000 levels deep.',
            )
          if (kind === 'response') return resolve(parseWireMessage(wire) as JsonRpcResponse)
          if (kind === 'request' || kind === 'notification') return onMessage?.(parseWireMessage(wire))
        },
      })
      .then(
        () => reject(new TransportError('lost', 'The server ended the serverCall without an answer.')),
        reject,
      )
  })
}
