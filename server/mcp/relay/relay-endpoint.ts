import type { Dispatcher } from 'undici'
import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import { jsonRpcCode } from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpHeader } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { HttpUpstream } from '../../core/gateway/upstream.ts'
import type { Sealer } from '../../core/seal.ts'
import { callsOf } from '../../core/tokens/call-record.ts'
import type { Caller } from '../../core/tokens/caller.ts'
import type { McpEndpoint } from '../endpoint-config.ts'
import { type Incoming, lenientHeaders } from '../incoming.ts'
import { OpenStreams, repeatChecks } from '../open-streams.ts'
import { unknownTool } from '../tools/tool.ts'
import { AnsweredCalls, isOffered, KnownNames } from './answered-calls.ts'
import { failureResponse, internalError, isJsonRpcError, sessionNotFound } from './failure-response.ts'
import { relayStream, type StreamFault } from './relayed-stream.ts'
import { refuseHeaders, requestHeaders } from './request-headers.ts'
import { SealedSessions } from './sealed-session.ts'
import { discard, headerOf, mediaType } from './upstream-answer.ts'
import {
  toUpstreamError,
  UpstreamConnection,
  UpstreamError,
  type UpstreamFailure,
} from './upstream-connection.ts'

/** What relaying to an upstream needs. */
export interface RelayPorts {
  upstream: HttpUpstream
  /** The headers that tell the upstream who calls. */
  identify: (caller: Caller) => Promise<Record<string, string>>
  sealer: Sealer
  runtime: Pick<Runtime, 'now'>
  report: (
    event: 'upstream_failed' | 'upstream_refused',
    fields: { reason?: RelayFault; status?: number; error?: unknown },
  ) => void
}

/** Why an answer of the upstream did not go on. */
export type RelayFault = Exclude<UpstreamFailure, 'left'> | StreamFault | 'redirect' | 'no_identity'

/** An endpoint that passes everything on to an upstream. */
export interface RelayEndpoint extends McpEndpoint {
  /** Rejects when the upstream does not answer. */
  ping(): Promise<void>
}

const nextStep = 'Try again in a minute; if it keeps failing, tell the operator of this server.'

/**
 * Creates the endpoint that passes messages of all revisions on to an MCP server by HTTP, and its answers back, as they are. What does
 * not go on: credentials and identity of the client, and from the upstream cookies, challenges and every other header that is not about
 * the message. Ids of sessions are sealed. Tools that policy or access rules hide from the caller do not exist.
 *
 * Not checked: what messages say beyond that, which is for the upstream to do.
 */
export function createRelayEndpoint(ports: RelayPorts): RelayEndpoint {
  const streams = new OpenStreams(ports.runtime)
  const stopChecks = repeatChecks(() => streams.check())
  const connection = new UpstreamConnection(ports.upstream)
  const relay = new Relay(ports, connection, streams)
  return {
    methods: ['POST', 'GET', 'DELETE'],
    notify: { toolsChanged() {}, promptsChanged() {}, resourcesChanged() {}, resourceUpdated() {} },
    has: (call) => relay.known.has(call),
    handle: (request, body, caller, calls, text) => relay.handle(request, { body, caller, calls }, text),
    endStreams: () => streams.endNotificationStreams(),
    async ping() {
      const signal = AbortSignal.timeout(pingTimeoutMs)
      const { body } = await connection.send({
        method: 'HEAD',
        headers: ports.upstream.headers,
        body: undefined,
        signal,
        mayBeSilent: false,
      })
      await body.dump()
    },
    async close() {
      stopChecks()
      streams.close()
      await connection.close()
    },
  }
}

const pingTimeoutMs = 5000

/** One request on its way: what came, and who gets told how it ended. */
interface Exchange {
  request: Request
  incoming: Incoming
  answered: AnsweredCalls
  /** The client's sealed id of the session. */
  session: string | undefined
}

class Relay {
  readonly known = new KnownNames()
  readonly #ports: RelayPorts
  readonly #connection: UpstreamConnection
  readonly #streams: OpenStreams
  readonly #sessions: SealedSessions

  constructor(ports: RelayPorts, connection: UpstreamConnection, streams: OpenStreams) {
    this.#ports = ports
    this.#connection = connection
    this.#streams = streams
    this.#sessions = new SealedSessions(ports.sealer)
  }

