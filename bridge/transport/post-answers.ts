import type { JsonRpcId } from '@drawbridge/shared/mcp/json-rpc.ts'
import { readMessage, requestIds, splitBatch } from '@drawbridge/shared/mcp/message.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'
import type { HttpResponse } from '../http/http-client.ts'
import type { BodyBudget, BodyShare } from './body-budget.ts'
import { EventTooLargeError, readEventStream } from './event-stream.ts'
import type { EventStreamEnd, StreamEvent } from './event-stream.ts'
import { collectBody, contentType, discard, isEventStream, tooLargeError } from './response-body.ts'
import { TransportError } from './transport.ts'
import type { SendOptions } from './transport.ts'

/** One posted message and the responses that it still waits for. */
export class PostAnswers {
  readonly #waiting: Set<JsonRpcId>
  readonly #options: SendOptions
  readonly #budget: BodyBudget
  readonly #note: (text: string) => void

  constructor(
    message: WireMessage,
    options: SendOptions,
    { budget, note }: { budget: BodyBudget; note(text: string): void },
  ) {
    this.#waiting = requestIds(message)
    this.#options = options
    this.#budget = budget
    this.#note = note
  }

  /** Reads what came for the message with a 2xx. Resolves with what a stream left open; with undefined when all is there. */
  async read(response: HttpResponse): Promise<EventStreamEnd | undefined> {
    if (this.#waiting.size === 0) {
      discard(response)
      return undefined
    }
    const share = this.#budget.share()
    try {
      if (isEventStream(response)) return await this.#readEvents(response, share)
      if (!mayBeJson(response)) {
        discard(response)
        throw noMcp(response, `with ${contentType(response) === 'text/html' ? 'a web page' : 'no answer'}`)
      }
      await this.#readJson(response, share)
      return undefined
    } catch (error) {
      throw error instanceof EventTooLargeError ? tooLargeError(error) : error
    } finally {
      share.release()
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
    if (this.#options.signal?.aborted !== true) await this.#options.deliver(answer)
  }

  async #readEvents(response: HttpResponse, share: BodyShare): Promise<EventStreamEnd | undefined> {
    const end = await readEventStream(response, {
      take: async (event: StreamEvent) => {
        if (event.type !== 'message') return
        await this.deliver(readMessage(event.data))
        share.release()
      },
      received: (bytes) => share.add(bytes),
      isDone: () => this.#waiting.size === 0,
    })
    return this.#waiting.size === 0 ? undefined : end
  }

  async #readJson(response: HttpResponse, share: BodyShare): Promise<void> {
    const answer = readMessage(await collectBody(response, (bytes) => share.add(bytes)))
    const answers = answer.envelope.kind === 'batch' ? splitBatch(answer) : [answer]
    if (!areAnswers(answers, this.#waiting))
      throw noMcp(response, 'with something that is no answer to the request')
    for (const one of answers) await this.deliver(one)
  }
}

/** Exactly the responses that the request wants, and maybe messages before the last of them. */
function areAnswers(answers: readonly WireMessage[], waiting: ReadonlySet<JsonRpcId>): boolean {
  const left = new Set(waiting)
  for (const { envelope } of answers) {
    if (envelope.kind === 'invalid' || envelope.kind === 'batch') return false
    if (envelope.kind === 'response' && !left.delete(envelope.id)) return false
  }
  return left.size === 0
}

/** Some servers send no type, or `text/plain`; only what is certainly something else is not read. */
function mayBeJson(response: HttpResponse): boolean {
  return response.status !== 202 && response.status !== 204 && contentType(response) !== 'text/html'
}

function noMcp(response: HttpResponse, what: string): TransportError {
  return new TransportError(
    'no_mcp',
    `The server answered ${what}: it does not seem to be an MCP endpoint.`,
    { status: response.status },
  )
}
