import { pause } from '@drawbridge/shared/async.ts'
import {
  readMessage,
  requestIds,
  splitBatch,
  type JsonRpcId,
  type WireMessage,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpHeader } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import {
  BodyBudget,
  BodyError,
  NetworkError,
  discard,
  maxMessageBytes,
  readBody,
  type HttpResponse,
} from '../http/http-client.ts'
import { Retries, shortTurnMs, streamWaitMs } from '../http/retry.ts'
import { EventTooLargeError, readEventStream, type EventStreamEnd } from './event-stream.ts'
import { readRefusedPost, refusedPostError, type RefusedPost } from './failed-response.ts'
import { ServerRequests } from './server-requests.ts'
import {
  lostError,
  TransportError,
  type Sending,
  type TransportConfig,
  type TransportPorts,
} from './transport.ts'

/** The part of a POST that depends on the revision. Made anew for each attempt. */
export interface PostAttempt {
  headers: Readonly<Record<string, string>>
  /** Silence that is allowed within the response; 0 for no limit. */
  bodyTimeoutMs?: number
  /** Takes what comes back, instead of the caller. */
  deliver?(answer: WireMessage, response: HttpResponse): void | Promise<void>
  /** The server has accepted the message. */
  accepted?(response: HttpResponse): void
  /** A GET for what came after that event (MCP 2025-11-25 transports, resumability). Left out where nothing can be resumed. */
  resume?(lastEventId: string): Promise<HttpResponse>
  /** The response broke off, and the message is sent again. */
  brokeOff?(): void
  /** The server refused the message. Undefined: what it said is the answer, if it is one. */
  refused?(refused: RefusedPost): Promise<'again' | 'done' | 'failed' | undefined>
}

/** When the server names no time. */
const resumeWaitMs = 1000

/** Streamable HTTP, as both revisions have it: a message is a POST, and its response is JSON or a stream of events. */
export class StreamableHttp {
  readonly requests: ServerRequests
  readonly #config: TransportConfig
  readonly #ports: TransportPorts
  readonly #budget = new BodyBudget()

  constructor(config: TransportConfig, ports: TransportPorts) {
    this.#config = config
    this.#ports = ports
    this.requests = new ServerRequests(config, ports)
  }