  async handle(request: Request, incoming: Incoming, text: string | undefined): Promise<Response> {
    const { body, caller } = incoming
    const refused = this.#refuseHidden(incoming) ?? refuseHeaders(request, body)
    if (refused) return refused
    const session = request.headers.get(mcpHeader.sessionId) ?? undefined
    const sessionId = session === undefined ? undefined : this.#sessions.open(session, caller)
    if (session !== undefined && sessionId === undefined) return sessionNotFound(body)
    const answered = new AnsweredCalls(incoming, this.#ports.upstream.policy, this.known)
    const exchange = { request, incoming, answered, session }
    try {
      return await this.#relay(exchange, sessionId, text)
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error
      return this.#unanswered(error, exchange)
    } finally {
      // What a stream answers is still to come.
      if (!this.#streaming.delete(exchange)) answered.end(request.signal.aborted ? 'cancelled' : 'failed')
    }
  }

  readonly #streaming = new Set<Exchange>()

  /** Tools that the caller may not call are unknown. A batch with such a call is refused whole. */
  #refuseHidden({ body, caller, calls }: Incoming): Response | undefined {
    const { policy } = this.#ports.upstream
    const hidden = callsOf(body).filter(
      (call) => call.event === 'tool_called' && !isOffered(call.name, caller, policy),
    )
    const [first] = hidden
    if (!first) return undefined
    for (const call of hidden) calls.refuse(call, { outcome: 'refused_rule', isKnown: this.known.has(call) })
    const error = { code: jsonRpcCode.invalidParams, message: unknownTool(first.name) }
    return failureResponse(200, error, body)
  }

  async #relay(
    exchange: Exchange,
    sessionId: string | undefined,
    text: string | undefined,
  ): Promise<Response> {
    const { upstream, identify } = this.#ports
    const { request, incoming } = exchange
    const identity = await identify(incoming.caller).catch((error: unknown) => {
      this.#ports.report('upstream_failed', { reason: 'no_identity', error })
    })
    if (!identity) {
      const why = 'Your session at the web app cannot be used right now.'
      return failureResponse(503, internalError(`${why} ${nextStep}`), incoming.body, { 'retry-after': '5' })
    }
    const response = await this.#connection.send({
      method: request.method,
      headers: requestHeaders(lenientHeaders(request.headers, incoming.body), {
        upstream,
        identity,
        sessionId,
      }),
      body: text,
      signal: request.signal,
      mayBeSilent: waits(exchange),
    })
    return this.#answer(response, exchange)
  }

  async #answer(response: Dispatcher.ResponseData, exchange: Exchange): Promise<Response> {
    const { statusCode: status, body } = response
    if (status >= 200 && status < 300) return this.#success(response, exchange)
    if (status === 401 || status === 403 || status === 407) return this.#refuse(response, exchange)
    if (status < 400) return this.#fail('redirect', response, exchange)
    if (status === 404 && exchange.session !== undefined) {
      await discard(body)
      return sessionNotFound(exchange.incoming.body)
    }
    return this.#error(response, exchange)
  }

  async #success(response: Dispatcher.ResponseData, exchange: Exchange): Promise<Response> {
    const { statusCode: status, body } = response
    const isEmpty = status === 202 || status === 204 || headerOf(response, 'content-length') === '0'
    // Some say application/json of the empty answer to a notification.
    const isWhole = isEmpty && exchange.answered.ids().length === 0
    if (isWhole || exchange.request.method === 'DELETE') {
      await discard(body)
      return new Response(null, { status, headers: this.#headers(response, exchange) })
    }
    const type = mediaType(response)
    if (type === 'text/event-stream') return this.#stream(response, exchange)
    if (type === 'application/json') return this.#json(response, exchange)
    return this.#fail('bad_answer', response, exchange)
  }

  async #json(response: Dispatcher.ResponseData, exchange: Exchange): Promise<Response> {
    const text = await this.#readText(response.body, exchange)
    if (text === undefined) return this.#fail('too_large', response, exchange)
    const passed = exchange.answered.pass(text)
    // A client would wait for the answer that is not there.
    const isUnanswered = exchange.answered.ids().length > 0
    if (passed === undefined || isUnanswered) return this.#fail('bad_answer', response, exchange)
    return new Response(passed, {
      status: response.statusCode,
      headers: { ...this.#headers(response, exchange), 'content-type': 'application/json' },
    })
  }

  async #stream(response: Dispatcher.ResponseData, exchange: Exchange): Promise<Response> {
    const { request, incoming, answered } = exchange
    const { caller, calls } = incoming
    this.#streaming.add(exchange)
    const relayed = await relayStream(response.body, {
      calls: answered,
      maxBytes: this.#ports.upstream.maxBodyBytes,
      hasLeft: () => request.signal.aborted,
      failed: (reason, error) => this.#ports.report('upstream_failed', { reason, error }),
      failureText: `The MCP server behind this endpoint broke off its answer. ${nextStep}`,
    })
    const headers = {
      ...this.#headers(response, exchange),
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
    }
    if (typeof relayed === 'string') {
      calls.over()
      return new Response(relayed, { headers })
    }
    const kind = waits(exchange) ? 'notifications' : 'call'
    return this.#streams.track(new Response(relayed, { headers }), { caller, calls, kind })
  }

  /** An error of the upstream about the message goes on when it is JSON-RPC, with its status. */
  async #error(response: Dispatcher.ResponseData, exchange: Exchange): Promise<Response> {
    const { statusCode: status } = response
    const headers = this.#headers(response, exchange)
    const text =
      mediaType(response) === 'application/json'
        ? await this.#readText(response.body, exchange)
        : await discard(response.body)
    if (text !== undefined && isJsonRpcError(text)) {
      const passed = exchange.answered.pass(text) ?? text
      return new Response(passed, { status, headers: { ...headers, 'content-type': 'application/json' } })
    }
    if (!ownStatuses.has(status) || (status === 404 && exchange.request.method === 'POST')) {
      return this.#fail(status === 504 ? 'timeout' : 'bad_answer', response, exchange)
    }
    const said = status === 429 || status === 503 ? 'is busy' : `refused the message with ${status}`
    const error = internalError(`The MCP server behind this endpoint ${said}. ${nextStep}`)
    return failureResponse(status, error, exchange.incoming.body, headers)
  }

  #refuse(response: Dispatcher.ResponseData, { incoming }: Exchange): Promise<Response> {
    const { statusCode: status, body } = response
    this.#ports.report('upstream_refused', { status })
    const text = `The MCP server behind this endpoint refused this endpoint. Signing in again does not help: tell the operator of this server.`
    return discard(body).then(() => failureResponse(502, internalError(text), incoming.body))
  }

  async #fail(
    reason: RelayFault,
    { statusCode: status, body }: Dispatcher.ResponseData,
    { incoming }: Exchange,
  ): Promise<Response> {
    await discard(body)
    this.#ports.report('upstream_failed', { reason, status })
    const text = `The MCP server behind this endpoint gave an answer that cannot be passed on. ${nextStep}`
    return failureResponse(502, internalError(text), incoming.body)
  }

  #unanswered({ failure, cause }: UpstreamError, { incoming }: Exchange): Response {
    if (failure === 'left') return new Response(null, { status: 499 })
    this.#ports.report('upstream_failed', { reason: failure, error: cause })
    const what = {
      unreachable: 'cannot be reached',
      timeout: 'took too long to answer',
      broken: 'broke off its answer',
    }[failure]
    const text = `The MCP server behind this endpoint ${what}. ${nextStep}`
    return failureResponse(failure === 'timeout' ? 504 : 502, internalError(text), incoming.body)
  }

  /** Undefined for more than may be. Rejects with {@link UpstreamError}. */
  async #readText(body: Dispatcher.ResponseData['body'], { request }: Exchange): Promise<string | undefined> {
    const chunks: Buffer[] = []
    let length = 0
    try {
      for await (const chunk of body as AsyncIterable<Buffer>) {
        chunks.push(chunk)
        length += chunk.length
        if (length > this.#ports.upstream.maxBodyBytes) return undefined
      }
    } catch (error) {
      throw toUpstreamError(error, request.signal)
    }
    return Buffer.concat(chunks).toString('utf8')
  }

  /** What goes on of the headers of an answer. */
  #headers(
    response: Dispatcher.ResponseData,
    { incoming: { caller }, session }: Exchange,
  ): Record<string, string> {
    const [id, retryAfter, revision] = ['mcp-session-id', 'retry-after', 'mcp-protocol-version'].map((name) =>
      headerOf(response, name),
    )
    return {
      ...(id !== undefined && { 'mcp-session-id': session ?? this.#sessions.seal(id, caller) }),
      ...(retryAfter !== undefined && { 'retry-after': retryAfter }),
      ...(revision !== undefined && { 'mcp-protocol-version': revision }),
    }
  }
}

/** Statuses that mean something to a client of MCP. */
const ownStatuses: ReadonlySet<number> = new Set([400, 404, 405, 406, 409, 413, 415, 422, 429, 503])

/** Whether the client waits for notifications, for as long as it likes. */
function waits({ request, incoming: { body } }: Exchange): boolean {
  return request.method === 'GET' || (isJsonObject(body) && body['method'] === 'subscriptions/listen')
}
