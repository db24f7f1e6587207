import {
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  ResourceTemplate,
  type ServerContext,
  type StandardSchemaWithJSON,
  type Tool,
  acceptedContent,
  completable,
  fromJsonSchema,
  inputRequired,
  inputResponse,
  requireScopes,
} from '@modelcontextprotocol/server'
import { guardCallbacks } from './callback-guard.ts'
import { offersTool } from '../../core/access/access-rules.ts'
import { type Call, type CallEnd, callOf } from '../../core/access/call-record.ts'
import { SignInNeededError, signedIn } from '../../core/tokens/caller.ts'
import type { McpEndpointConfig, ServingContext } from '../endpoint-config.ts'
import { type Incoming, callerOf } from '../incoming.ts'
import { type ToolNeeds, withSecuritySchemes } from '../tools/tool-scope.ts'
import { outcomeOf, unknownTool } from '../tools/tool-result.ts'
import { RequestStateCodec } from './request-state.ts'
import type { ClientChannel } from '../tools/tool-context.ts'
import type { RegisterKit } from '../tools/tool-module.ts'

/** Creates SDK servers with everything the module offers, each for one message or one session. */
export interface ServerFactory {
  create(serving: ServingContext): McpServer
  /** As `has` of an `McpEndpoint`. Of resources and prompts nothing is known before they are asked for. */
  has(call: Call): boolean | undefined
}

/** Creates the {@link ServerFactory}. Errors thrown by registered code are reported and never sent to clients. */
export function createServerFactory(config: McpEndpointConfig): ServerFactory {
  const states = new RequestStateCodec(config.sealer, config.runtime)
  const scopes = new Map(config.tools.map(({ listing, scope }) => [listing.name, scope]))
  const names = new Set(scopes.keys())
  const publicTools = new Set(
    config.tools.filter(({ isPublic }) => isPublic).map(({ listing }) => listing.name),
  )
  const create = (serving: ServingContext): McpServer => {
    // Between independent requests there is no way to send notifications or log messages.
    const lasting = serving.kind !== 'stateless'
    const server = new McpServer(config.serverInfo, {
      capabilities: lasting ? { logging: {} } : {},
      instructions: config.instructions,
      // Access rules may hide tools from some callers (MCP 2026-07-28, caching).
      cacheHints: { 'tools/list': { ttlMs: 0, cacheScope: 'private' } },
      requestState: { verify: (state) => states.open(state, serving.incoming()) },
    })
    guardCalls(server, serving, { scopes, names, publicTools })
    for (const { listing, call } of config.tools) {
      const { title, description, annotations, icons, inputSchema, outputSchema, _meta } = listing
      const shown = {
        ...(title !== undefined && { title }),
        ...(description !== undefined && { description }),
        ...(annotations && { annotations }),
        ...(icons && { icons }),
        ...(_meta && { _meta }),
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
      registerFor(serving, () => config.module.register?.(server, context, { ...kit, sealState }))
    }
    if (!lasting || !config.notifies) withdrawNotifications(server)
    return server
  }
  return { create, has: ({ event, name }) => event !== 'tool_called' || names.has(name) }
}

/** Runs `register`. What it would add after asking who calls is not there for an anonymous caller. */
function registerFor(serving: ServingContext, register: () => void): void {
  try {
    register()
  } catch (error) {
    if (!(error instanceof SignInNeededError) || serving.incoming().caller.user) throw error
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

type Handler = (request: { params: { name: string; uri: string } }, context: ServerContext) => unknown
type ListHandler = (
  request: unknown,
  context: ServerContext,
) => Promise<{ tools: Tool[] }> | { tools: Tool[] }

interface GuardedTools {
  scopes: ReadonlyMap<string, string | undefined>
  /** Gets the name of every tool that is registered. */
  names: Set<string>
  publicTools: ReadonlySet<string>
}

/**
 * Lists and calls only tools that the access rules leave to the caller, and records calls, also of what is registered later. Calls of
 * other tools are refused like those of unknown ones, with the next step, which the SDK does not name.
 */
function guardCalls(
  server: McpServer,
  serving: ServingContext,
  { scopes, names, publicTools }: GuardedTools,
): void {
  const own = new Set<string>()
  const register = server.registerTool.bind(server) as (name: string, ...rest: unknown[]) => unknown
  const handle = server.server.setRequestHandler.bind(server.server) as (...given: unknown[]) => void
  const isOffered = (name: string): boolean =>
    offersTool(serving.incoming().caller.access, name, scopes.get(name))

  function recorded(method: string, handler: Handler): Handler {
    return (request, context) => {
      const { id, signal } = context.mcpReq
      return recordCall(
        serving.incoming(),
        { id, method, params: request.params, signal },
        (name) => names.has(name),
        async () => (await handler(request, context)) as object,
      )
    }
  }

  function offered(handler: Handler): Handler {
    return (request, context) => {
      const { name } = request.params
      if (!own.has(name)) throw new ProtocolError(ProtocolErrorCode.InvalidParams, unknownTool(name))
      if (!isOffered(name)) throw new HiddenTool(name)
      if (!publicTools.has(name)) signedIn(serving.incoming().caller)
      return handler(request, context)
    }
  }

  function filtered(handler: ListHandler): ListHandler {
    return async (request, context) => {
      const { tools, ...rest } = await handler(request, context)
      const shown = tools.filter(({ name }) => isOffered(name))
      if (publicTools.size === 0) return { ...rest, tools: shown }
      const needs = ({ name }: Tool): ToolNeeds => ({
        isPublic: publicTools.has(name),
        scope: scopes.get(name),
      })
      return { ...rest, tools: shown.map((tool) => withSecuritySchemes(tool, needs(tool))) }
    }
  }

  const guards: Record<string, (handler: never) => unknown> = {
    'tools/call': (handler: Handler) => recorded('tools/call', offered(handler)),
    'tools/list': filtered,
    'resources/read': (handler: Handler) => recorded('resources/read', handler),
    'prompts/get': (handler: Handler) => recorded('prompts/get', handler),
  }
  Object.assign(server, {
    registerTool: (name: string, ...rest: unknown[]) => {
      own.add(name)
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

/** A tool that a rule hides from the caller, to whom it does not exist: the answer is that for an unknown one. */
class HiddenTool extends ProtocolError {
  constructor(name: string) {
    super(ProtocolErrorCode.InvalidParams, unknownTool(name))
  }
}

interface HandledRequest {
  id: string | number
  method: string
  params: unknown
  /** Aborted when the client cancels the request or leaves. */
  signal: AbortSignal
}

/** Handles a request, and records it if it is a call. `isKnown` says whether there is what it calls, and is asked at its end. */
async function recordCall<Result extends object>(
  { calls }: Pick<Incoming, 'calls'>,
  { id, method, params, signal }: HandledRequest,
  isKnown: (name: string) => boolean | undefined,
  handle: () => Promise<Result> | Result,
): Promise<Result> {
  const call = callOf({ id, method, params })
  if (!call) return handle()
  const finish = calls.begin(call)
  let end: Pick<CallEnd, 'outcome' | 'responseBytes'> = { outcome: 'failed' }
  try {
    const result = await handle()
    end = { outcome: outcomeOf(result), responseBytes: Buffer.byteLength(JSON.stringify(result)) }
    return result
  } catch (error) {
    if (error instanceof HiddenTool) end = { outcome: 'refused_rule' }
    throw error
  } finally {
    const known = method !== 'tools/call' || isKnown(call.name)
    finish({ ...end, isKnown: known, ...(signal.aborted && { outcome: 'cancelled' }) })
  }
}
