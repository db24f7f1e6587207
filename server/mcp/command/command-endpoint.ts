import { isLegacyRequest } from '@modelcontextprotocol/server'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { mcpHeader } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { CommandUpstream } from '../../core/gateway/upstream.ts'
import { createBoundedMap } from '../../core/bounded-map.ts'
import { callsOf, type IncomingCalls } from '../../core/tokens/call-record.ts'
import type { Caller } from '../../core/tokens/caller.ts'
import type { McpEndpoint, McpEndpointConfig } from '../endpoint-config.ts'
import { isTooLongToKeep, withLenientHeaders } from '../incoming.ts'
import { methodNotAllowed } from '../sdk/sdk-endpoint.ts'
import { opensSession, sessionNotFound } from '../sdk/sessions/session-transport.ts'
import { createProcessGuardian } from './process-guardian.ts'
import { ProcessPool } from './process-pool.ts'
import type { ProcessSlot } from './process-slot.ts'
import type { CommandEvent } from './served-process.ts'
import { Unavailable, unavailableResponse } from './unavailable.ts'

/** What {@link createCommandEndpoint} needs. */
export interface CommandEndpointConfig extends Pick<
  McpEndpointConfig,
  'sealer' | 'runtime' | 'resourceMetadata'
> {
  upstream: CommandUpstream
  /** This server's own environment, of which processes get next to nothing. */
  environment: Readonly<Record<string, string | undefined>>
  /** Of this server: it is what processes see as their client. */
  version: string
  report: (event: CommandEvent | 'mcp_rejected', fields: Record<string, unknown>) => void
}

/** An {@link McpEndpoint} in front of processes. */
export interface CommandEndpoint extends McpEndpoint {
  /** How many processes there are now, those that start or end among them. */
  processCount(): number
}

/** Far more tools than any server has. */
const maxToolNames = 10_000

/**
 * Creates the endpoint that serves `/mcp` by processes of a command that speaks MCP over stdio, of either era, to clients of
 * both. Which process serves a message is decided by {@link ProcessPool}; the MCP SDK faces the clients, one endpoint for each
 * process, and what they ask is forwarded.
 */
export function createCommandEndpoint(config: CommandEndpointConfig): CommandEndpoint {
  const { upstream, environment, version, sealer, runtime, resourceMetadata, report } = config
  const names = createBoundedMap<true>(maxToolNames)
  const guardian = createProcessGuardian(environment['PATH'], (error) =>
    report('upstream_unguarded', { error }),
  )
  const pool = new ProcessPool({
    upstream,
    environment,
    clientInfo: { name: 'drawbridge', title: 'Drawbridge', version },
    guardian,
    config: {
      sealer,
      runtime,
      resourceMetadata,
      report: (_event, error) => report('mcp_rejected', { error }),
    },
    report,
    onTool: (name) => {
      if (names.get(name) === undefined) names.set(name, true)
    },
  })

  async function serve(
    request: Request,
    body: unknown,
    caller: Caller,
    calls: IncomingCalls,
  ): Promise<Response> {
    const isEarlier = await isLegacyRequest(withLenientHeaders(request, body), body)
    const sessionId = isEarlier ? request.headers.get(mcpHeader.sessionId) : null
    if (sessionId !== null) {
      const slot = pool.ofSession(sessionId, caller, hasRequest(body))
      return slot ? serveSession(sessionId, slot, request, body, caller, calls) : sessionNotFound(body)
    }
    if (request.method !== 'POST') return methodNotAllowed()
    // Of no session, and of no open request.
    if (!hasRequest(body)) return new Response(null, { status: 202 })
    const declared = isEarlier && upstream.process === 'user' ? askable(body) : undefined
    const slot = await (declared ? pool.ownOf(caller, declared) : pool.common(caller))
    try {
      const response = await slot.endpoint.handle(request, body, caller, calls)
      const opened = isEarlier ? response.headers.get(mcpHeader.sessionId) : null
      if (opened !== null) pool.addSession(opened, slot, caller)
      else if (slot.isOwn) pool.end(slot, 'session_over')
      return response
    } finally {
      release(slot)
    }
  }

  async function serveSession(
    id: string,
    slot: ProcessSlot,
    request: Request,
    body: unknown,
    caller: Caller,
    calls: IncomingCalls,
  ): Promise<Response> {
    try {
      const response = await slot.endpoint.handle(request, body, caller, calls)
      if (response.ok && request.method === 'DELETE') pool.removeSession(id)
      return response
    } finally {
      release(slot)
    }
  }

  return {
    methods: ['POST', 'GET', 'DELETE'],
    // Processes report changes themselves.
    notify: { toolsChanged() {}, promptsChanged() {}, resourcesChanged() {}, resourceUpdated() {} },
    has: ({ event, name }) => event !== 'tool_called' || names.get(name) !== undefined,
    async handle(request, body, caller, calls) {
      try {
        return await serve(request, body, caller, calls)
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error
        for (const call of callsOf(body))
          calls.refuse(call, {
            outcome: 'failed',
            isKnown: call.event !== 'tool_called' || names.get(call.name) !== undefined,
          })
        return unavailableResponse(body, error)
      }
    },
    processCount: () => pool.size,
    endStreams: () => pool.endStreams(),
    async close() {
      await pool.close()
      guardian.close()
    },
  }
}

/** What a stream answers is forwarded only after its response has been returned. */
function release(slot: ProcessSlot): void {
  setImmediate(() => slot.over())
}

function hasRequest(body: unknown): boolean {
  return (Array.isArray(body) ? body : [body]).some(
    (message) => isJsonObject(message) && message['method'] !== undefined && message['id'] !== undefined,
  )
}

/** The capabilities that an `initialize` declares, if its client can be asked for anything. */
function askable(body: unknown): JsonObject | undefined {
  // The latter is refused by whoever serves it.
  if (!opensSession(body) || isTooLongToKeep(body)) return undefined
  const messages: readonly unknown[] = Array.isArray(body) ? body : [body]
  const opening = messages.find((message) => isJsonObject(message) && message['method'] === 'initialize')
  const params = isJsonObject(opening) ? opening['params'] : undefined
  const capabilities = isJsonObject(params) ? params['capabilities'] : undefined
  if (!isJsonObject(capabilities)) return undefined
  return ['elicitation', 'sampling', 'roots'].some((name) => isJsonObject(capabilities[name]))
    ? capabilities
    : undefined
}
