import { jsonRpcCode } from '../../json-rpc.ts'
import type { JsonRpcMessage, JsonRpcRequest } from '../../json-rpc.ts'
import { isChangeNotification } from '../subscription-filter.ts'
import type { ServerCall } from './server-call.ts'
import type { OnSessionMessage, UpstreamSession } from './sessions.ts'
import type { Subscriptions } from './subscriptions.ts'

/**
 * Gives what arrives on the GET stream of a session to the subscriptions or to the call that it belongs to. Old transports,
 * and servers that do not say which call they ask for, send their requests there.
 */
export function createGetStreamRouter(
  activeCalls: ReadonlySet<ServerCall>,
  subscriptions: Subscriptions,
): OnSessionMessage {
  const callsOf = (session: UpstreamSession): ServerCall[] =>
    [...activeCalls].filter((call) => call.session === session)

  function onRequest(session: UpstreamSession, request: JsonRpcRequest): void | Promise<void> {
    const [call, ...others] = callsOf(session).filter(({ takesInput }) => takesInput)
    // With several calls there is no telling which one it belongs to.
    return call !== undefined && others.length === 0 ? call.receive(request) : refuse(session, request)
  }

  return (session: UpstreamSession, message: JsonRpcMessage) => {
    if (!('method' in message)) return
    if ('id' in message) return onRequest(session, message)
    if (isChangeNotification(message)) return subscriptions.notify(session, message)
    return callsOf(session)
      .find((call) => call.concerns(message))
      ?.receive(message)
  }
}

function refuse({ remote }: UpstreamSession, { id, method }: JsonRpcRequest): Promise<void> {
  const message = 'No running call can pass this request to the client.'
  const answer = remote.answer(
    method === 'ping'
      ? { jsonrpc: '2.0', id, result: {} }
      : { jsonrpc: '2.0', id, error: { code: jsonRpcCode.methodNotFound, message } },
  )
  return answer.catch(() => {})
}
