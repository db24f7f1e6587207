import { isJsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { JsonRpcRequest } from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpErrorCode, modernRevision } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { parseWireMessage, toWireMessage } from '@drawbridge/shared/mcp/message.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'
import { errorCode, supportedVersions } from './era-detection.ts'
import { metaOf, withoutMeta } from '../adapter/message-meta.ts'
import { readParameterHeaders } from './parameter-header.ts'
import type { ToolHeaders } from './parameter-header.ts'
import { RemoteError } from './remote-leg.ts'
import type { RemoteLeg, SendOptions } from './remote-leg.ts'

/** A list of tools longer than this many pages is a loop. */
const mostPages = 100
/** Of a longer list the earlier pages are forgotten. They are looked for again when the server misses a header. */
const mostListBytes = 32 * 1024 * 1024
/** So many warnings are enough. */
const mostWarnings = 1000

/**
 * A leg of the era of 2026-07-28 that does what the HTTP client of a tool has to: sends `Mcp-Param-*` headers as the tools
 * declare them, hides tools whose declaration is faulty, and sends a request once more that was refused for a header or a
 * version (MCP 2026-07-28 transports). `known` are tools of an earlier connection. Warns once for each hidden tool.
 */
export function createCorrectedLeg(
  leg: RemoteLeg,
  ports: { known(): readonly JsonObject[]; warn(text: string): void; randomId(): string },
): RemoteLeg {
  let headers: ToolHeaders | undefined
  let tools: readonly JsonObject[] = []
  let listBytes = 0
  let listing: Promise<void> | undefined
  const warned = new Set<string>()

  function toolHeaders(): ToolHeaders {
    return headers ?? readTools(ports.known())
  }

  function readTools(list: readonly JsonObject[]): ToolHeaders {
    tools = list
    headers = readParameterHeaders(list)
    return headers
  }

  function addPage(page: readonly JsonObject[], bytes: number, isFirst: boolean): ToolHeaders {
    const isAlone = isFirst || listBytes + bytes > mostListBytes
    listBytes = isAlone ? bytes : listBytes + bytes
    return readTools(isAlone ? page : [...tools, ...page])
  }

  /** The page without what is hidden; the message itself if that is nothing. */
  function readPage(request: JsonRpcRequest, answer: WireMessage): WireMessage {
    const body = parseJsonObject(answer.text)
    const result = body?.['result']
    const page: unknown = isJsonObject(result) ? result['tools'] : undefined
    if (body === undefined || !isJsonObject(result) || !Array.isArray(page)) return answer
    const listed = page.filter(isJsonObject)
    const { offending } = addPage(listed, answer.text.length, request.params?.['cursor'] === undefined)
    const isOffending = (tool: unknown): boolean => isJsonObject(tool) && offending.has(String(tool['name']))
    for (const tool of listed) if (isOffending(tool)) warn(String(tool['name']), offending)
    if (!page.some(isOffending)) return answer
    const kept = { ...body, result: { ...result, tools: page.filter((tool) => !isOffending(tool)) } }
    return { text: JSON.stringify(kept), envelope: answer.envelope }
  }

  function warn(name: string, offending: ReadonlyMap<string, string>): void {
    if (warned.has(name) || warned.size >= mostWarnings) return
    warned.add(name)
    ports.warn(
      `The tool ${JSON.stringify(name)} is hidden, its x-mcp-header is faulty: ${offending.get(name)}.`,
    )
  }

  function reading(message: WireMessage, options: SendOptions): SendOptions {
    const request = parseWireMessage(message) as JsonRpcRequest
    return {
      ...options,
      deliver(answer) {
        const { envelope } = answer
        const isResult = envelope.kind === 'response' && !envelope.isError
        return options.deliver(isResult ? readPage(request, answer) : answer)
      },
    }
  }

  /** Lists all tools anew for the sake of their headers, once for all calls that wait for it. What cannot be read stays as it was. */
  function refresh(call: JsonRpcRequest): Promise<void> {
    listing ??= listAll(call)
      .catch(() => {})
      .finally(() => (listing = undefined))
    return listing
  }

  /** As the client of `call` would. */
  async function listAll(call: JsonRpcRequest): Promise<void> {
    const base = withoutMeta({ _meta: metaOf(call.params) }, ['progressToken'])
    let cursor: unknown
    for (let page = 0; page < mostPages; page++) {
      const params = cursor === undefined ? base : { ...base, cursor }
      const message = toWireMessage({ jsonrpc: '2.0', id: ports.randomId(), method: 'tools/list', params })
      cursor = undefined
      const options: SendOptions = {
        deliver(answer) {
          const result = parseJsonObject(answer.text)?.['result']
          if (isJsonObject(result)) cursor = result['nextCursor']
        },
      }
      await leg.send(message, reading(message, options))
      if (typeof cursor !== 'string') return
    }
  }

  function headersOf(call: JsonRpcRequest): Record<string, string> {
    const name = call.params?.['name']
    return typeof name === 'string' ? toolHeaders().headersFor(name, call.params?.['arguments']) : {}
  }

  /**
   * Sends once, and a second time if `mend` knows what to change. An error comes as the body of a 4xx or as a response that is
   * delivered, whichever the leg makes of it.
   */
  async function sendMended(
    message: WireMessage,
    options: SendOptions,
    mend: (error: WireMessage) => SendOptions | undefined | Promise<SendOptions | undefined>,
  ): Promise<void> {
    let withheld: WireMessage | undefined
    let failure: unknown
    try {
      await leg.send(message, {
        ...options,
        deliver(answer) {
          const { envelope } = answer
          if (envelope.kind !== 'response' || !envelope.isError) return options.deliver(answer)
          withheld = answer
        },
      })
    } catch (error) {
      failure = error
    }
    if (withheld === undefined && failure === undefined) return
    const error = withheld ?? (failure instanceof RemoteError ? failure.response : undefined)
    const again = error === undefined ? undefined : await mend(error)
    if (again !== undefined) return leg.send(message, again)
    if (failure !== undefined) throw failure
    if (withheld !== undefined) await options.deliver(withheld)
  }

  function callTool(message: WireMessage, options: SendOptions): Promise<void> {
    const first = toolHeaders().hasParameters
      ? { ...options, parameterHeaders: headersOf(parseWireMessage(message) as JsonRpcRequest) }
      : options
    return sendMended(message, first, async (error) => {
      if (errorCode(error) !== mcpErrorCode.headerMismatch) return inVersion(error, first)
      const call = parseWireMessage(message) as JsonRpcRequest
      await refresh(call)
      return { ...options, parameterHeaders: headersOf(call) }
    })
  }

  return {
    send(message, options) {
      const { envelope } = message
      if (envelope.kind !== 'request') return leg.send(message, options)
      if (envelope.method === 'tools/call') return callTool(message, options)
      const full = envelope.method === 'tools/list' ? reading(message, options) : options
      return sendMended(message, full, (error) => inVersion(error, full))
    },
    close: (graceMs) => leg.close(graceMs),
  }
}

/** The bridge speaks one version of this era: what the server offers is that one, or nothing can be done. */
function inVersion(error: WireMessage, options: SendOptions): SendOptions | undefined {
  return supportedVersions(error)?.includes(modernRevision) === true ? options : undefined
}
