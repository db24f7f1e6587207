import {
  type JSONRPCRequest,
  type McpServer,
  ProtocolError,
  ProtocolErrorCode,
  ResourceTemplate,
  type ServerContext,
  type ServerOptions,
  type StandardSchemaWithJSON,
  type Tool,
  acceptedContent,
  completable,
  fromJsonSchema,
  inputRequired,
  inputResponse,
  requireScopes,
} from '@modelcontextprotocol/server'
import { withoutNotifications } from '@drawbridge/shared/mcp/adapter/capabilities.ts'
import { jsonRpcCode, type JsonRpcErrorObject } from '@drawbridge/shared/mcp/json-rpc.ts'
import { isClientRequest } from '@drawbridge/shared/mcp/methods.ts'
import { GuardedMcpServer } from './guarded-mcp-server.ts'
import { offersTool } from '../../core/access/access-rules.ts'
import {
  type Call,
  type CallEnd,
  callOf,
  callsOf,
  type IncomingCalls,
} from '../../core/access/call-record.ts'
import { scopeOfTool } from '../../core/gateway/upstream.ts'
import { SignInNeededError, signedIn } from '../../core/tokens/caller.ts'
import { offersSignIn } from '../../core/tokens/sign-in-tool.ts'
import type { McpEndpointConfig, ServingContext } from '../endpoint-config.ts'
import type { Incoming } from '../incoming.ts'
import { isReadOnly } from '../known-tools.ts'
import { paramsFault } from '../request-params.ts'
import { signInListing, type ToolNeeds, withSecuritySchemes } from '../tools/tool-scope.ts'
import { outcomeOf, unknownTool } from '../tools/tool-result.ts'
import { RequestStateCodec } from './request-state.ts'
import type { ClientChannel } from '../tools/tool-context.ts'
import type { RegisterKit } from '../tools/tool-module.ts'

/** Creates SDK servers with everything the module offers, each for one message or one session. */
export interface ServerFactory {
  create(serving: ServingContext): McpServer
  /** As `has` of an `McpEndpoint`. Resources and prompts are unknown until requested. */
  has(call: Call): boolean | undefined
  /** As `scopeOf` of an `McpEndpoint`. A tool that `register` adds counts as it was last registered; never, as a write. */
  scopeOf(tool: string): string | undefined
  /** Registers what the module has for a caller, if a scope that they may lack depends on that. */
  learn(incoming: Incoming): void
}

/** Creates the {@link ServerFactory}. Errors thrown by registered code are reported and never sent to clients. */
export function createServerFactory(config: McpEndpointConfig): ServerFactory {
  const states = new RequestStateCodec(config.sealer, config.runtime)
  const scopes = new Map(config.tools.map(({ listing, scope }) => [listing.name, scope]))
  const names = new Set(scopes.keys())
  const marks = new Map<string, boolean>()
  const toolScopes = Object.entries(config.module.toolScopes ?? {})
  const scopeOf: ServerFactory['scopeOf'] = (name) =>
    scopes.has(name)
      ? scopes.get(name)
      : scopeOfTool({ scopes: toolScopes, publicTools: noTools }, { name, isReadOnly: marks.get(name) })
  const publicTools = new Set(
    config.tools.filter(({ isPublic }) => isPublic).map(({ listing }) => listing.name),
  )
  const has: ServerFactory['has'] = ({ event, name }) => event !== 'tool_called' || names.has(name)
  const create = (serving: ServingContext): McpServer => {
    // Between independent requests there is no way to send notifications or log messages.
    const lasting = serving.kind !== 'stateless'
    const options: ServerOptions = {
      capabilities: lasting ? { logging: {} } : {},
      instructions: config.instructions,
      // Access rules may hide tools from some callers (MCP 2026-07-28, caching).
      cacheHints: { 'tools/list': { ttlMs: 0, cacheScope: 'private' } },
      requestState: { verify: (state) => states.open(state, serving.incoming()) },
    }
    const registered = { mayBeMore: false }
    const own = new Set<string>()
    const guards = callGuards(serving, { scopeOf, names, own, publicTools, registered })
    const server = new GuardedMcpServer(config.serverInfo, options, {
      report: config.report,
      onTool(name, tool) {
        own.add(name)
        marks.set(name, isReadOnly(tool))
        names.add(name)
      },
      wrap: (method, handler) => guards[method]?.(handler as never) ?? handler,
      // The endpoint has looked at a message that came alone.
      refuse(message) {
        const { body, calls } = serving.incoming()
        return Array.isArray(body) ? invalidParams(message, 'earlier', { calls, has }) : undefined
      },
    })
    for (const { listing, call } of config.tools) {
      const { name, inputSchema, outputSchema, ...rest } = listing
      const shown = {
        ...rest,
        inputSchema: asIs(inputSchema),
        ...(outputSchema && { outputSchema: asIs(outputSchema) }),
      }
      server.registerTool(name, shown, (input: unknown, context: ServerContext) =>
        call(input, config.contexts.ofCall(serving.incoming().caller, channelOf(context))),
      )
    }
    if (config.module.register) {
      const context = config.contexts.ofCaller(() => serving.incoming().caller)
      const sealState = (state: unknown): string => states.seal(state, serving.incoming())
      registered.mayBeMore = !registerFor(serving, () =>
        config.module.register?.(server, context, { ...kit, sealState }),
      )
    }
    if (!lasting || !config.notifies)
      server.server.registerCapabilities(withoutNotifications({ ...server.server.getCapabilities() }))
    return server
  }
  const learn: ServerFactory['learn'] = (incoming) => {
    const isOfModule = ({ event, name }: Call): boolean => event === 'tool_called' && !scopes.has(name)
    const held = incoming.caller.scope.split(' ')
    const mayLack = config.module.register && toolScopes.some(([, scope]) => !held.includes(scope))
    if (mayLack && callsOf(incoming.body).some(isOfModule))
      create({ kind: 'stateless', incoming: () => incoming })
  }
  return { create, has, scopeOf, learn }
}

