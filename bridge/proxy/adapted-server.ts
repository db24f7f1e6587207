import { parseJsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { parseJsonRpcMessage } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { JsonRpcMessage, JsonRpcRequest, JsonRpcResponse } from '@drawbridge/shared/mcp/json-rpc.ts'
import { isNestedDeeply, parseWireMessage, toWireMessage } from '@drawbridge/shared/mcp/message.ts'
import { TransportError } from '../transport/transport.ts'
import type { Transport } from '../transport/transport.ts'
import type { AskOptions, LegacySession, ModernServer } from '@drawbridge/shared/mcp/adapter/ports.ts'

/** A leg of the modern era as a translator wants it. */
export function createModernServer(leg: Transport): ModernServer {
  return { request: (message, options) => ask(leg, message, options), errorResponse }
}

/**
 * Opens a session on a leg that was made for it. An error as the answer to `initialize` is thrown as a `TransportError` that
 * has it as its `response`.
 */
export async function openLegacySession(leg: Transport, initialize: JsonRpcRequest): Promise<LegacySession> {
  const answer = await ask(leg, initialize)
  if ('error' in answer)
    throw new TransportError('refused', answer.error.message, { response: toWireMessage(answer) })
  const send = (message: JsonRpcMessage): Promise<void> => leg.send(toWireMessage(message), { deliver() {} })
  await send({ jsonrpc: '2.0', method: 'notifications/initialized' })
  return {
    initialized: answer.result as JsonObject,
    request: (message, options) => ask(leg, message, options),
    notify: send,
    answer: send,
    close: () => leg.close(closeGraceMs),
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

/** Resolves at the answer, even if the exchange goes on behind it. */
function ask(leg: Transport, message: JsonRpcRequest, options: AskOptions = {}): Promise<JsonRpcResponse> {
  const { signal, onMessage } = options
  return new Promise((resolve, reject) => {
    leg
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
        () => reject(new TransportError('lost', 'The server ended the exchange without an answer.')),
        reject,
      )
  })
}
