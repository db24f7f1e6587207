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
import { failureResponse, internalError, nextStep, sessionNotFound } from './failure-response.ts'
import { type Exchange, RelayAnswer, type ReportUpstream, waitsForNotifications } from './relay-answer.ts'
import { refuseHeaders, requestHeaders } from './request-headers.ts'
import { SealedSessions } from './sealed-session.ts'
import { type RequestAnswered, UpstreamConnection, UpstreamError } from './upstream-connection.ts'

/** What relaying to an upstream needs. */
export interface RelayPorts {
  upstream: HttpUpstream
  /** The headers that tell the upstream who calls. */
  identify: (caller: Caller) => Promise<Record<string, string>>
  sealer: Sealer
  runtime: Pick<Runtime, 'now'>
  report: ReportUpstream
  answered?: RequestAnswered
}

/** An endpoint that passes everything on to an upstream. */
export interface RelayEndpoint extends McpEndpoint {
  /** Rejects when the upstream does not answer. */
  ping(): Promise<void>
}

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
  const connection = new UpstreamConnection(ports.upstream, ports.answered)
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

class Relay {
  readonly known = new KnownNames()
  readonly #ports: RelayPorts
  readonly #connection: UpstreamConnection
  readonly #sessions: SealedSessions
  readonly #answers: RelayAnswer

  constructor(ports: RelayPorts, connection: UpstreamConnection, streams: OpenStreams) {
    this.#ports = ports
    this.#connection = connection
    this.#sessions = new SealedSessions(ports.sealer)
    this.#answers = new RelayAnswer({ ...ports, sessions: this.#sessions, streams })
  }

  async handle(request: Request, incoming: Incoming, text: string | undefined): Promise<Response> {
    const { body, caller } = incoming
    const refused = this.#refuseHidden(incoming) ?? refuseHeaders(request, body)
    if (refused) return refused
    const sealed = request.headers.get(mcpHeader.sessionId)
    const id = sealed === null ? undefined : this.#sessions.open(sealed, caller)
    if (sealed !== null && id === undefined) return sessionNotFound(body)
    const session = sealed === null || id === undefined ? undefined : { sealed, id }
    const answered = new AnsweredCalls(incoming, this.#ports.upstream.policy, this.known)
    const exchange = { request, incoming, answered, session, isStreaming: false }
    try {
      return await this.#relay(exchange, text)
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error
      return this.#unanswered(error, exchange)
    } finally {
      // What a stream answers is still to come.
      if (!exchange.isStreaming) answered.end(request.signal.aborted ? 'cancelled' : 'failed')
    }
  }

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

  async #relay(exchange: Exchange, text: string | undefined): Promise<Response> {
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
        body: incoming.body,
        sessionId: exchange.session?.id,
      }),
      body: text,
      signal: request.signal,
      mayBeSilent: waitsForNotifications(exchange),
    })
    return this.#answers.pass(response, exchange)
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
}
