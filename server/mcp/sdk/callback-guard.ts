import {
  type McpServer,
  ProtocolError,
  ProtocolErrorCode,
  SdkError,
  type ServerContext,
} from '@modelcontextprotocol/server'
import type { McpEndpointConfig } from '../endpoint-config.ts'
import { toolFailure } from '../tools/tool-result.ts'

type Callback = (...given: unknown[]) => unknown

/**
 * The context of a handler, with its requests to the client sent on the stream of its own call. The SDK would use the GET stream, which is
 * for messages without a call (MCP 2025-11-25 transports), and which not every client opens.
 */
function withRequestsOnOwnStream(context: ServerContext): ServerContext {
  const { mcpReq } = context
  const related = { relatedRequestId: mcpReq.id }
  return {
    ...context,
    mcpReq: {
      ...mcpReq,
      elicitInput: (params, options) => mcpReq.elicitInput(params, { ...related, ...options }),
      requestSampling: (params, options) => mcpReq.requestSampling(params, { ...related, ...options }),
    },
  }
}

const failureText = 'failed on the server. Try again; if it keeps failing, tell the operator of the server.'

/**
 * Wraps every callback and handler that is registered from now on: the SDK would send the message of any error to the
 * client. Errors of the protocol, and of requests to the client, are meant for it and pass.
 */
export function guardCallbacks(server: McpServer, report: McpEndpointConfig['report']): void {
  const guarded =
    (callback: Callback, answer: (error: unknown) => unknown): Callback =>
    async (...given) => {
      try {
        return await callback(...given)
      } catch (error) {
        if (error instanceof ProtocolError || error instanceof SdkError) throw error
        // A call that was cancelled fails because of that.
        const { mcpReq } = given.at(-1) as ServerContext
        if (!mcpReq.signal.aborted) report('tool_failed', error)
        return answer(error)
      }
    }
  const asking =
    (callback: Callback): Callback =>
    (...given) =>
      callback(...given.slice(0, -1), withRequestsOnOwnStream(given.at(-1) as ServerContext))
  const wrap = (method: 'registerTool' | 'registerPrompt' | 'registerResource', answer: Callback): void => {
    const register = (server[method] as Callback).bind(server)
    const wrapped: Callback = (...given) =>
      register(...given.slice(0, -1), guarded(asking(given.at(-1) as Callback), answer))
    Object.assign(server, { [method]: wrapped })
  }
  const fail = (): never => {
    throw new ProtocolError(ProtocolErrorCode.InternalError, `It ${failureText}`)
  }
  wrap('registerTool', () => toolFailure(`The tool ${failureText}`))
  wrap('registerPrompt', fail)
  wrap('registerResource', fail)
  // Completions, lists of templates, and handlers that a module sets itself.
  const handle = server.server.setRequestHandler.bind(server.server) as Callback
  Object.assign(server.server, {
    setRequestHandler: (...given: unknown[]) =>
      handle(...given.slice(0, -1), guarded(given.at(-1) as Callback, fail)),
  })
}
