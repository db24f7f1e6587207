import {
  acceptedContent,
  completable,
  fromJsonSchema,
  inputRequired,
  inputResponse,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  requireScopes,
  ResourceTemplate,
  type ServerContext,
  type StandardSchemaWithJSON,
  type Tool,
} from '@modelcontextprotocol/server'
import { guardCallbacks } from './callback-guard.ts'
import { offersTool } from '../../core/access/access-rules.ts'
import type { McpEndpointConfig } from '../endpoint-config.ts'
import { callerOf, type Incoming } from '../incoming.ts'
import { unknownTool } from '../tools/tool.ts'
import { RequestStateCodec } from './request-state.ts'
import type { ClientChannel } from '../tools/tool-context.ts'
import type { RegisterKit } from '../tools/tool-module.ts'

/**
 * What a server is created for: a single message, of 2026-07-28 or `stateless` of an earlier revision, or a whole
 * session. `incoming` returns what is being served at the moment of the call.
 */
export interface ServingContext {
  kind: '2026-07-28' | 'session' | 'stateless'
  incoming: () => Incoming
}

/** Creates SDK servers with everything the module offers, each for one message or one session. */
export type ServerFactory = (serving: ServingContext) => McpServer

/** Creates the {@link ServerFactory}. Errors thrown by registered code are reported and never sent to clients. */
export function createServerFactory(config: McpEndpointConfig): ServerFactory {
  const states = new RequestStateCodec(config.sealer, config.runtime)
  return (serving) => {
    // Between independent requests there is no way to send notifications or log messages.
    const lasting = serving.kind !== 'stateless'
    const server = new McpServer(config.serverInfo, {
      capabilities: lasting ? { logging: {} } : {},
      instructions: config.instructions,
      // Access rules may hide tools from some callers (MCP 2026-07-28, caching).
      cacheHints: { 'tools/list': { ttlMs: 0, cacheScope: 'private' } },
      requestState: { verify: (state) => states.open(state, serving.incoming()) },
    })
    offerTools(server, new Map(config.tools.map(({ listing, scope }) => [listing.name, scope])))
    for (const { listing, call } of config.tools) {
      const { title, description, annotations, icons, inputSchema, outputSchema } = listing
      const shown = {
        ...(title !== undefined && { title }),
        ...(description !== undefined && { description }),
        ...(annotations && { annotations }),
        ...(icons && { icons }),
        inputSchema: asIs(inputSchema),
        ...(outputSchema && { outputSchema: asIs(outputSchema) }),
      }
      server.registerTool(listing.name, shown, (input: unknown, context: ServerContext) =>
        call(input, config.contexts.ofCall(callerOf(context), channelOf(context))),
      )
    }
    if (config.module.register) {
      guardCallbacks(server, config.report)
      const context = config.contexts.ofCaller(() => serving.incoming().caller)
      const sealState = (state: unknown): string => states.seal(state, serving.incoming())
      config.module.register(server, context, { ...kit, sealState })
    }
    if (!lasting || !config.notifies) withdrawNotifications(server)
    return server
  }
}

const kit: Omit<RegisterKit, 'sealState'> = {
  ResourceTemplate,
  completable,
  inputRequired,
  inputResponse,
  acceptedContent,
  fromJsonSchema,
  requireScopes,
}

/** A schema for the listing only: plain tools check their arguments and answers themselves. */
function asIs(schema: Tool['inputSchema'] | NonNullable<Tool['outputSchema']>): StandardSchemaWithJSON {
  return {
    '~standard': {
      version: 1,
      vendor: 'drawbridge',
      validate: (value) => ({ value }),
      jsonSchema: { input: () => schema, output: () => schema },
    },
  }
}

/** Connects a running tool to the client that called it. Messages that cannot be delivered are dropped. */
function channelOf({ mcpReq }: ServerContext): ClientChannel {
  const { progressToken } = (mcpReq._meta ?? {}) as { progressToken?: string | number }
  const drop = (): void => {}
  return {
    get signal() {
      return mcpReq.signal
    },
    progress(progress, total, message) {
      if (progressToken === undefined) return
      const params = { progressToken, progress, total, message }
      mcpReq.notify({ method: 'notifications/progress', params }).catch(drop)
    },
    log: (level, data) => void mcpReq.log(level, data).catch(drop),
  }
}

/** Withdraws the capabilities that depend on notifications (MCP 2025-11-25 lifecycle, capability negotiation). */
function withdrawNotifications({ server }: McpServer): void {
  const { tools, resources, prompts } = server.getCapabilities()
  server.registerCapabilities({
    ...(tools && { tools: { listChanged: false } }),
    ...(resources && { resources: { listChanged: false, subscribe: false } }),
    ...(prompts && { prompts: { listChanged: false } }),
  })
}

type CallHandler = (request: { params: { name: string } }, context: ServerContext) => unknown
type ListHandler = (
  request: unknown,
  context: ServerContext,
) => Promise<{ tools: Tool[] }> | { tools: Tool[] }

/**
 * Lists and calls only tools that the access rules leave to the caller. Refuses calls of others like those of unknown ones, with the
 * next step, which the SDK does not name. Applies to tools registered later; `scopes` are those of plain tools.
 */
function offerTools(server: McpServer, scopes: ReadonlyMap<string, string | undefined>): void {
  const names = new Set<string>()
  const register = server.registerTool.bind(server) as (name: string, ...rest: unknown[]) => unknown
  const handle = server.server.setRequestHandler.bind(server.server) as (...given: unknown[]) => void
  const isOffered = (name: string, context: ServerContext): boolean =>
    offersTool(callerOf(context).access, name, scopes.get(name))
  const guards: Record<string, (handler: never) => unknown> = {
    'tools/call':
      (handler: CallHandler): CallHandler =>
      (request, context) => {
        const { name } = request.params
        if (names.has(name) && isOffered(name, context)) return handler(request, context)
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, unknownTool(name))
      },
    'tools/list':
      (handler: ListHandler): ListHandler =>
      async (request, context) => {
        const { tools, ...rest } = await handler(request, context)
        return { ...rest, tools: tools.filter(({ name }) => isOffered(name, context)) }
      },
  }
  Object.assign(server, {
    registerTool: (name: string, ...rest: unknown[]) => {
      names.add(name)
      return register(name, ...rest)
    },
  })
  Object.assign(server.server, {
    setRequestHandler(method: string, ...rest: unknown[]) {
      const guard = guards[method]
      if (guard) handle(method, guard(rest.at(-1) as never))
      else handle(method, ...rest)
    },
  })
}
