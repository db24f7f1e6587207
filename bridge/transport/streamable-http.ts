import { isUtf8 } from 'node:buffer'
import { BodyBudget, type HeldBody } from './body-budget.ts'
import { structureOf } from '@drawbridge/shared/json-structure.ts'
import { unlessAborted } from '@drawbridge/shared/async.ts'
import {
  addressed,
  errorIn,
  messagesIn,
  readMessage,
  readMessageText,
  requestIds,
  type JsonRpcId,
  type WireMessage,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpHeader } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import {
  BodyError,
  discard,
  maxMessageBytes,
  mediaTypeOf,
  readBody,
  type HttpResponse,
} from '../http/http-client.ts'
import { type Retries, retriesOf, StreamWaits } from '../http/retry.ts'
import { readEventStream, type EventStreamEnd } from './event-stream.ts'
import { readRefusedPost, refusedPostError, type RefusedPost } from './failed-response.ts'
import { ServerRequests } from './server-requests.ts'
import { answerTooLarge, isCutOff, lostError, noMcp, TransportError, type Sending } from './transport.ts'

/** Resolves when the response has arrived on another stream; undefined if it cannot. */
export type Elsewhere = (() => Promise<void> | undefined) | undefined

/** The part of a POST that depends on the revision, made for each attempt. */
export interface PostAttempt {
  headers: Readonly<Record<string, string>>
  /** Maximum silence within the response, in milliseconds; 0 for no limit. */
  bodyTimeoutMs?: number
  /** Receives the messages instead of the caller. */
  deliver?(answer: WireMessage, response: HttpResponse): void | Promise<void>
  /** Sends a GET for the messages after that event (MCP 2025-11-25 transports, resumability). Absent if streams cannot be resumed. */
  resume?(lastEventId: string, first: HttpResponse): Promise<HttpResponse>
  /** Called when the response broke off, before the message is sent again. */
  brokeOff?(response: HttpResponse): void
  elsewhere?: Elsewhere
  /** Decides about a refused message. Undefined: delivers the response in the body, if there is one. */
  refused?(refused: RefusedPost): Promise<'again' | 'done' | undefined>
}

/** Streamable HTTP as in both revisions: a message is a POST, and its response is JSON or an event stream. */
export class StreamableHttp extends ServerRequests {
  readonly #budget = new BodyBudget()

