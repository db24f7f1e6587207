import { LATEST_PROTOCOL_VERSION, SUPPORTED_PROTOCOL_VERSIONS, type Tool } from '@modelcontextprotocol/server'
import { jsonRpcCode, type JsonRpcErrorObject } from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpMetaKey, modernRevision } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { type AccessAllowed, offersTool } from '../../core/access/access-rules.ts'
import { type CallEnd, callOf } from '../../core/access/call-record.ts'
import { type Caller, signedIn } from '../../core/tokens/caller.ts'
import { offersSignIn } from '../../core/tokens/sign-in-tool.ts'
import type { McpEndpointConfig } from '../endpoint-config.ts'
import {
  counted,
  type CountedJson,
  type PlainCallAnswer,
  type PlainMethod,
  type PlainRequest,
} from './plain-answer.ts'
import type { ToolDefinition } from '../tools/tool.ts'
import { paramsFault } from '../request-params.ts'
import { outcomeOf, unknownTool } from '../tools/tool-result.ts'
import { signInListing } from '../tools/tool-scope.ts'

/**
 * Creates the methods of an endpoint that offers only tools, by name, for each revision. Results that are the same for every caller are
 * serialized once.
 */
export function createPlainMethods(
  config: McpEndpointConfig,
): Record<'earlier' | 'revision2026', ReadonlyMap<string, PlainMethod>> {
  const { serverInfo, contexts } = config
  const tools = new Map(config.tools.map((tool) => [tool.listing.name, tool]))
  const instructions = config.instructions ? { instructions: config.instructions } : {}
  const capabilities = (listChanged: boolean): object => (tools.size > 0 ? { tools: { listChanged } } : {})
  // Access rules may hide tools from some callers (MCP 2026-07-28, caching).
  const cached = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' }
  const _meta = { [mcpMetaKey.serverInfo]: serverInfo }

  const initialize: PlainMethod = ({ message }) => {
    const fault = paramsFault(message)
    if (fault !== undefined) return invalidParams(fault)
    const requested = String(message.params?.['protocolVersion'])
    const isSupported = SUPPORTED_PROTOCOL_VERSIONS.includes(requested)
    const protocolVersion = isSupported ? requested : LATEST_PROTOCOL_VERSION
    const result = { protocolVersion, capabilities: capabilities(false), serverInfo, ...instructions }
    return { result: counted(JSON.stringify(result)) }
  }

  const call = async (
    { message, incoming: { caller }, channel }: PlainRequest,
    record: (end: CallEnd) => void,
  ): Promise<PlainCallAnswer> => {
    const fault = paramsFault(message)
    if (fault !== undefined) return invalidParams(fault)
    // No plain tool asks the client for input, so no state that a client sends was made here.
    if (message.params?.['requestState'] !== undefined) return invalidRequestState
    const { name, arguments: input } = message.params as { name: string; arguments?: unknown }
    const tool = tools.get(name)
    if (!tool || !offersTool(caller.access, name, tool.scope)) {
      if (tool) record({ outcome: 'refused_rule', isKnown: true })
      return invalidParams(unknownTool(name))
    }
    if (!tool.isPublic) signedIn(caller)
    const result = await tool.call(input, contexts.ofCall(caller, channel))
    record({ outcome: channel.signal.aborted ? 'cancelled' : outcomeOf(result), isKnown: true })
    return { result }
  }

  const callOf2026: typeof call = async (request, record) => {
    const answer = await call(request, record)
    if ('error' in answer) return answer
    const { _meta: own, ...result } = answer.result
    return { result: { ...result, resultType: 'complete', _meta: { ..._meta, ...own } } }
  }

  const discovered = {
    supportedVersions: [modernRevision],
    capabilities: { logging: {}, ...capabilities(config.notifies) },
    ...instructions,
    ...cached,
    _meta,
  }
  const earlier = new Map<string, PlainMethod>([
    ['initialize', initialize],
    ['ping', fixed({})],
  ])
  const revision2026 = new Map([['server/discover', fixed(discovered)]])
  if (tools.size > 0) {
    earlier.set('tools/list', listOf(config.tools, {})).set('tools/call', recorded(call))
    revision2026
      .set('tools/list', listOf(config.tools, { ...cached, _meta }))
      .set('tools/call', recorded(callOf2026))
  }
  return { earlier, revision2026 }
}

/** `tools/list`, without the tools that the access rules hide from the caller. */
function listOf(tools: readonly ToolDefinition[], more: object): PlainMethod {
  const resultOf = (shown: readonly Tool[]): CountedJson => counted(JSON.stringify({ tools: shown, ...more }))
  const all = resultOf(tools.map(({ listing }) => listing))
  const names = tools.map(({ listing, scope }) => ({ name: listing.name, scope }))
  const publicTools = new Set(tools.flatMap(({ listing, isPublic }) => (isPublic ? listing.name : [])))
  // A caller's decision stays the same object until their session or the rules change.
  const results = new WeakMap<AccessAllowed, CountedJson>()
  const resultFor = (caller: Caller): CountedJson => {
    const { access } = caller
    const shown = tools.flatMap(({ listing, scope }) =>
      offersTool(access, listing.name, scope) ? listing : [],
    )
    const signIn = offersSignIn(caller, names, { publicTools }) ? [signInListing] : []
    const result = shown.length === tools.length ? all : resultOf([...shown, ...signIn])
    results.set(access, result)
    return result
  }
  return ({ message, incoming: { caller } }) => {
    const fault = paramsFault(message)
    if (fault !== undefined) return invalidParams(fault)
    return { result: results.get(caller.access) ?? resultFor(caller) }
  }
}

/** `tools/call`, recorded with the size of its result. `call` records how it ended; if it does not, the request was at fault. */
function recorded(
  call: (request: PlainRequest, record: (end: CallEnd) => void) => Promise<PlainCallAnswer>,
): PlainMethod {
  return async (request) => {
    const { message, incoming } = request
    const named = callOf(message)
    const finish = named && incoming.calls.begin(named)
    let end: CallEnd = { outcome: 'failed', isKnown: false }
    const answer = await call(request, (recorded) => (end = recorded))
    if ('error' in answer) {
      finish?.(end)
      return answer
    }
    const result = counted(JSON.stringify(answer.result))
    finish?.({ ...end, responseBytes: result.bytes })
    return { result }
  }
}

function fixed(result: object): PlainMethod {
  const json = counted(JSON.stringify(result))
  return ({ message }) => {
    const fault = paramsFault(message)
    return fault === undefined ? { result: json } : invalidParams(fault)
  }
}

function invalidParams(message: string): { error: JsonRpcErrorObject } {
  return { error: { code: jsonRpcCode.invalidParams, message } }
}

const invalidRequestState: { error: JsonRpcErrorObject } = {
  error: {
    code: jsonRpcCode.invalidParams,
    message: 'Invalid or expired requestState',
    data: { reason: 'invalid_request_state' },
  },
}
