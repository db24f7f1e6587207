import type { Reply, TextResponse } from '@drawbridge/shared/text-response.ts'
import type { CallToolResult, JSONRPCRequest, LoggingLevel } from '@modelcontextprotocol/server'
import { type JsonRpcErrorObject, type JsonRpcId, jsonRpcError } from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpMetaKey } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { logSeverity, metaOf } from '@drawbridge/shared/mcp/params.ts'
import { type EventStream, openEventStream } from '../event-stream.ts'
import type { Incoming } from '../incoming.ts'
import type { ClientChannel } from '../tools/tool-context.ts'

/** JSON with its length in bytes, counted once: for a long list the HTTP adapter would copy it to count it, with each answer. */
export interface CountedJson {
  text: string
  bytes: number
}

export function counted(text: string): CountedJson {
  return { text, bytes: Buffer.byteLength(text) }
}

/** The outcome of a request. */
type PlainAnswer<Result = CountedJson> = { result: Result } | { error: JsonRpcErrorObject }

export type PlainCallAnswer = PlainAnswer<CallToolResult>

/** A request, its context, and the channel by which its tool talks to the client. */
export interface PlainRequest {
  message: JSONRPCRequest
  incoming: Incoming
  channel: ClientChannel
}

/** A request of a client, and the method that handles it. */
export interface PlainCall {
  method: PlainMethod
  message: JSONRPCRequest
  request: Request
  incoming: Incoming
}

/** Handles one method. Never rejects. */
export type PlainMethod = (request: PlainRequest) => PlainAnswer | Promise<PlainAnswer>

/** Answers a request, or those of a batch, for a client that waits for a JSON response. */
export async function answerInJson(calls: readonly PlainCall[]): Promise<TextResponse> {
  const answers = await Promise.all(calls.map(answerSilently))
  const [only] = answers
  if (only && answers.length === 1) return jsonResponse(only)
  return jsonResponse(counted(`[${answers.map(({ text }) => text).join(',')}]`))
}

async function answerSilently({ method, message, request, incoming }: PlainCall): Promise<CountedJson> {
  const channel: ClientChannel = {
    // Read on demand: the HTTP adapter creates the signal at its first use.
    get signal() {
      return request.signal
    },
    progress() {},
    log() {},
  }
  return toJson(await method({ message, incoming, channel }), message.id)
}

/**
 * Runs `method` for a client that may have asked for progress or log messages. The response is a stream from the first of
 * them on, or at once if `isStream`. The call is aborted when the client leaves.
 */
export async function answerRequest(given: PlainCall, isStream: boolean): Promise<Reply> {
  const { method, message, request, incoming } = given
  const { [mcpMetaKey.progressToken]: progressToken, [mcpMetaKey.logLevel]: logLevel } = metaOf(
    message.params,
  )
  if (progressToken === undefined && logLevel === undefined) {
    return answerInJson([given])
  }
  const call = new StreamedCall(request.signal)
  if (isStream) call.open()
  const channel: ClientChannel = {
    signal: call.signal,
    progress(progress, total, text) {
      if (progressToken === undefined) return
      call.send('notifications/progress', { progressToken, progress, total, message: text })
    },
    log(level, data) {
      if (isLogged(level, logLevel)) call.send('notifications/message', { level, data })
    },
  }
  return call.run(async () => toJson(await method({ message, incoming, channel }), message.id))
}

/** One call whose response may become a stream while it runs. */
class StreamedCall {
  readonly #left = new AbortController()
  readonly #clientGone: AbortSignal
  #stream: EventStream | undefined
  #respond: (reply: Reply) => void = () => {}
  readonly #response = new Promise<Reply>((resolve) => (this.#respond = resolve))

  constructor(clientGone: AbortSignal) {
    this.#clientGone = clientGone
  }

  /** Aborted when the client leaves. */
  get signal(): AbortSignal {
    return this.#left.signal
  }

  open(): EventStream {
    this.#stream ??= openEventStream(() => this.#left.abort())
    this.#respond(this.#stream.response)
    return this.#stream
  }

  send(method: string, params: object): void {
    if (!this.#left.signal.aborted) this.open().send({ jsonrpc: '2.0', method, params })
  }

  async run(work: () => Promise<CountedJson>): Promise<Reply> {
    if (this.#clientGone.aborted) this.#leave()
    else this.#clientGone.addEventListener('abort', this.#leave, { once: true })
    if (!this.#left.signal.aborted) void this.#finish(work)
    return this.#response
  }

  async #finish(work: () => Promise<CountedJson>): Promise<void> {
    const message = await work()
    this.#clientGone.removeEventListener('abort', this.#leave)
    this.#stream?.send(message.text)
    this.#stream?.end()
    this.#respond(jsonResponse(message))
  }

  readonly #leave = (): void => {
    this.#left.abort()
    this.#stream?.end()
    this.#respond({ status: 499, headers: {}, body: null })
  }
}

function isLogged(level: LoggingLevel, minimum: unknown): boolean {
  const minimumSeverity = logSeverity(minimum)
  return minimumSeverity !== undefined && (logSeverity(level) ?? -1) >= minimumSeverity
}

function toJson(answer: PlainAnswer, id: JsonRpcId | null): CountedJson {
  if ('error' in answer) {
    const { code, message, data } = answer.error
    return counted(JSON.stringify(jsonRpcError(id, code, message, data)))
  }
  const { text, bytes } = answer.result
  const [before, after] = ['{"result":', `,"jsonrpc":"2.0","id":${JSON.stringify(id)}}`]
  return { text: `${before}${text}${after}`, bytes: bytes + Buffer.byteLength(before + after) }
}

/** The HTTP response with a message or batch. */
function jsonResponse({ text, bytes }: CountedJson, status = 200): TextResponse {
  const headers = { 'content-type': 'application/json', 'content-length': String(bytes) }
  return { status, headers, body: text }
}

/** The HTTP response with a JSON-RPC error. */
export function errorResponse(status: number, error: JsonRpcErrorObject, id: JsonRpcId | null): TextResponse {
  return jsonResponse(toJson({ error }, id), status)
}
