import { isJsonObject, type JsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { mcpMetaKey } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { metaOf, paramsOf } from '@drawbridge/shared/mcp/params.ts'
import { lineEndings } from '@drawbridge/shared/mcp/event-lines.ts'
import { createParser } from 'eventsource-parser'
import type { Dispatcher } from 'undici'
import type { HttpUpstream } from '../../core/gateway/upstream.ts'
import { mediaTypeOf } from './relay-answer.ts'
import { isModern } from './request-headers.ts'
import { decodedBody } from './upstream-connection.ts'

const envelope: ReadonlySet<string> = new Set([
  mcpMetaKey.protocolVersion,
  mcpMetaKey.clientInfo,
  mcpMetaKey.clientCapabilities,
])

/** Returns the `tools/list` of this server on behalf of a client that sent `body`, in its revision. */
export function toolListFor(body: unknown, params: JsonObject): JsonObject {
  const meta = Object.entries(metaOf(paramsOf(body))).filter(([key]) => envelope.has(key))
  const _meta = isModern(body) ? { _meta: Object.fromEntries(meta) } : {}
  return { jsonrpc: '2.0', id: 'drawbridge-tools', method: 'tools/list', params: { ...params, ..._meta } }
}

/** Reads the result from JSON, or from a stream that need not end. Rejects if there is none. */
export async function readToolList(
  answer: Dispatcher.ResponseData,
  { maxBodyBytes }: Pick<HttpUpstream, 'maxBodyBytes'>,
): Promise<JsonObject> {
  const isStream = mediaTypeOf(answer) === 'text/event-stream'
  const decoder = new TextDecoder()
  const withLineFeeds = lineEndings()
  let result: JsonObject | undefined
  const take = (text: string): void => {
    const given = parseJsonObject(text)?.['result']
    if (isJsonObject(given)) result = given
  }
  const parser = createParser({ onEvent: ({ data }) => take(data) })
  let [text, bytes] = ['', 0]
  // Leaving the loop closes the body.
  for await (const chunk of decodedBody(answer) as AsyncIterable<Buffer>) {
    bytes += chunk.length
    const part = decoder.decode(chunk, { stream: true })
    if (isStream) parser.feed(withLineFeeds(part))
    else text += part
    if (result || bytes > maxBodyBytes) break
  }
  take(text)
  if (!result) throw new TypeError('The upstream did not list its tools.')
  return result
}
