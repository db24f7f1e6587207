import {
  type Implementation,
  isJSONRPCRequest,
  type JSONRPCRequest,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type RegisteredPrompt,
  type RegisteredTool,
  SdkError,
  Server,
  type ServerContext,
  type ServerOptions,
  type Transport,
} from '@modelcontextprotocol/server'
import type { JsonRpcErrorObject } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { McpEndpointConfig } from '../endpoint-config.ts'
import { ServiceCallerError } from '../../core/tokens/caller.ts'
import { failureText, toolError, toolFailure } from '../tools/tool-result.ts'

type Callback = (...given: never[]) => unknown

/** Hooks of a {@link GuardedMcpServer}. */
export interface ServerHooks {
  /** Gets the errors of registered code. */
  report: McpEndpointConfig['report']
  /** Gets the name of each tool before it is registered, and what it is registered with. */
  onTool(name: string, tool: unknown): void
  /** Returns the handler to set for `method` instead of this one. */
  wrap(method: string, handler: Callback): Callback
  /** Returns the error that answers a request instead of its handler. */
  refuse(message: JSONRPCRequest): JsonRpcErrorObject | undefined
}

/**
 * An MCP server that keeps errors of the callbacks and handlers registered with it from the client: the SDK would send their messages.
 * Errors of the protocol, and of requests to the client, are meant for it and pass.
 */
export class GuardedMcpServer extends McpServer {
  override readonly server: Server
  readonly #hooks: ServerHooks

  constructor(info: Implementation, options: ServerOptions, hooks: ServerHooks) {
    super(info, options)
    this.#hooks = hooks
    // Completions, lists of templates, and handlers that a module sets itself have no callback to guard.
    this.server = new WrappingServer(info, options, (method, handler) =>
      hooks.wrap(method, this.#guard(handler, fail)),
    )
  }

  override async connect(transport: Transport): Promise<void> {
    await super.connect(transport)
    const { onmessage } = transport
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- it has no other way
    transport.onmessage = (message, extra) => {
      const error = isJSONRPCRequest(message) ? this.#hooks.refuse(message) : undefined
      if (!error || !isJSONRPCRequest(message)) return onmessage?.(message, extra)
      // A client that has left gets no answer.
      transport.send({ jsonrpc: '2.0', id: message.id, error }).catch(() => {})
    }
  }

  override registerTool(name: string, ...rest: unknown[]): RegisteredTool {
    this.#hooks.onTool(name, rest[0])
    const register = super.registerTool as (...given: unknown[]) => RegisteredTool
    return register.call(this, name, ...this.#guardLast(rest, toolFailureOf))
  }

  override registerPrompt(...given: unknown[]): RegisteredPrompt {
    const register = super.registerPrompt as (...given: unknown[]) => RegisteredPrompt
    return register.apply(this, this.#guardLast(given, fail))
  }

  // Returns a resource or a template, as its parameters say.
  override registerResource(...given: unknown[]): never {
    const register = super.registerResource as (...given: unknown[]) => never
    return register.apply(this, this.#guardLast(given, fail))
  }

  #guardLast(given: unknown[], answer: (error: unknown) => unknown): unknown[] {
    const callback = given.at(-1) as Callback
    const onOwnStream: Callback = (...parameters) =>
      callback(...withLast(parameters, withRequestsOnOwnStream(parameters.at(-1) as never) as never))
    return withLast(given, this.#guard(onOwnStream, answer))
  }

  #guard(callback: Callback, answer: (error: unknown) => unknown): Callback {
    return async (...given) => {
      try {
        return await callback(...given)
      } catch (error) {
        if (error instanceof ProtocolError || error instanceof SdkError) throw error
        // A call that was cancelled fails because of that.
        const { mcpReq }: ServerContext = given.at(-1) as never
        if (!mcpReq.signal.aborted) this.#hooks.report('tool_failed', error)
        return answer(error)
      }
    }
  }
}

function toolFailureOf(error: unknown): ReturnType<typeof toolFailure> {
  return error instanceof ServiceCallerError ? toolError(error.message) : toolFailure()
}

/** Wraps every handler with `wrap`, except the SDK's own, which the base class sets in its constructor. */
class WrappingServer extends Server {
  // Undefined in the constructor of the base class.
  private readonly wrap: ServerHooks['wrap'] | undefined

  constructor(info: Implementation, options: ServerOptions, wrap: ServerHooks['wrap']) {
    super(info, options)
    this.wrap = wrap
  }

  override setRequestHandler(method: string, ...rest: unknown[]): void {
    const handler = rest.at(-1) as Callback
    const set = super.setRequestHandler as (...given: unknown[]) => void
    set.call(this, method, ...withLast(rest, this.wrap?.(method, handler) ?? handler))
  }
}

function withLast<T>(list: readonly T[], last: T): T[] {
  return [...list.slice(0, -1), last]
}

function fail(): never {
  throw new ProtocolError(ProtocolErrorCode.InternalError, `It ${failureText}`)
}

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
