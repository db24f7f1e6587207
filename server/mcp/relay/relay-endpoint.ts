import type { Dispatcher } from 'undici'
import type { Reply } from '@drawbridge/shared/text-response.ts'
import { hasOddNumber, parseExactJson } from '@drawbridge/shared/exact-json.ts'
import { jsonRpcCode } from '@drawbridge/shared/mcp/json-rpc.ts'
import { legacyRevisions, mcpHeader } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { HttpUpstream } from '../../core/gateway/upstream.ts'
import type { KeyRing, Sealer } from '../../core/seal.ts'
import { callsOf } from '../../core/access/call-record.ts'
import { type Caller, signedIn } from '../../core/tokens/caller.ts'
import type { McpEndpoint } from '../endpoint-config.ts'
import { type Incoming, isTooLongToKeep, lenientHeaders, maxKeptLength, messagesIn } from '../incoming.ts'
import { OpenStreams, repeatChecks } from '../open-streams.ts'
import { subscriptionLimits, SubscriptionSlots } from '../subscriptions.ts'
import { unknownTool } from '../tools/tool-result.ts'
import { AnsweredCalls, isOffered } from '../answered-calls.ts'
import { KnownTools } from '../known-tools.ts'
import {
  failureResponse,
  internalError,
  nextStep,
  sessionNotFound,
  taskNotFound,
  tooManyStreams,
} from '../failure-response.ts'
import { type Exchange, RelayAnswer, type ReportUpstream, waitsForNotifications } from './relay-answer.ts'
import { isModern, refuseHeaders, requestHeaders } from './request-headers.ts'
import { openSession, ownTaskIds, TaskIds, withGivenTaskIds, withTaskIds } from './upstream-ids.ts'
import { type ObserveRequest, UpstreamConnection, UpstreamError } from './upstream-connection.ts'

export interface RelayPorts {
  upstream: HttpUpstream
  /** The headers that tell the upstream who calls. */
  identify: (caller: Caller) => Promise<Record<string, string>>
  sealer: Sealer
  /** Marks ids of tasks. */
  ring: KeyRing
  runtime: Pick<Runtime, 'now'>
  report: ReportUpstream
  observe?: ObserveRequest
}

export interface RelayEndpoint extends McpEndpoint {
  /** Rejects when the upstream does not answer. */
  ping(): Promise<void>
  /** Returns whether the upstream refused the last anonymous message. */
  refusesAnonymous(): boolean
  /** Connects to the upstream without a sign-in, to know that. One that cannot be reached counts as refusing. Never rejects. */
  tryAnonymous(): Promise<void>
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
  const connection = new UpstreamConnection(ports.upstream, ports.observe)
  const relay = new Relay(ports, connection, streams)
  const ask: AskUpstream = async (method, body, more, signal = AbortSignal.timeout(pingTimeoutMs)) => {
    const headers = { ...more, ...ports.upstream.headers }
    const answer = await connection.send({ method, headers, body, signal, mayBeSilent: false })
    await answer.body.dump()
    return answer
  }
  return {
    methods: ['POST', 'GET', 'DELETE'],
    has: (call) => relay.known.has(call),
    handle(request, given, caller, calls, text) {
      // Errors of ours have the id as it came.
      const body = text !== undefined && hasOddNumber(text) ? parseExactJson(text) : given
      return relay.handle(request, { body, caller, calls }, text)
    },
    endStreams: () => streams.endNotificationStreams(),
    async ping() {
      await ask('HEAD')
    },
    refusesAnonymous: () => relay.answers.refusesAnonymous,
    async tryAnonymous() {
      relay.answers.refusesAnonymous = !(await acceptsAnonymous(ask).catch(() => false))
    },
    async close() {
      stopChecks()
      streams.close()
      await connection.close()
    },
  }
}

const pingTimeoutMs = 5000

type AskUpstream = (
  method: 'HEAD' | 'POST' | 'DELETE',
  body?: string,
  headers?: Record<string, string>,
  signal?: AbortSignal,
) => Promise<Pick<Dispatcher.ResponseData, 'statusCode' | 'headers'>>

