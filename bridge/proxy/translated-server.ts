import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonRpcMessage, JsonRpcRequest, JsonRpcResponse } from '@drawbridge/shared/mcp/json-rpc.ts'
import { isNestedDeeply, parseWireMessage, toWireMessage } from '@drawbridge/shared/mcp/message.ts'
import { TransportError } from '../transport/transport.ts'
import type { Transport } from '../transport/transport.ts'
import type { AskOptions, LegacySession, ModernServer } from '../adapter/translator.ts'

/** A leg of the modern era as a translator wants it. */
export function createModernServer(leg: Transport): ModernServer {
  return { request: (message, options) => ask(leg, message, options) }
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
