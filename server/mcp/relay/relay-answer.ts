import type { Dispatcher } from 'undici'
import { isJsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { eventStreamHeaders, type Reply } from '@drawbridge/shared/text-response.ts'
import type { HttpUpstream } from '../../core/gateway/upstream.ts'
import type { Sealer } from '../../core/seal.ts'
import type { Incoming } from '../incoming.ts'
import type { OpenStreams } from '../open-streams.ts'
import type { SubscriptionSlot } from '../subscriptions.ts'
import { SignInNeededError } from '../../core/tokens/caller.ts'
import type { AnsweredCalls } from '../answered-calls.ts'
import { failureResponse, internalError, nextStep, sessionNotFound } from '../failure-response.ts'
import { RelayedStream, type StreamFault } from './relayed-stream.ts'
import { sealSession } from './upstream-ids.ts'
import { decodedBody, discard, toUpstreamError, type UpstreamFailure } from './upstream-connection.ts'

/** Reasons why a response of the upstream is not passed on. */
export type RelayFault = Exclude<UpstreamFailure, 'left'> | StreamFault | 'redirect' | 'no_identity'

export type ReportUpstream = (
  event: 'upstream_failed' | 'upstream_refused',
  fields: { reason?: RelayFault; status?: number; error?: unknown },
) => void

/** A request to the upstream, and what its response needs. */
export interface RelayedRequest {
  request: Request
  incoming: Incoming
  answered: AnsweredCalls
  /** The session that the client named: the client's sealed id, and the upstream's. */
  session: { sealed: string; id: string } | undefined
  /** The upstream's task ids, by the client's. */
  taskIds: ReadonlyMap<string, string>
  /** The slot of a stream of notifications. */
  slot: SubscriptionSlot | undefined
  /** True if the response is a stream, which ends the calls itself. */
  isStreaming: boolean
}

/** Returns whether the client waits for notifications, which has no time limit. */
export function waitsForNotifications(request: Request, body: unknown): boolean {
  return request.method === 'GET' || (isJsonObject(body) && body['method'] === 'subscriptions/listen')
}

export interface RelayAnswerPorts {
  upstream: Pick<HttpUpstream, 'maxBodyBytes'>
  sealer: Sealer
  streams: OpenStreams
  report: ReportUpstream
}

type Answer = Dispatcher.ResponseData

/** Passes the upstream's responses back to the client, or reports their fault. */
export class RelayAnswer {
  readonly #ports: RelayAnswerPorts

  constructor(ports: RelayAnswerPorts) {
    this.#ports = ports
  }

  /** Rejects with `UpstreamError` if the upstream breaks off before the response has become a stream. */
  async pass(answer: Answer, sent: RelayedRequest): Promise<Reply> {
    const { statusCode: status } = answer
    if (status < 300) return this.#success(answer, sent)
    if (status < 400) return this.#fail('redirect', answer, sent)
    if ([401, 403, 407].includes(status)) return this.#refuse(answer, sent)
    if (status !== 404 || !sent.session) return this.#error(answer, sent)
    await discard(answer)
    return sessionNotFound(sent.incoming.body)
  }

  async #success(answer: Answer, sent: RelayedRequest): Promise<Reply> {
    const { request, answered } = sent
    if (request.method === 'DELETE') {
      await discard(answer)
      return new Response(null, { status: answer.statusCode, headers: this.#headers(answer, sent) })
    }
    // Nothing was requested, so the body does not matter. Not awaited: it may be an endless stream.
    if (request.method === 'POST' && answered.ids().length === 0) {
      void discard(answer)
      return new Response(null, { status: 202, headers: this.#headers(answer, sent) })
    }
    const type = mediaTypeOf(answer)
    if (type === 'text/event-stream') return this.#stream(answer, sent)
    return type === 'application/json' ? this.#json(answer, sent) : this.#fail('bad_answer', answer, sent)
  }

  async #json(answer: Answer, sent: RelayedRequest): Promise<Reply> {
    const text = await this.#readText(answer, sent)
    if (text === undefined) return this.#fail('too_large', answer, sent)
    const passed = sent.answered.pass(text)
    // The client would wait for the missing response.
    const isUnanswered = sent.answered.ids().length > 0
    if (passed === undefined || isUnanswered) return this.#fail('bad_answer', answer, sent)
    const headers = { ...this.#headers(answer, sent), 'content-type': 'application/json' }
    return { status: answer.statusCode, headers, body: passed }
  }

  async #stream(answer: Answer, sent: RelayedRequest): Promise<Reply> {
    const { answered, slot } = sent
    const { caller, calls } = sent.incoming
    // Do not keep the request and its message: a stream may last for days.
    const { signal } = sent.request
    sent.isStreaming = true
    const source = new RelayedStream(decodedBody(answer), {
      calls: answered,
      maxBytes: this.#ports.upstream.maxBodyBytes,
      hasLeft: () => signal.aborted,
      failed: (reason, error) => this.#ports.report('upstream_failed', { reason, error }),
      failureText: `The MCP server behind this endpoint broke off its answer. ${nextStep}`,
    })
    const headers = { ...this.#headers(answer, sent), ...eventStreamHeaders }
    return this.#ports.streams.serve(
      source,
      { status: 200, headers },
      {
        caller,
        calls,
        kind: slot ? 'notifications' : 'call',
        ...(slot && { until: slot.evicted, ended: slot.release }),
      },
    )
  }

  /** Passes a JSON-RPC error on, with its status; any other is replaced. */
  async #error(answer: Answer, sent: RelayedRequest): Promise<Response> {
    const { statusCode: status } = answer
    const headers = this.#headers(answer, sent)
    const text =
      mediaTypeOf(answer) === 'application/json' ? await this.#readText(answer, sent) : await discard(answer)
    const passed = text !== undefined && isJsonRpcError(text) ? sent.answered.pass(text) : undefined
    if (passed !== undefined) {
      return new Response(passed, { status, headers: { ...headers, 'content-type': 'application/json' } })
    }
    // A 404 for a POST means that there is no MCP server at this URL.
    if (!ownStatuses.has(status) || (status === 404 && sent.request.method === 'POST')) {
      return this.#fail(status === 504 ? 'timeout' : 'bad_answer', answer, sent)
    }
    const said = status === 429 || status === 503 ? 'is busy' : `refused the message with ${status}`
    const error = internalError(`The MCP server behind this endpoint ${said}. ${nextStep}`)
    return failureResponse(status, error, sent.incoming.body, headers)
  }

  async #refuse(answer: Answer, { incoming }: RelayedRequest): Promise<Response> {
    await discard(answer)
    // The upstream requires a sign-in even for public tools.
    if (!incoming.caller.user) throw new SignInNeededError()
    this.#ports.report('upstream_refused', { status: answer.statusCode })
    const text =
      incoming.caller.credential === 'service'
        ? 'The MCP server behind this endpoint refused a service. If it needs the token of a person, connect a person to use it; else tell the operator of this server.'
        : 'The MCP server behind this endpoint refused this endpoint. Signing in again does not help: tell the operator of this server.'
    return failureResponse(502, internalError(text), incoming.body)
  }

  async #fail(reason: RelayFault, answer: Answer, { incoming }: RelayedRequest): Promise<Response> {
    await discard(answer)
    this.#ports.report('upstream_failed', { reason, status: answer.statusCode })
    const text = `The MCP server behind this endpoint gave an answer that cannot be passed on. ${nextStep}`
    return failureResponse(502, internalError(text), incoming.body)
  }

  /** Returns undefined if the response is too large. */
  async #readText(answer: Answer, { request }: RelayedRequest): Promise<string | undefined> {
    const chunks: Buffer[] = []
    let length = 0
    try {
      for await (const chunk of decodedBody(answer) as AsyncIterable<Buffer>) {
        chunks.push(chunk)
        length += chunk.length
        if (length > this.#ports.upstream.maxBodyBytes) return undefined
      }
    } catch (error) {
      throw toUpstreamError(error, request.signal)
    }
    // Removes a byte order mark.
    return new TextDecoder().decode(Buffer.concat(chunks))
  }

  #headers(answer: Answer, { incoming: { caller }, session }: RelayedRequest): Record<string, string> {
    const [id, retryAfter, revision] = ['mcp-session-id', 'retry-after', 'mcp-protocol-version'].map((name) =>
      headerOf(answer, name),
    )
    return {
      ...(id !== undefined && {
        'mcp-session-id': session?.id === id ? session.sealed : sealSession(id, caller, this.#ports.sealer),
      }),
      ...(retryAfter !== undefined && { 'retry-after': retryAfter }),
      ...(revision !== undefined && { 'mcp-protocol-version': revision }),
    }
  }
}

/** Statuses that mean something to MCP clients. */
const ownStatuses: ReadonlySet<number> = new Set([400, 404, 405, 406, 409, 413, 415, 422, 429, 503])

function isJsonRpcError(text: string): boolean {
  const value = parseJsonObject(text)
  return value?.['jsonrpc'] === '2.0' && 'error' in value
}

export function mediaTypeOf(answer: Answer): string | undefined {
  return headerOf(answer, 'content-type')?.split(';')[0]?.trim().toLowerCase()
}

function headerOf({ headers }: Answer, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}