/** Connects as a client without a sign-in does, within five seconds, and says whether the upstream lets it. */
async function acceptsAnonymous(ask: AskUpstream): Promise<boolean> {
  const signal = AbortSignal.timeout(pingTimeoutMs)
  const json = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }
  const [protocolVersion] = legacyRevisions
  const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'drawbridge', version: '1' } }
  const opened = await ask('POST', messageText('initialize', params), json, signal)
  const session = opened.headers['mcp-session-id']
  const inSession = { ...json, ...(typeof session === 'string' && { [mcpHeader.sessionId]: session }) }
  const listed = await ask('POST', messageText('tools/list', {}), inSession, signal)
  if (typeof session === 'string') await ask('DELETE', undefined, inSession, signal).catch(() => {})
  // Other refusals may be of the revision.
  return [opened, listed].every(({ statusCode }) => statusCode < 500 && ![401, 403].includes(statusCode))
}

function messageText(method: string, params: object): string {
  return JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
}

class Relay {
  readonly known = new KnownTools({ learnsFromCalls: true })
  readonly #taskIds: TaskIds
  readonly #slots = new SubscriptionSlots(subscriptionLimits)
  readonly #ports: RelayPorts
  readonly #connection: UpstreamConnection
  readonly answers: RelayAnswer

  constructor(ports: RelayPorts, connection: UpstreamConnection, streams: OpenStreams) {
    this.#ports = ports
    this.#connection = connection
    this.#taskIds = new TaskIds(ports.ring)
    this.answers = new RelayAnswer({ ...ports, streams })
  }

  async handle(request: Request, incoming: Incoming, text: string | undefined): Promise<Reply> {
    const { body, caller } = incoming
    const refused = this.#refuse(incoming) ?? refuseHeaders(request, body)
    if (refused) return refused
    const session = this.#sessionOf(request, caller)
    if (session === 'unknown') return sessionNotFound(body)
    const taskIds = ownTaskIds(body, caller, this.#taskIds)
    if (!taskIds) return taskNotFound(body)
    const slot = this.#slotFor(request, incoming)
    if (slot === 'none') return tooManyStreams(body)
    const { known } = this
    const { policy } = this.#ports.upstream
    const answered = new AnsweredCalls(incoming, {
      policy,
      known,
      withTaskIds: (message) => withGivenTaskIds(message, caller, this.#taskIds, taskIds),
    })
    return this.#exchange({ request, incoming, answered, session, taskIds, slot, isStreaming: false }, text)
  }

  async #exchange(exchange: Exchange, text: string | undefined): Promise<Reply> {
    try {
      return await this.#relay(exchange, text)
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error
      return this.#unanswered(error, exchange)
    } finally {
      // What a stream answers is still to come.
      if (!exchange.isStreaming) {
        exchange.answered.end(exchange.request.signal.aborted ? 'cancelled' : 'failed')
        exchange.slot?.release()
      }
    }
  }

  #slotFor(request: Request, { body, caller }: Incoming): Exchange['slot'] | 'none' {
    if (!waitsForNotifications(request, body)) return undefined
    return this.#slots.acquire(signedIn(caller).user.id) ?? 'none'
  }

  #sessionOf(request: Request, caller: Caller): Exchange['session'] | 'unknown' {
    const sealed = request.headers.get(mcpHeader.sessionId)
    if (sealed === null) return undefined
    const id = openSession(sealed, caller, this.#ports.sealer)
    return id === undefined ? 'unknown' : { sealed, id }
  }

  /** Refuses messages that no upstream gets. */
  #refuse(incoming: Incoming): Response | undefined {
    const { body } = incoming
    const hasMethod = (test: RegExp): boolean =>
      messagesIn(body).some(({ method }) => test.test(String(method)))
    if (hasMethod(/^events\//)) {
      const message = 'Events are not available here: call tools instead.'
      const status = isModern(body) ? 404 : 200
      return failureResponse(status, { code: jsonRpcCode.methodNotFound, message }, body)
    }
    if (hasMethod(/^(?:initialize|subscriptions\/listen)$/) && isTooLongToKeep(body)) {
      const message = `A message that opens a session or a subscription has at most ${maxKeptLength} characters. Send a shorter one.`
      return failureResponse(400, { code: jsonRpcCode.invalidParams, message }, body)
    }
    return this.#refuseHidden(incoming)
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

  async #relay(exchange: Exchange, text: string | undefined): Promise<Reply> {
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
        taskIds: exchange.taskIds,
      }),
      body: text && withTaskIds(text, exchange.taskIds),
      signal: request.signal,
      mayBeSilent: waitsForNotifications(request, incoming.body),
    })
    return this.answers.pass(response, exchange)
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