const noTools: ReadonlySet<string> = new Set()

/**
 * Returns the error for a request whose parameters are wrong, in words, and records it if it is a call. The SDK would call it an
 * internal error, and show its validator.
 */
export function invalidParams(
  message: JSONRPCRequest,
  revision: 'earlier' | 'revision_2026',
  { calls, has }: { calls: IncomingCalls; has: ServerFactory['has'] },
): JsonRpcErrorObject | undefined {
  const fault = isClientRequest(message.method, revision) ? paramsFault(message) : undefined
  if (fault === undefined) return undefined
  const call = callOf(message)
  if (call) calls.refuse(call, { outcome: 'failed', isKnown: has(call) })
  return { code: jsonRpcCode.invalidParams, message: fault }
}

/**
 * Runs `register`. Returns false if it asked for the user of an anonymous caller: then it may have more for signed-in callers.
 */
function registerFor(serving: ServingContext, register: () => void): boolean {
  try {
    register()
    return true
  } catch (error) {
    if (!(error instanceof SignInNeededError) || serving.incoming().caller.user) throw error
    return false
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

type Handler = (request: { params: { name: string; uri: string } }, context: ServerContext) => unknown
type ListHandler = (
  request: unknown,
  context: ServerContext,
) => Promise<{ tools: Tool[] }> | { tools: Tool[] }

interface GuardedTools {
  scopeOf: ServerFactory['scopeOf']
  /** The names of all tools that were ever registered. */
  names: ReadonlySet<string>
  /** This server's own. */
  own: ReadonlySet<string>
  publicTools: ReadonlySet<string>
  /** Whether the module may register more for callers who have signed in. */
  registered: { mayBeMore: boolean }
}

/**
 * Creates the wrappers of handlers, by method: they list and call only tools that the access rules leave to the caller, and record
 * calls. Calls of other tools are refused like those of unknown ones, with the next step, which the SDK does not name.
 */
function callGuards(
  serving: ServingContext,
  { scopeOf, names, own, publicTools, registered }: GuardedTools,
): Partial<Record<string, (handler: never) => ListHandler | Handler>> {
  const isOffered = (name: string): boolean =>
    offersTool(serving.incoming().caller.access, name, scopeOf(name))

  /** Records each call and how it ended. Whether the tool is known is read at the end. */
  function recorded(method: string, handler: Handler): Handler {
    return async (request, context) => {
      const { id, signal } = context.mcpReq
      const call = callOf({ id, method, params: request.params })
      const finish = call && serving.incoming().calls.begin(call)
      let end: Pick<CallEnd, 'outcome' | 'responseBytes'> = { outcome: 'failed' }
      try {
        const result = (await handler(request, context)) as object
        end = { outcome: outcomeOf(result), responseBytes: Buffer.byteLength(JSON.stringify(result)) }
        return result
      } catch (error) {
        if (error instanceof HiddenTool) end = { outcome: 'refused_rule' }
        throw error
      } finally {
        const isKnown = method !== 'tools/call' || names.has(request.params.name)
        finish?.({ ...end, isKnown, ...(signal.aborted && { outcome: 'cancelled' }) })
      }
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
        scope: scopeOf(name),
      })
      const named = tools.map(({ name }) => ({ name, scope: scopeOf(name) }))
      const signIn = offersSignIn(serving.incoming().caller, named, { publicTools, ...registered })
        ? [signInListing]
        : []
      return { ...rest, tools: [...shown.map((tool) => withSecuritySchemes(tool, needs(tool))), ...signIn] }
    }
  }

  return {
    'tools/call': (handler: Handler) => recorded('tools/call', offered(handler)),
    'tools/list': filtered,
    'resources/read': (handler: Handler) => recorded('resources/read', handler),
    'prompts/get': (handler: Handler) => recorded('prompts/get', handler),
  }
}

/** A tool that a rule hides from the caller, to whom it does not exist: the answer is that for an unknown one. */
class HiddenTool extends ProtocolError {
  constructor(name: string) {
    super(ProtocolErrorCode.InvalidParams, unknownTool(name))
  }
}