  /** Posts a message and delivers what comes back; again when the response broke off and that is safe. */
  async post(message: WireMessage, context: Sending, begin: () => Promise<PostAttempt>): Promise<void> {
    const { signal } = context
    let retries: Retries | undefined
    for (;;) {
      const attempt = await begin()
      const response = await this.#post(message, attempt, signal)
      const deliver: Sending['deliver'] = (answer) =>
        attempt.deliver === undefined ? context.deliver(answer) : attempt.deliver(answer, response)
      const answers = new PostAnswers(message, { signal, deliver }, this.#budget, this.#ports.note)
      if (response.status >= 300) {
        if ((await takeRefusal(response, message, attempt, answers)) === 'again') continue
        return
      }
      try {
        attempt.accepted?.(response)
        return await this.#readAnswers(response, answers, attempt, signal)
      } catch (error) {
        retries ??= new Retries(message.envelope, { retryMs: this.#config.retryMs, signal }, this.#ports)
        if (!isCutOff(error) || !(await retries.after('cut_off', 'an answer that broke off'))) throw error
        attempt.brokeOff?.()
      }
    }
  }

  get(
    headers: Readonly<Record<string, string>>,
    lastEventId: string | undefined,
    signal: AbortSignal,
    limits: { retryMs?: number; bodyTimeoutMs?: number } = {},
  ): Promise<HttpResponse> {
    return this.requests.send({
      method: 'GET',
      url: this.#config.serverUrl,
      headers: {
        Accept: 'text/event-stream',
        ...headers,
        ...(lastEventId !== undefined && { [mcpHeader.lastEventId]: lastEventId }),
      },
      signal,
      what: { kind: 'http', method: 'GET' },
      ...limits,
    })
  }

  async delete(headers: Readonly<Record<string, string>>): Promise<void> {
    const what = { kind: 'http', method: 'DELETE' } as const
    const { serverUrl: url } = this.#config
    discard(await this.requests.send({ method: 'DELETE', url, headers, signal: undefined, what, retryMs: 0 }))
  }

  #post(message: WireMessage, attempt: PostAttempt, signal: AbortSignal): Promise<HttpResponse> {
    const { headers, bodyTimeoutMs } = attempt
    return this.requests.send({
      method: 'POST',
      url: this.#config.serverUrl,
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: message.text,
      signal,
      what: message.envelope,
      ...(bodyTimeoutMs !== undefined && { bodyTimeoutMs }),
    })
  }

  /** Fetches the rest of a stream that ends too early, as often as it takes. Rejects with `lost` when that cannot be. */
  async #readAnswers(
    first: HttpResponse,
    answers: PostAnswers,
    { resume }: PostAttempt,
    signal: AbortSignal,
  ): Promise<void> {
    let response = first
    let lastEventId: string | undefined
    let retryMs = resumeWaitMs
    let idleTurns = 0
    for (;;) {
      const since = performance.now()
      const cut = await answers.read(response)
      if (cut === undefined) return
      const isNew = cut.lastEventId !== undefined && cut.lastEventId !== lastEventId
      idleTurns = isNew || performance.now() - since >= shortTurnMs ? 0 : idleTurns + 1
      lastEventId = cut.lastEventId ?? lastEventId
      retryMs = cut.retryMs ?? retryMs
      if (resume === undefined || lastEventId === undefined || signal.aborted) throw lostError(cut.cause)
      this.#ports.note('an answer was cut off: resuming it')
      await pause(this.#ports.runtime, streamWaitMs(retryMs, idleTurns), signal)
      response = await resume(lastEventId)
      if (!isStreamOpen(response)) throw lostError(cut.cause)
    }
  }
}

function isStreamOpen(response: HttpResponse): boolean {
  if (response.status < 300 && isEventStream(response)) return true
  discard(response)
  return false
}

async function takeRefusal(
  response: HttpResponse,
  message: WireMessage,
  attempt: PostAttempt,
  answers: PostAnswers,
): Promise<'again' | 'done'> {
  const refused = await readRefusedPost(response, message)
  const next = await attempt.refused?.(refused)
  if (next === 'again' || next === 'done') return next
  if (next === 'failed' || refused.answer === undefined) throw refusedPostError(refused)
  await answers.deliver(refused.answer)
  return 'done'
}

/** Returns whether a response began and did not arrive whole. Long silence and bad HTTP do not change by asking again. */
function isCutOff(error: unknown): boolean {
  if (error instanceof NetworkError) return error.fault === 'reset'
  return error instanceof TransportError && error.fault === 'lost'
}

/** The responses that a posted message still waits for. */
class PostAnswers {
  readonly #waiting: Set<JsonRpcId>
  readonly #context: Sending
  readonly #budget: BodyBudget
  readonly #note: (text: string) => void

  constructor(message: WireMessage, context: Sending, budget: BodyBudget, note: (text: string) => void) {
    this.#waiting = requestIds(message)
    this.#context = context
    this.#budget = budget
    this.#note = note
  }

  /** Reads the body of a 2xx. Resolves with where a stream ended too early; with undefined when all is there. */
  async read(response: HttpResponse): Promise<EventStreamEnd | undefined> {
    if (this.#waiting.size === 0) {
      discard(response)
      return undefined
    }
    // Some servers send no type, or `text/plain`; only what is certainly something else is not read.
    const isPage = contentType(response) === 'text/html'
    if (isPage || response.status === 202 || response.status === 204) {
      discard(response)
      throw noMcp(response, `with ${isPage ? 'a web page' : 'no answer'}`)
    }
    try {
      if (isEventStream(response)) return await this.#readEvents(response)
      await this.#readJson(response)
      return undefined
    } catch (error) {
      const isTooLarge = error instanceof EventTooLargeError || error instanceof BodyError
      throw isTooLarge ? tooLargeError(error) : error
    } finally {
      this.#budget.release(this)
    }
  }

  /** Delivers a message that came for this one, maybe by another way. */
  async deliver(answer: WireMessage): Promise<void> {
    const { envelope } = answer
    if (envelope.kind === 'batch') {
      for (const one of splitBatch(answer)) await this.deliver(one)
      return
    }
    if (envelope.kind === 'invalid') return this.#note(`dropped an invalid message: ${envelope.reason}`)
    if (envelope.kind === 'response' && !this.#waiting.delete(envelope.id))
      return this.#note('dropped a response to another request')
    // The client does not want it any more.
    if (!this.#context.signal.aborted) await this.#context.deliver(answer)
  }

  async #readEvents(response: HttpResponse): Promise<EventStreamEnd | undefined> {
    const end = await readEventStream(response, {
      take: async ({ type, data }) => {
        if (type !== 'message') return
        await this.deliver(readMessage(data))
        this.#budget.release(this)
      },
      received: (bytes) => this.#budget.add(this, bytes),
      isDone: () => this.#waiting.size === 0,
    })
    return this.#waiting.size === 0 ? undefined : end
  }

  async #readJson(response: HttpResponse): Promise<void> {
    const bytes = await readBody(response, maxMessageBytes, (count) => this.#budget.add(this, count))
    const answer = readMessage(bytes)
    const answers = answer.envelope.kind === 'batch' ? splitBatch(answer) : [answer]
    if (!this.#areWanted(answers)) throw noMcp(response, 'with something that is no answer to the request')
    for (const one of answers) await this.deliver(one)
  }

  /** Exactly the responses that the request wants, and maybe messages before the last of them. */
  #areWanted(answers: readonly WireMessage[]): boolean {
    const left = new Set(this.#waiting)
    for (const { envelope } of answers) {
      if (envelope.kind === 'invalid' || envelope.kind === 'batch') return false
      if (envelope.kind === 'response' && !left.delete(envelope.id)) return false
    }
    return left.size === 0
  }
}

function noMcp({ status }: HttpResponse, what: string): TransportError {
  const message = `The server answered ${what}: it does not seem to be an MCP endpoint.`
  return new TransportError('no_mcp', message, { status })
}

function tooLargeError(cause: unknown): TransportError {
  return new TransportError('too_large', 'An answer of the server is larger than 64 MB.', { cause })
}

/** Returns whether a response has events as its body. */
export function isEventStream(response: HttpResponse): boolean {
  return contentType(response) === 'text/event-stream'
}

/** Returns the media type in lower case, without parameters; empty if there is none. */
function contentType({ headers }: HttpResponse): string {
  const header = headers['content-type']
  return (typeof header === 'string' ? (header.split(';', 1)[0] ?? '') : '').trim().toLowerCase()
}