  /** Posts a message and delivers what comes back. Sends it again if the response broke off and that is safe. */
  async post(message: WireMessage, context: Sending, begin: () => Promise<PostAttempt>): Promise<void> {
    const { signal } = context
    let retries: Retries | undefined
    for (;;) {
      const attempt = await begin()
      const response = await this.#post(message, attempt, signal)
      const deliver: Sending['deliver'] = (answer) =>
        attempt.deliver === undefined ? context.deliver(answer) : attempt.deliver(answer, response)
      const answers = new PostAnswers(message, { signal, deliver }, this.#budget, this.ports.note)
      if (response.status >= 300) {
        if ((await takeRefusal(response, message, attempt, answers)) === 'again') continue
        return
      }
      try {
        return await this.#readAnswers(response, answers, attempt, signal)
      } catch (error) {
        retries ??= retriesOf(message.envelope, { retryMs: this.config.retryMs, signal }, this.ports)
        if (!isCutOff(error) || !(await retries.after('cut_off', 'an answer that broke off'))) throw error
        attempt.brokeOff?.(response)
      }
    }
  }

  get(
    headers: Readonly<Record<string, string>>,
    lastEventId: string | undefined,
    signal: AbortSignal,
    limits: { retryMs?: number; bodyTimeoutMs?: number } = {},
  ): Promise<HttpResponse> {
    return this.send({
      method: 'GET',
      url: this.config.serverUrl,
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
    const { serverUrl: url } = this.config
    discard(await this.send({ method: 'DELETE', url, headers, signal: undefined, what, retryMs: 0 }))
  }

  #post(message: WireMessage, attempt: PostAttempt, signal: AbortSignal): Promise<HttpResponse> {
    const { headers, bodyTimeoutMs } = attempt
    return this.send({
      method: 'POST',
      url: this.config.serverUrl,
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: message.text,
      signal,
      what: message.envelope,
      bodyTimeoutMs,
    })
  }

  /** Reads a response, and resumes a stream that ends too early as often as needed. Rejects with `lost` if it cannot. */
  async #readAnswers(
    first: HttpResponse,
    answers: PostAnswers,
    { elsewhere, resume }: PostAttempt,
    signal: AbortSignal,
  ): Promise<void> {
    let response = first
    let lastEventId: string | undefined
    let waits: StreamWaits | undefined
    for (;;) {
      const end = await answers.read(response, elsewhere)
      if (end === undefined) return
      waits ??= new StreamWaits()
      if (end.lastEventId !== undefined && end.lastEventId !== lastEventId) waits.reset()
      lastEventId = end.lastEventId ?? lastEventId
      if (resume === undefined || lastEventId === undefined || signal.aborted) throw lostError(end.cause)
      this.ports.note('an answer was cut off: resuming it')
      waits.asked(end.retryMs)
      await waits.wait(this.ports.runtime, signal)
      response = await resume(lastEventId, first)
      if (!isStreamOpen(response)) throw lostError(end.cause)
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
  if (next !== undefined) return next
  if (refused.answer === undefined) throw refusedPostError(refused)
  await answers.deliver(refused.answer)
  return 'done'
}

/** The responses to a posted message that are still missing. */
class PostAnswers implements HeldBody {
  heldBytes = 0
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

  /** Reads the body of a 2xx. Resolves with the position where a stream ended too early, undefined if it is complete. */
  async read(response: HttpResponse, elsewhere: Elsewhere): Promise<EventStreamEnd | undefined> {
    if (this.#waiting.size === 0) {
      discard(response)
      return undefined
    }
    // Read any type but HTML: some servers send none, or `text/plain`.
    const isPage = mediaTypeOf(response) === 'text/html'
    if (isPage || response.status === 204) {
      discard(response)
      if (isPage) throw noMcp(response.status, 'with a web page')
      await this.#comesElsewhere(elsewhere, response)
      return undefined
    }
    try {
      if (isEventStream(response)) return await this.#readEvents(response)
      await this.#readJson(response, elsewhere)
      return undefined
    } finally {
      this.#budget.release(this)
    }
  }

  /** Waits for a response on a stream of the session, after a body without any message. */
  async #comesElsewhere(elsewhere: Elsewhere, { status }: HttpResponse): Promise<void> {
    const answered = elsewhere?.()
    if (answered === undefined) throw noMcp(status, 'with no answer')
    await unlessAborted(answered, this.#context.signal, lostError)
  }

  /** Delivers a message for this one, whichever way it came. */
  async deliver(answer: WireMessage): Promise<void> {
    for (const each of messagesIn(answer)) {
      const one = addressed(each, this.#waiting)
      const { envelope } = one
      if (envelope.kind === 'invalid') this.#note(`dropped an invalid message: ${envelope.reason}`)
      else if (envelope.kind === 'response' && !this.#waiting.delete(envelope.id))
        this.#note('dropped a response to another request')
      // The client has cancelled.
      else if (!this.#context.signal.aborted) await this.#context.deliver(one)
    }
  }

  async #readEvents(response: HttpResponse): Promise<EventStreamEnd | undefined> {
    const end = await readEventStream(response, {
      take: async ({ type, data }) => {
        if (type !== 'message') return
        await this.deliver(readAnswer(data))
        this.#budget.release(this)
      },
      received: (bytes) => this.#budget.add(this, bytes),
      isDone: () => this.#waiting.size === 0,
    })
    return this.#waiting.size === 0 ? undefined : end
  }

  async #readJson(response: HttpResponse, elsewhere: Elsewhere): Promise<void> {
    const received = (bytes: number): Promise<void> | undefined => this.#budget.add(this, bytes)
    const body = await readBody(response, maxMessageBytes, received).catch((error: unknown) => {
      throw error instanceof BodyError ? answerTooLarge() : error
    })
    const answers = this.#underOurId(messagesIn(readAnswer(body)))
    if (this.#areWanted(answers)) {
      for (const one of answers) await this.deliver(one)
      return
    }
    const { status } = response
    const isEmpty = status === 202 || body.length === 0
    if (!isEmpty) throw noMcp(status, 'with something other than an answer to the request')
    await this.#comesElsewhere(elsewhere, response)
  }

  /** Gives a single error the id of the only request: some servers write an empty id, or one of their own. */
  #underOurId(answers: WireMessage[]): WireMessage[] {
    const [id, ...others] = this.#waiting
    const [only, ...more] = answers
    const isAlone = id !== undefined && others.length + more.length === 0
    if (!isAlone || only?.envelope.kind !== 'response' || !only.envelope.isError) return answers
    return [errorIn(only, id) ?? only]
  }

  /** Returns whether these are exactly the missing responses, perhaps with other messages before the last. */
  #areWanted(answers: readonly WireMessage[]): boolean {
    const left = new Set(this.#waiting)
    for (const answer of answers) {
      const { envelope } = addressed(answer, left)
      if (envelope.kind === 'invalid' || envelope.kind === 'batch') return false
      if (envelope.kind === 'response' && !left.delete(envelope.id)) return false
    }
    return left.size === 0
  }
}

/** Limit of arrays, objects and members in one message. Each takes some hundred bytes once parsed. */
const maxValues = 2_000_000

/** Reads a message of a server. Throws {@link TransportError} `too_large` if parsing it would take too much memory. */
export function readAnswer(bytes: Buffer): WireMessage {
  if (bytes.length <= 2 * maxValues) return readMessage(bytes)
  // One character for each byte, which is enough to judge a large message and takes half of the memory. It goes on as it came.
  const latin1 = bytes.toString('latin1')
  const { containers, members } = structureOf(latin1)
  if (containers + members > maxValues)
    throw new TransportError('too_large', 'An answer of the server has more than 2,000,000 values.')
  const { envelope, text } = readMessageText(latin1)
  const isKnown = envelope.kind === 'response' && /^[ -~]*$/.test(String(envelope.id)) && isUtf8(bytes)
  if (!isKnown || text !== latin1) return readMessage(bytes)
  return {
    envelope,
    bytes,
    get text() {
      return bytes.toString()
    },
  }
}

/** Returns whether a response has events as its body. */
export function isEventStream(response: HttpResponse): boolean {
  return mediaTypeOf(response) === 'text/event-stream'
}
