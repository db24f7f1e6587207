import type { Reply } from '@drawbridge/shared/text-response.ts'
import { hasOddNumber, parseExactJson } from '@drawbridge/shared/exact-json.ts'
import { jsonRpcCode } from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpHeader } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { HttpUpstream } from '../../core/gateway/upstream.ts'
import type { KeyRing, Sealer } from '../../core/seal.ts'
import { callsOf } from '../../core/access/call-record.ts'
import { type Caller, signedIn } from '../../core/tokens/caller.ts'
import type { McpEndpoint } from '../endpoint-config.ts'
import { type Incoming, isTooLongToKeep, lenientHeaders, maxKeptLength, messagesIn } from '../incoming.ts'
import { OpenStreams, ownerOf, repeatChecks } from '../open-streams.ts'
import { subscriptionLimits, SubscriptionSlots } from '../subscriptions.ts'
import { ToolLearning } from '../tool-learning.ts'
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
import {
  type RelayedRequest,
  RelayAnswer,
  type ReportUpstream,
  waitsForNotifications,
} from './relay-answer.ts'
import { isModern, refuseHeaders, requestHeaders } from './request-headers.ts'
import { readToolList, toolListFor } from './tool-list.ts'
import { openSession, ownTaskIds, TaskIds, withGivenTaskIds, withTaskIds } from './upstream-ids.ts'
import { discard, type ObserveRequest, UpstreamConnection, UpstreamError } from './upstream-connection.ts'

export interface RelayPorts {
  upstream: HttpUpstream
  /** Returns the headers that tell the upstream who is calling. */
  identify: (caller: Caller) => Promise<Record<string, string>>
  sealer: Sealer
  /** Derives the marks on task ids. */
  ring: KeyRing
  runtime: Pick<Runtime, 'now'>
  report: ReportUpstream
  observe?: ObserveRequest
}

export interface RelayEndpoint extends McpEndpoint {
  /** Rejects if the upstream does not answer. */
  ping(): Promise<void>
}

/**
 * Creates the endpoint that passes messages of all revisions on to an MCP server over HTTP, and its responses back, both unchanged.
 * Drops the client's credentials and identity, and the upstream's cookies, challenges and every other header that is not about the
 * message. Seals session ids. Tools that the policy or the access rules hide from the caller do not exist.
 *
 * Leaves all other checks of messages to the upstream.
 */
