import { mcpHeader } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'
import type { HttpResponse } from '../http/http-client.ts'
import { BodyBudget } from './body-budget.ts'
import type { EventStreamEnd } from './event-stream.ts'
import { OpenRequests } from './open-requests.ts'
import { PostAnswers } from './post-answers.ts'
import { discard, isEventStream, readRefusedPost, refusedPostError } from './response-body.ts'
import type { RefusedPost } from './response-body.ts'
import { isRepeatable, mayAskAgain, pause, shortTurnMs, streamWaitMs } from './retry.ts'
import { RequestSender } from './server-request.ts'
import { lostError } from './transport.ts'
import type { Sending, TransportConfig, TransportPorts } from './transport.ts'

/** What a revision adds to one POST. Made anew for each attempt. */
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
  readonly requests: OpenRequests
  readonly #config: TransportConfig
  readonly #ports: TransportPorts
  readonly #sender: RequestSender
  readonly #budget = new BodyBudget()

  constructor(config: TransportConfig, ports: TransportPorts) {
    this.#config = config
    this.#ports = ports
    this.#sender = new RequestSender(config, ports)
    this.requests = new OpenRequests(config.serverUrl)
  }

  /** Posts a message and delivers what comes back; again when the response broke off and that is safe. */
  async post(message: WireMessage, options: Sending, begin: () => Promise<PostAttempt>): Promise<void> {
    let breaks = 0
    for (;;) {
      const attempt = await begin()
      const response = await this.#post(message, attempt, options.signal)
      const deliver: Sending['deliver'] = (answer) =>
        attempt.deliver === undefined ? options.deliver(answer) : attempt.deliver(answer, response)
      const answers = new PostAnswers(
        message,
        { ...options, deliver },
        { budget: this.#budget, note: this.#ports.note },
      )
      if (response.status >= 300) {
        const refused = await readRefusedPost(response, message)
        const next = await attempt.refused?.(refused)
        if (next === 'again') continue
        if (next === 'done') return
        if (next === 'failed' || refused.answer === undefined) throw refusedPostError(refused)
        return answers.deliver(refused.answer)
      }
      try {
        attempt.accepted?.(response)
        return await this.#readAnswers(response, answers, attempt, options.signal)
      } catch (error) {
        const { retryMs } = this.#config
        const again = { ...this.#ports, signal: options.signal }
        if (!(await mayAskAgain(error, message, breaks, retryMs, again))) throw error
        attempt.brokeOff?.()
        breaks += 1
      }
    }
  }

  async get(
    headers: Readonly<Record<string, string>>,
    lastEventId: string | undefined,
    signal: AbortSignal,
    limits: { retryMs?: number; bodyTimeoutMs?: number } = {},
  ): Promise<HttpResponse> {
    const response = await this.#sender.send({
      method: 'GET',
      url: this.#config.serverUrl,
      headers: {
        Accept: 'text/event-stream',
        ...headers,
        ...(lastEventId !== undefined && { [mcpHeader.lastEventId]: lastEventId }),
      },
      signal,
      repeatable: true,
      ...limits,
    })
    return this.requests.watch(response)
  }

  async delete(headers: Readonly<Record<string, string>>): Promise<void> {
    const url = this.#config.serverUrl
    const request = {
      method: 'DELETE',
      url,
      headers,
      signal: undefined,
      repeatable: false,
      retryMs: 0,
    } as const
    discard(await this.#sender.send(request))
  }

  async #post(message: WireMessage, attempt: PostAttempt, signal: AbortSignal): Promise<HttpResponse> {
    const { headers, bodyTimeoutMs } = attempt
    const response = await this.#sender.send({
      method: 'POST',
      url: this.#config.serverUrl,
      headers: {
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
        ...headers,
      },
      body: message.text,
      signal,
      repeatable: isRepeatable(message.envelope),
      ...(bodyTimeoutMs !== undefined && { bodyTimeoutMs }),
    })
    return this.requests.watch(response)
  }

  /** Of a stream that ends too early the rest is fetched, as often as it takes. Rejects with `lost` when that cannot be. */
  async #readAnswers(
    first: HttpResponse,
    answers: PostAnswers,
    { resume }: PostAttempt,
    signal: AbortSignal,
  ): Promise<void> {
    let response = first
    let place = { lastEventId: undefined as string | undefined, retryMs: resumeWaitMs, idleTurns: 0 }
    for (;;) {
      const since = performance.now()
      const cut = await answers.read(response)
      if (cut === undefined) return
      place = nextPlace(place, cut, performance.now() - since)
      const { lastEventId } = place
      if (resume === undefined || lastEventId === undefined || signal.aborted) throw lostError(cut.cause)
      this.#ports.note('an answer was cut off: resuming it')
      await pause(this.#ports.runtime, streamWaitMs(place.retryMs, place.idleTurns), signal)
      response = await resume(lastEventId)
      if (response.status < 300 && isEventStream(response)) continue
      discard(response)
      throw lostError(cut.cause)
    }
  }
}

/** Where to go on in a stream, and when. */
interface StreamPlace {
  lastEventId: string | undefined
  retryMs: number
  /** See {@link streamWaitMs}. */
  idleTurns: number
}

function nextPlace(before: StreamPlace, cut: EventStreamEnd, tookMs: number): StreamPlace {
  const isNew = cut.lastEventId !== undefined && cut.lastEventId !== before.lastEventId
  return {
    lastEventId: cut.lastEventId ?? before.lastEventId,
    retryMs: cut.retryMs ?? before.retryMs,
    idleTurns: isNew || tookMs >= shortTurnMs ? 0 : before.idleTurns + 1,
  }
}
