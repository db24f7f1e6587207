import type { Dispatcher } from 'undici'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { eventStreamHeaders, type Reply } from '@drawbridge/shared/text-response.ts'
import type { HttpUpstream } from '../../core/gateway/upstream.ts'
import type { Sealer } from '../../core/seal.ts'
import type { Incoming } from '../incoming.ts'
import type { OpenStreams } from '../open-streams.ts'
import type { SubscriptionSlot } from '../subscriptions.ts'
import { SignInNeededError } from '../../core/tokens/caller.ts'
import type { AnsweredCalls } from '../answered-calls.ts'
import { failureResponse, internalError, nextStep, sessionNotFound } from '../failure-response.ts'
import { relayStream, type StreamFault } from './relayed-stream.ts'
import { sealSession } from './upstream-ids.ts'
import { decodedBody, discard, toUpstreamError, type UpstreamFailure } from './upstream-connection.ts'

/** Reasons for not passing an answer of the upstream on. */
export type RelayFault = Exclude<UpstreamFailure, 'left'> | StreamFault | 'redirect' | 'no_identity'

export type ReportUpstream = (
  event: 'upstream_failed' | 'upstream_refused',
  fields: { reason?: RelayFault; status?: number; error?: unknown },
) => void

/** One request on its way to the upstream. */
export interface Exchange {
  request: Request
  incoming: Incoming
  answered: AnsweredCalls
  /** The session that the client named: its own sealed id, and the upstream's. */
  session: { sealed: string; id: string } | undefined
  /** The upstream's own ids of tasks, by those that the client knows. */
  taskIds: ReadonlyMap<string, string>
  /** The place that a stream of notifications takes. */
  slot: SubscriptionSlot | undefined
  /** True when the answer is a stream, which ends the calls itself. */
  isStreaming: boolean
}

/** Returns whether the client waits for notifications, without a time limit. */
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

/** Passes what the upstream answers back to the client, or says what is wrong with it. */
export class RelayAnswer {
  /** True when the last message without a sign-in was refused. */
  refusesAnonymous = false
  readonly #ports: RelayAnswerPorts

  constructor(ports: RelayAnswerPorts) {
    this.#ports = ports
  }

  /** Rejects with `UpstreamError` when the upstream breaks off before the answer is a stream. */
  async pass(answer: Answer, exchange: Exchange): Promise<Reply> {
    if (answer.statusCode < 300 && !exchange.incoming.caller.user) this.refusesAnonymous = false
    switch (kindOf(answer, exchange)) {
      case 'stream':
        return this.#stream(answer, exchange)
      case 'json':
        return this.#json(answer, exchange)
      case 'accepted':
        // It may be a stream without an end.
        void discard(answer)
        return new Response(null, { status: 202, headers: this.#headers(answer, exchange) })
      case 'ended':
        await discard(answer)
        return new Response(null, { status: answer.statusCode, headers: this.#headers(answer, exchange) })
      case 'refused':
        return this.#refuse(answer, exchange)
      case 'session_over':
        await discard(answer)
        return sessionNotFound(exchange.incoming.body)
      case 'error':
        return this.#error(answer, exchange)
      case 'redirect':
        return this.#fail('redirect', answer, exchange)
      case 'bad':
        return this.#fail('bad_answer', answer, exchange)
    }
  }

  async #json(answer: Answer, exchange: Exchange): Promise<Reply> {
    const text = await this.#readText(answer, exchange)
    if (text === undefined) return this.#fail('too_large', answer, exchange)
    const passed = exchange.answered.pass(text)
    // A client would wait for an answer that is not there.
    const isUnanswered = exchange.answered.ids().length > 0
    if (passed === undefined || isUnanswered) return this.#fail('bad_answer', answer, exchange)
    const headers = { ...this.#headers(answer, exchange), 'content-type': 'application/json' }
    return { status: answer.statusCode, headers, body: passed }
  }

  async #stream(answer: Answer, exchange: Exchange): Promise<Reply> {
    const { answered, slot } = exchange
    const { caller, calls } = exchange.incoming
    // The request and its message are let go: a stream may last for days.
    const { signal } = exchange.request
    exchange.isStreaming = true
    const relayed = await relayStream(decodedBody(answer), {
      calls: answered,
      maxBytes: this.#ports.upstream.maxBodyBytes,
      hasLeft: () => signal.aborted,
      failed: (reason, error) => this.#ports.report('upstream_failed', { reason, error }),
      failureText: `The MCP server behind this endpoint broke off its answer. ${nextStep}`,
    })
    const headers = { ...this.#headers(answer, exchange), ...eventStreamHeaders }
    if (typeof relayed === 'string') {
      slot?.release()
      return { status: 200, headers, body: relayed }
    }
    return this.#ports.streams.track(new Response(relayed, { headers }), {
      caller,
      calls,
      kind: slot ? 'notifications' : 'call',
      ...(slot && { until: slot.evicted, ended: slot.release }),
    })
  }

  /** An error about the message goes on when it is JSON-RPC, with its status. */
  async #error(answer: Answer, exchange: Exchange): Promise<Response> {
    const { statusCode: status } = answer
    const headers = this.#headers(answer, exchange)
    const text =
      mediaTypeOf(answer) === 'application/json'
        ? await this.#readText(answer, exchange)
        : await discard(answer)
    const passed = text !== undefined && isJsonRpcError(text) ? exchange.answered.pass(text) : undefined
    if (passed !== undefined) {
      return new Response(passed, { status, headers: { ...headers, 'content-type': 'application/json' } })
    }
    // What the upstream does not know at all is not at its address.
    if (!ownStatuses.has(status) || (status === 404 && exchange.request.method === 'POST')) {
      return this.#fail(status === 504 ? 'timeout' : 'bad_answer', answer, exchange)
    }
    const said = status === 429 || status === 503 ? 'is busy' : `refused the message with ${status}`
    const error = internalError(`The MCP server behind this endpoint ${said}. ${nextStep}`)
    return failureResponse(status, error, exchange.incoming.body, headers)
  }

  async #refuse(answer: Answer, { incoming }: Exchange): Promise<Response> {
    await discard(answer)
    // It takes nobody without a sign-in, public tools or not.
    if (!incoming.caller.user) {
      this.refusesAnonymous = true
      throw new SignInNeededError()
    }
    this.#ports.report('upstream_refused', { status: answer.statusCode })
    const text =
      'The MCP server behind this endpoint refused this endpoint. Signing in again does not help: tell the operator of this server.'
    return failureResponse(502, internalError(text), incoming.body)
  }

