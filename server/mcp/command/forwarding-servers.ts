import {
  type JSONRPCRequest,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
  type Result,
  type ServerCapabilities,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { inputMethods, readInputRound } from '@drawbridge/shared/mcp/adapter/input-required.ts'
import { toResult2025 } from '@drawbridge/shared/mcp/adapter/2025-to-2026/result.ts'
import { legacyRevisions, mcpMetaKey } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { logSeverity, metaOf } from '@drawbridge/shared/mcp/params.ts'
import { offersTool } from '../../core/access/access-rules.ts'
import type { UpstreamPolicy } from '../../core/gateway/upstream.ts'
import { needsOfTool, offersUpstreamTool, scopeOfTool } from '../../core/gateway/upstream-policy.ts'
import type { Caller } from '../../core/tokens/caller.ts'
import type { Call } from '../../core/tokens/call-record.ts'
import type { Incoming } from '../incoming.ts'
import { askClient, type Client, drop, type OpenCall, requestedLevel } from './forwarded-call.ts'
import type { ConnectedClients } from './connected-clients.ts'
import { HiddenTool, recordCall } from '../sdk/recorded-call.ts'
import type { RequestStateCodec } from '../sdk/request-state.ts'
import type { ServerFactory, ServingContext } from '../sdk/sdk-server.ts'
import { withSecuritySchemes } from '../tools/security-schemes.ts'
import { unknownTool } from '../tools/tool.ts'
import type { Presentation } from './greeting.ts'
import { withoutNotifications, withoutPersonal } from './offered-capabilities.ts'
import { failure, type ProcessConnection } from './process-connection.ts'
import type { ProcessWatch } from './process-watch.ts'
import { ToolCatalogue } from './tool-catalogue.ts'

/** What a shared process is asked. Anything else could leave something of one person for another. */
const sharedMethods: ReadonlySet<string> = new Set([
  'tools/list',
  'tools/call',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'prompts/list',
  'prompts/get',
  'completion/complete',
])

/** Never forwarded: what is between this server and the process, and what would outlive its call. */
const ownMethods = /^(?:resources\/(?:un)?subscribe|logging\/setLevel|subscriptions\/.*|tasks\/.*)$/
const maxInputRounds = 8

/** What {@link ForwardingServers} need. */
export interface ForwardingPorts {
  connection: ProcessConnection
  presentation: Presentation
  watch: ProcessWatch
  /** What clients of the revisions up to 2025-11-25 are to a process of 2026-07-28. */
  envelope: JsonObject
  policy: UpstreamPolicy
  clients: ConnectedClients
  states: RequestStateCodec
  nowMs: () => number
  /** Called with the name of each tool that the process is known to have. */
  onTool: (name: string) => void
  /** Called when a request begins; the result is called when it is over. */
  onRequest: () => () => void
}

/**
 * SDK servers that forward to one process what a client asks, and to the client what the process says about that. Results go
 * unchanged where both speak the same revision.
 */
export class ForwardingServers implements ServerFactory {
  readonly #ports: ForwardingPorts
  readonly #capabilities: ServerCapabilities
  readonly #catalogue: ToolCatalogue
  readonly #clients: ConnectedClients
  #logSeverity = Infinity

  constructor(ports: ForwardingPorts) {
    this.#ports = ports
    this.#clients = ports.clients
    const { capabilities } = ports.presentation
    this.#capabilities = ports.clients.areEverybody ? withoutPersonal(capabilities) : capabilities
    this.#catalogue = new ToolCatalogue((cursor) => this.#listTools(cursor), ports.nowMs)
  }

  create(serving: ServingContext): McpServer {
    const { serverInfo, instructions } = this.#ports.presentation
    const capabilities =
      serving.kind === 'stateless' ? withoutNotifications(this.#capabilities) : this.#capabilities
    const server = new McpServer(serverInfo, instructions === undefined ? {} : { instructions })
    // Given to the constructor, it would answer what belongs to them itself.
    server.server.registerCapabilities(capabilities)
    // What the SDK compares headers of 2026-07-28 with. It only knows tools that are registered with it.
    Object.assign(server, {
      toolInputSchemaJson: (name: string) =>
        this.#isOffered(name, serving.incoming().caller) ? this.#catalogue.headerSchemaOf(name) : undefined,
    })
    const client: Client = { serving, server: server.server, logLevel: undefined }
    server.server.fallbackRequestHandler = (request, context) => this.#serve(client, request, context)
    if (serving.kind === 'session') this.#joinSession(client)
    return server
  }

  has({ event, name }: Call): boolean {
    return event !== 'tool_called' || this.#catalogue.has(name)
  }

  watch(uri: string): Promise<void> {
    return this.#ports.watch.watch(uri)
  }

  /** The process's list of tools has changed. */
  toolsChanged(): void {
    this.#catalogue.expire()
  }

  /** A session has log levels, and notifications of its own for a process that can ask it. */
  #joinSession(client: Client): void {
    const { server } = client
    this.#clients.sessions.add(client)
    Object.assign(server, { onclose: () => this.#clients.sessions.delete(client) })
    if (this.#capabilities.logging) {
      server.setRequestHandler('logging/setLevel', async ({ params: { level } }) => {
        client.logLevel = level
        await this.#lowerLogLevel(level)
        return {}
      })
    }
    if (!this.#clients.declared) return
    server.fallbackNotificationHandler = async ({ method, params }) =>
      this.#ports.connection.notify(method, params ?? {})
  }

  /** A process of the revisions up to 2025-11-25 has one level for all: the lowest that anybody wants. */
  async #lowerLogLevel(level: string): Promise<void> {
    const severity = logSeverity(level)
    const { connection, presentation } = this.#ports
    if (severity === undefined || severity >= this.#logSeverity || presentation.era === 'modern') return
    this.#logSeverity = severity
    await connection.request('logging/setLevel', { level })
  }

  async #serve(client: Client, request: JSONRPCRequest, context: ServerContext): Promise<Result> {
    const { method, params } = request
    const isForwarded = this.#ports.clients.areEverybody
      ? sharedMethods.has(method)
      : !ownMethods.test(method)
    if (!isForwarded) throw new ProtocolError(ProtocolErrorCode.MethodNotFound, 'Method not found')
    const { id, signal } = context.mcpReq
    const incoming = client.serving.incoming()
    const open: OpenCall = { client, context }
    const over = this.#ports.onRequest()
    this.#clients.calls.add(open)
    try {
      return await recordCall(
        incoming,
        { id, method, params, signal },
        (name) => this.#catalogue.has(name),
        () => this.#forward(open, request, incoming),
      )
    } finally {
      this.#clients.calls.delete(open)
      over()
    }
  }

  async #forward(call: OpenCall, { method, params }: JSONRPCRequest, incoming: Incoming): Promise<Result> {
    const given = (params ?? {}) as JsonObject
    const { client, context } = call
    if (method === 'tools/call') await this.#checkTool(String(given['name']), incoming.caller)
    const level = requestedLevel(context)
    if (level !== undefined && this.#capabilities.logging) await this.#lowerLogLevel(level).catch(drop)
    let input = this.#inputOf(context, incoming)
    for (let round = 0; round <= maxInputRounds; round += 1) {
      const result = await this.#request(call, method, { ...given, ...input })
      if (result['resultType'] !== 'input_required' || !inputMethods.has(method))
        return this.#resultFor(call, method, result, incoming.caller, given)
      if (client.serving.kind === '2026-07-28') return this.#sealed(result, incoming)
      input = await this.#askForInput(call, result)
    }
    throw failure('The server asked for input too many times. Start the call again.')
  }

  /** What a retry of a 2026-07-28 client adds. */
  #inputOf({ mcpReq }: ServerContext, incoming: Incoming): JsonObject {
    if (this.#ports.presentation.era !== 'modern') return {}
    const { inputResponses } = mcpReq
    const sealed = mcpReq.requestState<string>()
    try {
      return {
        ...(inputResponses !== undefined && { inputResponses }),
        ...(sealed !== undefined && { requestState: this.#ports.states.open(sealed, incoming) }),
      }
    } catch {
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'Invalid or expired requestState', {
        reason: 'invalid_request_state',
      })
    }
  }

  #sealed(result: JsonObject, incoming: Incoming): Result {
    const { requestState } = result
    return requestState === undefined
      ? result
      : { ...result, requestState: this.#ports.states.seal(requestState, incoming) }
  }

  /** Asks a client of the revisions up to 2025-11-25 for what a process of 2026-07-28 wants to know. */
  async #askForInput({ client, context }: OpenCall, result: JsonObject): Promise<JsonObject> {
    const declared = client.serving.kind === 'session' ? this.#clients.declared : undefined
    const { requests, requestState } = readInputRound(result, declared ?? {})
    const { id, signal } = context.mcpReq
    const answers = await Promise.all(
      requests.map(async (each) => [each.key, await askClient(client, each, id, signal)]),
    )
    return {
      inputResponses: Object.fromEntries(answers),
      ...(requestState !== undefined && { requestState }),
    }
  }

  async #request({ client, context }: OpenCall, method: string, params: JsonObject): Promise<JsonObject> {
    const { connection, presentation, envelope } = this.#ports
    const { mcpReq } = context
    const meta = metaOf(params)
    const progressToken = meta[mcpMetaKey.progressToken] as string | number | undefined
    const withEnvelope =
      presentation.era === 'modern'
        ? {
            ...meta,
            ...(mcpReq.envelope ?? envelope),
            ...(client.logLevel !== undefined && { [mcpMetaKey.logLevel]: client.logLevel }),
          }
        : meta
    const result = await connection.request(
      method,
      Object.keys(withEnvelope).length === 0 ? params : { ...params, _meta: withEnvelope },
      {
        signal: mcpReq.signal,
        ...(progressToken !== undefined && {
          onProgress: (progress) => {
            const own = { ...progress, progressToken } as unknown as ProgressParams
            mcpReq.notify({ method: 'notifications/progress', params: own }).catch(drop)
          },
        }),
      },
    )
    if (!isJsonObject(result))
      throw failure(
        'The server answered with something that is not a result. Tell the operator of the server.',
      )
    return result
  }

  async #checkTool(name: string, caller: Caller): Promise<void> {
    const isKnown = await this.#catalogue.knows(name)
    if (isKnown === false) throw new ProtocolError(ProtocolErrorCode.InvalidParams, unknownTool(name))
    if (!this.#isOffered(name, caller)) throw new HiddenTool(name)
  }

  #isOffered(name: string, { access }: Caller): boolean {
    const { policy } = this.#ports
    return offersUpstreamTool(policy, name) && offersTool(access, name, scopeOfTool(policy, name))
  }

  #resultFor(
    { client }: OpenCall,
    method: string,
    result: JsonObject,
    caller: Caller,
    params: JsonObject,
  ): Result {
    if (method === 'tools/call') this.#learn([{ name: params['name'] }])
    const { tools } = result
    const listed =
      method === 'tools/list' && Array.isArray(tools) ? { tools: this.#offered(tools, caller) } : {}
    // What one person's process says is for that person, whatever it believes; and lists depend on who asks.
    const scope = 'cacheScope' in result ? { cacheScope: 'private' } : {}
    const own = { ...result, ...listed, ...scope }
    return client.serving.kind !== '2026-07-28' && this.#ports.presentation.era === 'modern'
      ? toResult2025(method, own, legacyRevisions[0])
      : own
  }

  /** Those that the caller can call: tasks are not forwarded. */
  #offered(tools: readonly unknown[], caller: Caller): unknown[] {
    this.#learn(tools)
    const { policy } = this.#ports
    return tools.flatMap((tool) => {
      if (!isJsonObject(tool) || typeof tool['name'] !== 'string') return []
      const { name, execution } = tool
      const needsTask = isJsonObject(execution) && execution['taskSupport'] === 'required'
      if (needsTask || !this.#isOffered(name, caller)) return []
      return policy.publicTools.size > 0 ? [withSecuritySchemes(tool, needsOfTool(policy, name))] : [tool]
    })
  }

  #learn(tools: readonly unknown[]): void {
    this.#catalogue.learn(tools)
    for (const tool of tools)
      if (isJsonObject(tool) && typeof tool['name'] === 'string') this.#ports.onTool(tool['name'])
  }

  async #listTools(cursor: string | undefined): Promise<unknown> {
    const { connection, presentation, envelope } = this.#ports
    const result = await connection.request('tools/list', {
      ...(cursor !== undefined && { cursor }),
      ...(presentation.era === 'modern' && { _meta: envelope }),
    })
    if (isJsonObject(result) && Array.isArray(result['tools'])) this.#learn(result['tools'])
    return result
  }
}

type ProgressParams = { progressToken: string | number; progress: number }