export function createRelayEndpoint(ports: RelayPorts): RelayEndpoint {
  const streams = new OpenStreams(ports.runtime)
  const stopChecks = repeatChecks(() => streams.check())
  const connection = new UpstreamConnection(ports.upstream, ports.observe)
  const relay = new Relay(ports, connection, streams)
  return {
    methods: ['POST', 'GET', 'DELETE'],
    has: (call) => relay.known.has(call),
    scopeOf: (tool) => relay.known.scopeOf(tool),
    learn: (request, incoming) => relay.learn(request, incoming),
    handle(request, given, caller, calls, text) {
      // Our own errors repeat the id exactly as it was written.
      const body = text !== undefined && hasOddNumber(text) ? parseExactJson(text) : given
      return relay.handle(request, { body, caller, calls }, text)
    },
    endStreams: () => streams.endNotificationStreams(),
    async ping() {
      const signal = AbortSignal.timeout(pingTimeoutMs)
      const { headers } = ports.upstream
      const sent = { method: 'HEAD', headers, body: undefined, signal, mayBeSilent: false }
      await discard(await connection.send(sent))
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
  readonly known: KnownTools
  readonly #learning: ToolLearning
  readonly #taskIds: TaskIds
  readonly #slots = new SubscriptionSlots(subscriptionLimits)
  readonly #ports: RelayPorts
  readonly #connection: UpstreamConnection
  readonly #answers: RelayAnswer

  constructor(ports: RelayPorts, connection: UpstreamConnection, streams: OpenStreams) {
    this.#ports = ports
    this.known = new KnownTools(ports.upstream.policy)
    this.#learning = new ToolLearning(this.known, ports.runtime)
    this.#connection = connection
    this.#taskIds = new TaskIds(ports.ring)
    this.#answers = new RelayAnswer({ ...ports, streams })
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
    const answered = new AnsweredCalls(incoming, {
      known: this.known,
      withTaskIds: (message) => withGivenTaskIds(message, caller, this.#taskIds, taskIds),
    })
    return this.#answer({ request, incoming, answered, session, taskIds, slot, isStreaming: false }, text)
  }

  /** Reads the list in the revision and the session of the message. */
  async learn(request: Request, incoming: Incoming): Promise<Reply | undefined> {
    const { body, caller } = incoming
    if (!this.#learning.isNeeded(incoming)) return undefined
    const session = this.#sessionOf(request, caller)
    if (session === 'unknown') return sessionNotFound(body)
    const owner = JSON.stringify([ownerOf(caller), session?.sealed])
    const learned = await this.#learning.learn(owner, async (params, signal) => {
      const { upstream, identify } = this.#ports
      const message = toolListFor(body, params)
      const headers = {
        ...requestHeaders(lenientHeaders(request.headers, message), {
          upstream,
          identity: await identify(caller),
          body: message,
          sessionId: session?.id,
          taskIds: new Map(),
        }),
        ...(isModern(message) && { [mcpHeader.method.toLowerCase()]: 'tools/list' }),
      }
      const sent = { method: 'POST', headers, body: JSON.stringify(message), signal, mayBeSilent: false }
      const answer = await this.#connection.send(sent)
      const isGone = answer.statusCode === 404 && session !== undefined
      return isGone ? discard(answer) : readToolList(answer, upstream)
    })
    return learned === 'session_gone' ? sessionNotFound(body) : undefined
  }

  async #answer(sent: RelayedRequest, text: string | undefined): Promise<Reply> {
    try {
      return await this.#relay(sent, text)
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error
      return this.#unanswered(error, sent)
    } finally {
      // A stream ends the calls itself.
      if (!sent.isStreaming) {
        sent.answered.end(sent.request.signal.aborted ? 'cancelled' : 'failed')
        sent.slot?.release()
      }
    }
  }

  #slotFor(request: Request, { body, caller }: Incoming): RelayedRequest['slot'] | 'none' {
    if (!waitsForNotifications(request, body)) return undefined
    return this.#slots.acquire(signedIn(caller).user.id) ?? 'none'
  }

  #sessionOf(request: Request, caller: Caller): RelayedRequest['session'] | 'unknown' {
    const sealed = request.headers.get(mcpHeader.sessionId)
    if (sealed === null) return undefined
    const id = openSession(sealed, caller, this.#ports.sealer)
    return id === undefined ? 'unknown' : { sealed, id }
  }

  /** Refuses messages that are never passed on. */
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

  /** Answers calls of hidden tools as unknown. Refuses a whole batch that has one. */
  #refuseHidden({ body, caller, calls }: Incoming): Response | undefined {
    const hidden = callsOf(body).filter(
      (call) => call.event === 'tool_called' && !isOffered(call.name, caller, this.known),
    )
    const [first] = hidden
    if (!first) return undefined
    for (const call of hidden) calls.refuse(call, { outcome: 'refused_rule', isKnown: this.known.has(call) })
    const error = { code: jsonRpcCode.invalidParams, message: unknownTool(first.name) }
    return failureResponse(200, error, body)
  }

  async #relay(sent: RelayedRequest, text: string | undefined): Promise<Reply> {
    const { upstream, identify } = this.#ports
    const { request, incoming } = sent
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
        sessionId: sent.session?.id,
        taskIds: sent.taskIds,
      }),
      body: text && withTaskIds(text, sent.taskIds),
      signal: request.signal,
      mayBeSilent: waitsForNotifications(request, incoming.body),
    })
    return this.#answers.pass(response, sent)
  }

  #unanswered({ failure, cause }: UpstreamError, { incoming }: RelayedRequest): Response {
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
