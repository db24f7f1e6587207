import { intercepted, type Context } from '@drawbridge/shared/mcp/pipeline.ts'
import { isJsonObject, parseJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import {
  type JsonRpcRequest,
  parseWireMessage,
  toWireMessage,
  type WireMessage,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { encodeMcpHeaderValue } from '@drawbridge/shared/mcp/mcp-header-value.ts'
import {
  mcpErrorCode,
  mcpHeader,
  mcpMetaKey,
  modernRevision,
  nameParameters,
} from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { metaOf } from '@drawbridge/shared/mcp/params.ts'
import { mayRepeat } from '../http/retry.ts'
import { errorCode, supportedVersions } from './revision-detection.ts'
import { StreamableHttp } from './streamable-http.ts'
import { ToolHeaders } from './tool-headers.ts'
import {
  TransportError,
  type Sending,
  type Transport,
  type TransportConfig,
  type TransportPorts,
} from './transport.ts'
import { withholdError } from './withheld-error.ts'

export interface StatelessTransportPorts extends TransportPorts {
  /** Tools of an earlier connection. */
  knownTools(): readonly JsonObject[]
  /** Called once for each hidden tool. */
  warn(text: string): void
  randomId(): string
}

/** A list of tools longer than this many pages is a loop. */
const maxPages = 100

/**
 * Streamable HTTP in the revision 2026-07-28: each message is a POST of its own, without a session. Headers repeat parts of the
 * message and the arguments that a tool declares as headers; tools with a faulty declaration are hidden; a request refused for a
 * header or a version is sent once more (MCP 2026-07-28 transports). Aborting the signal of a request closes its stream, which
 * cancels it at the server.
 */
export class StatelessTransport implements Transport {
  readonly #http: StreamableHttp
  readonly #tools: ToolHeaders
  readonly #ports: StatelessTransportPorts
  #listing: Promise<void> | undefined

  constructor(config: TransportConfig, ports: StatelessTransportPorts) {
    this.#http = new StreamableHttp(config, ports)
    this.#tools = new ToolHeaders(ports)
    this.#ports = ports
  }

  send(message: WireMessage, options: Context): Promise<void> {
    return this.#http.run(options.signal, (signal) => this.#send(message, { ...options, signal }))
  }

  async close(): Promise<void> {
    this.#http.close()
  }

  #send(message: WireMessage, options: Sending): Promise<void> {
    const { kind } = message.envelope
    if (kind !== 'request' && kind !== 'notification') return this.#post(message, undefined, options)
    const request = parseWireMessage(message) as JsonRpcRequest
    if (kind === 'notification') return this.#post(message, request, options)
    const isSelfDescription = request.method === 'tools/list' || request.method === 'server/discover'
    const learning = isSelfDescription ? this.#learning(message, request, options) : options
    return this.#sendCorrected(message, request, learning)
  }

  /** Sends a request, and once more if its error can be corrected. */
  async #sendCorrected(message: WireMessage, request: JsonRpcRequest, options: Sending): Promise<void> {
    const send = (again: WireMessage, watched: Context): Promise<void> =>
      this.#post(again, request, { ...options, ...watched })
    const error = await withholdError(send, message, options)
    if (error === undefined) return
    const answer = error.failure instanceof TransportError ? error.failure.response : undefined
    const mayGoAgain = answer !== undefined && mayRepeat('header_refused', message.envelope)
    if (mayGoAgain && (await this.#isCorrected(request, answer))) return this.#post(message, request, options)
    await error.release()
  }

  /** Returns whether to try again: the headers of the call are known now, or the server offers our version after all. */
  async #isCorrected(request: JsonRpcRequest, error: WireMessage): Promise<boolean> {
    if (request.method !== 'tools/call' || errorCode(error) !== mcpErrorCode.headerMismatch)
      return supportedVersions(error)?.includes(modernRevision) === true
    // One listing for all waiting calls. If it fails, the known headers stay.
    this.#listing ??= this.#listTools(request)
      .catch(() => {})
      .finally(() => (this.#listing = undefined))
    await this.#listing
    return true
  }

  /** Reads all tools to learn their headers, with the claims of the call. */
  async #listTools(call: JsonRpcRequest): Promise<void> {
    const { progressToken: _, ...meta } = metaOf(call.params)
    const base: JsonObject = Object.keys(meta).length > 0 ? { _meta: meta } : {}
    let cursor: unknown
    for (let page = 0; page < maxPages; page += 1) {
      const params = cursor === undefined ? base : { ...base, cursor }
      const request: JsonRpcRequest = {
        jsonrpc: '2.0',
        id: this.#ports.randomId(),
        method: 'tools/list',
        params,
      }
      cursor = undefined
      const deliver = (answer: WireMessage): void => {
        const result = parseJsonObject(answer.text)?.['result']
        if (isJsonObject(result)) cursor = result['nextCursor']
      }
      const message = toWireMessage(request)
      await this.#http.run(undefined, (signal) =>
        this.#post(message, request, this.#learning(message, request, { deliver, signal })),
      )
      if (typeof cursor !== 'string') return
    }
  }

  /** Records results in which the server describes itself. */
  #learning(message: WireMessage, request: JsonRpcRequest, options: Sending): Sending {
    return intercepted(options, (answer, deliver) => {
      const { envelope } = answer
      if (envelope.kind !== 'response' || envelope.isError) return deliver(answer)
      const isList = request.method === 'tools/list'
      const shown = isList ? this.#tools.readPage(request, answer) : answer
      this.#ports.answered('http', message, shown)
      return deliver(shown)
    })
  }

  #post(message: WireMessage, request: JsonRpcRequest | undefined, options: Sending): Promise<void> {
    const isCall = request?.method === 'tools/call'
    const headers = { ...headersOf(request), ...(isCall && this.#tools.headersFor(request)) }
    // A subscription may be silent for days.
    const isListening = request?.method === 'subscriptions/listen'
    return this.#http.post(message, options, async () => ({
      headers,
      ...(isListening && { bodyTimeoutMs: 0 }),
    }))
  }
}

/** Returns the headers that repeat the body, for proxies that route by headers (MCP 2026-07-28 transports). */
function headersOf(request: JsonRpcRequest | undefined): Record<string, string> {
  const revision = metaOf(request?.params)[mcpMetaKey.protocolVersion]
  const headers: Record<string, string> = {
    [mcpHeader.protocolVersion]: typeof revision === 'string' ? revision : modernRevision,
  }
  if (request === undefined) return headers
  const { method, params } = request
  headers[mcpHeader.method] = encodeMcpHeaderValue(method)
  const parameter = nameParameters.get(method)
  const name = parameter === undefined ? undefined : params?.[parameter]
  if (typeof name === 'string') headers[mcpHeader.name] = encodeMcpHeaderValue(name)
  return headers
}
