import { encodeMcpHeaderValue } from '@drawbridge/shared/mcp/mcp-header-value.ts'
import { mcpHeader, mcpMetaKey, modernRevision } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { parseWireMessage } from '@drawbridge/shared/mcp/message.ts'
import type { HttpResponse } from '../http/http-client.ts'
import { BodyBudget } from './body-budget.ts'
import { mayAskAgain } from './broken-answer.ts'
import type { LegConfig, LegPorts } from './leg-config.ts'
import { createOpenExchanges } from './open-exchange.ts'
import { createPostExchange } from './post-exchange.ts'
import type { PostExchange } from './post-exchange.ts'
import { readRefusedPost, refusedPostError } from './refused-post.ts'
import type { RemoteLeg, SendOptions } from './remote-leg.ts'
import { createRemoteRequester } from './remote-request.ts'
import { isRepeatable } from './repeatable.ts'
import { lostError } from './message-body.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'

type Sending = SendOptions & { signal: AbortSignal }

/**
 * The way to a server of 2026-07-28: each message is a POST of its own, without session. The headers come from the message
 * itself. To abort the signal of an exchange cancels it at the server, because its stream is closed.
 */
export function createModernLeg(config: LegConfig, ports: LegPorts): RemoteLeg {
  const request = createRemoteRequester(config, ports)
  const open = createOpenExchanges(config.serverUrl)
  const exchangePorts = { note: ports.note, budget: new BodyBudget() }

  const again = { runtime: ports.runtime, note: ports.note, retryMs: config.retryMs }

  async function post(message: WireMessage, options: Sending): Promise<HttpResponse> {
    const isListening = methodOf(message) === 'subscriptions/listen'
    const response = await request({
      method: 'POST',
      url: config.serverUrl,
      headers: { ...modernHeaders(message), ...options.parameterHeaders },
      body: message.text,
      signal: options.signal,
      repeatable: isRepeatable(message.envelope),
      // A subscription may be silent for days.
      ...(isListening && { bodyTimeoutMs: 0 }),
    })
    return open.watch(response)
  }

  async function carry(message: WireMessage, options: Sending): Promise<void> {
    for (let breaks = 0; ; breaks += 1) {
      const response = await post(message, options)
      const exchange = createPostExchange(message, options, exchangePorts)
      if (response.status >= 300) {
        const refused = await readRefusedPost(response, message)
        if (refused.answer === undefined) throw refusedPostError(refused)
        return exchange.deliver(refused.answer)
      }
      try {
        return await readToEnd(exchange, response)
      } catch (error) {
        if (!(await mayAskAgain(error, message, breaks, { ...again, signal: options.signal }))) throw error
      }
    }
  }

  return {
    send: (message, options) => open.run(options.signal, (signal) => carry(message, { ...options, signal })),
    async close() {
      open.abortAll()
    },
  }
}

/** A stream of this era cannot be resumed. */
async function readToEnd(exchange: PostExchange, response: HttpResponse): Promise<void> {
  const cut = await exchange.read(response)
  if (cut !== undefined) throw lostError(cut.cause)
}

/** MCP 2026-07-28 transports, request headers: they repeat what the body says, for whoever routes by headers. */
function modernHeaders(message: WireMessage): Record<string, string> {
  const { _meta: meta, name, uri } = paramsOf(message)
  const revision = isJsonObject(meta) ? meta[mcpMetaKey.protocolVersion] : undefined
  const headers: Record<string, string> = {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    [mcpHeader.protocolVersion]: typeof revision === 'string' ? revision : modernRevision,
  }
  const method = methodOf(message)
  if (method === undefined) return headers
  headers[mcpHeader.method] = encodeMcpHeaderValue(method)
  const named = method === 'tools/call' || method === 'prompts/get' ? name : undefined
  const target = method === 'resources/read' ? uri : named
  if (typeof target === 'string') headers[mcpHeader.name] = encodeMcpHeaderValue(target)
  return headers
}

function methodOf({ envelope }: WireMessage): string | undefined {
  return envelope.kind === 'request' || envelope.kind === 'notification' ? envelope.method : undefined
}

function paramsOf(message: WireMessage): JsonObject {
  const parsed = parseWireMessage(message)
  return ('method' in parsed && parsed.params) || {}
}
