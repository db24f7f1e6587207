import type { CallToolResult } from '@modelcontextprotocol/server'
import { mcpMetaKey } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { Caller } from '../core/tokens/caller.ts'
import { createDirectRouter, type DirectRoute } from './direct-route.ts'
import type { McpEndpoint, McpEndpointConfig } from './endpoint-config.ts'
import { headerMismatch } from './tools/header-parameter.ts'
import { createSdkEndpoint } from './sdk-endpoint.ts'
import type { Exchange } from './tools/tool-context.ts'

/**
 * Creates what serves `/mcp` behind the gate.
 *
 * Usual messages are answered here, to the letter as the SDK answers them but for a fifth of its time: the lists and the
 * opening with the SDK's own first answer, which is kept, and calls of plain tools by calling them. All else goes to the
 * SDK: streams, sessions, what a module registers, and whatever is wrong with a message.
 */
export function createMcpEndpoint(config: McpEndpointConfig): McpEndpoint {
  const sdk = createSdkEndpoint(config)
  const tools = new Map(config.tools.map((tool) => [tool.listing.name, tool]))
  const route = createDirectRouter({
    hasFixedCatalogue: config.module.register === undefined,
    hasSessions: config.module.asksClient === true,
  })
  /** JSON of results, by the keys of the router: a handful. */
  const kept = new Map<string, string>()

  async function answerKept(
    { key, id }: Extract<DirectRoute, { kind: 'kept' }>,
    request: Request,
    body: unknown,
    caller: Caller,
  ): Promise<Response> {
    const result = kept.get(key)
    if (result !== undefined) return answerJson(result, id)
    const response = await sdk.handle(request, body, caller)
    if (!response.headers.get('content-type')?.includes('application/json')) return response
    const { result: first } = (await response.clone().json()) as { result?: unknown }
    if (first !== undefined) kept.set(key, JSON.stringify(first))
    return response
  }

  async function answerCall(
    { era, id, name, input }: Extract<DirectRoute, { kind: 'call' }>,
    request: Request,
    body: unknown,
    caller: Caller,
  ): Promise<Response> {
    const tool = tools.get(name)
    const isUsual =
      tool && (era === 'legacy' || !headerMismatch(tool.headerParameters, input, request.headers))
    if (!isUsual) return sdk.handle(request, body, caller)
    const result = await tool.call(input, config.contexts.ofCall(caller, silentExchange(request)))
    return answerJson(JSON.stringify(era === 'modern' ? withServerInfo(result) : result), id)
  }

  function withServerInfo(result: CallToolResult): CallToolResult {
    const meta = { [mcpMetaKey.serverInfo]: config.serverInfo, ...result._meta }
    return { ...result, resultType: 'complete', _meta: meta }
  }

  return {
    methods: sdk.methods,
    notify: sdk.notify,
    endStreams: sdk.endStreams,
    close: sdk.close,
    async handle(request, body, caller) {
      if (request.method !== 'POST') return sdk.handle(request, body, caller)
      const found = route(request.headers, body)
      switch (found.kind) {
        case 'kept':
          return answerKept(found, request, body, caller)
        case 'accepted':
          return new Response(null, { status: 202 })
        case 'call':
          return answerCall(found, request, body, caller)
        case 'other':
          return sdk.handle(request, body, caller)
      }
    },
  }
}

/** The members in the order in which the SDK writes them. */
function answerJson(result: string, id: string | number): Response {
  return new Response(`{"result":${result},"jsonrpc":"2.0","id":${JSON.stringify(id)}}`, {
    status: 200,
    headers: { 'content-type': 'application/json' },
  })
}

/** An exchange with a client that waits for one JSON answer and wants to hear nothing before it. */
function silentExchange(request: Request): Exchange {
  return {
    // Asked for when it is needed: the adapter makes it then.
    get signal() {
      return request.signal
    },
    progress() {},
    log() {},
  }
}