  async #fail(reason: RelayFault, answer: Answer, { incoming }: Exchange): Promise<Response> {
    await discard(answer)
    this.#ports.report('upstream_failed', { reason, status: answer.statusCode })
    const text = `The MCP server behind this endpoint gave an answer that cannot be passed on. ${nextStep}`
    return failureResponse(502, internalError(text), incoming.body)
  }

  /** Undefined for more than may be. */
  async #readText(answer: Answer, { request }: Exchange): Promise<string | undefined> {
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
    // Without a byte order mark.
    return new TextDecoder().decode(Buffer.concat(chunks))
  }

  #headers(answer: Answer, { incoming: { caller }, session }: Exchange): Record<string, string> {
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

type AnswerKind =
  | 'stream'
  | 'json'
  | 'accepted'
  | 'ended'
  | 'refused'
  | 'session_over'
  | 'error'
  | 'redirect'
  | 'bad'

function kindOf(answer: Answer, exchange: Exchange): AnswerKind {
  const { statusCode: status } = answer
  if (status < 300) return kindOfSuccess(answer, exchange)
  if (status < 400) return 'redirect'
  if (status === 401 || status === 403 || status === 407) return 'refused'
  return status === 404 && exchange.session ? 'session_over' : 'error'
}

function kindOfSuccess(answer: Answer, { request, answered }: Exchange): AnswerKind {
  if (request.method === 'DELETE') return 'ended'
  // Nothing was asked, whatever comes with it.
  if (request.method === 'POST' && answered.ids().length === 0) return 'accepted'
  const type = mediaTypeOf(answer)
  if (type === 'text/event-stream') return 'stream'
  return type === 'application/json' ? 'json' : 'bad'
}

/** Statuses that mean something to a client of MCP. */
const ownStatuses: ReadonlySet<number> = new Set([400, 404, 405, 406, 409, 413, 415, 422, 429, 503])

function isJsonRpcError(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return isJsonObject(value) && value['jsonrpc'] === '2.0' && 'error' in value
  } catch {
    return false
  }
}

function mediaTypeOf(answer: Answer): string | undefined {
  return headerOf(answer, 'content-type')?.split(';')[0]?.trim().toLowerCase()
}

function headerOf({ headers }: Answer, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}
