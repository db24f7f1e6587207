import { readMessage } from '@drawbridge/shared/mcp/message.ts'
import type { JsonRpcId } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { HttpResponse } from '../http/http-client.ts'
import { requestIds, splitBatch } from '@drawbridge/shared/mcp/message.ts'
import type { WireMessage } from '@drawbridge/shared/mcp/message.ts'
import type { BodyBudget, BodyShare } from './body-budget.ts'
import { discard } from './discarded-body.ts'
import type { EventStreamEnd, StreamEvent } from './event-stream.ts'
import { collectBody, tooLargeError } from './message-body.ts'
import { RemoteError } from './remote-leg.ts'
import type { SendOptions } from './remote-leg.ts'
import { EventTooLargeError, readEventStream } from './event-stream.ts'

/** One message of ours and the answers that it still waits for. */
export interface PostExchange {
  /** Reads what came for the message with a 2xx. Resolves with what a stream left open; with undefined when all is there. */
  read(response: HttpResponse): Promise<EventStreamEnd | undefined>
  /** Delivers a response that came by another way. */
  deliver(answer: WireMessage): void | Promise<void>
}

/** What the exchanges of a leg share. */
export interface PostExchangePorts {
  /** Hears of what is dropped. */
  note(text: string): void
  budget: BodyBudget
}

/** Between a message and its answers. */
export function createPostExchange(
  message: WireMessage,
  options: SendOptions,
  { note, budget }: PostExchangePorts,
): PostExchange {
  const waiting = requestIds(message)

  function deliver(answer: WireMessage): void | Promise<void> {
    const { envelope } = answer
    if (envelope.kind === 'batch') return deliverAll(splitBatch(answer))
    if (envelope.kind === 'invalid') return note(`dropped what is no message: ${envelope.reason}`)
    if (envelope.kind === 'response' && !waiting.delete(envelope.id))
      return note('dropped a response to another request')
    // The client does not want it any more.
    if (options.signal?.aborted === true) return undefined
    return options.deliver(answer)
  }

  async function deliverAll(answers: readonly WireMessage[]): Promise<void> {
    for (const answer of answers) await deliver(answer)
  }

  /** An event that was taken is out of memory, whatever comes after it. */
  function takeEvent(event: StreamEvent, share: BodyShare): void | Promise<void> {
    if (event.type !== 'message') return undefined
    const taken = deliver(readMessage(event.data))
    return taken === undefined ? share.release() : taken.then(() => share.release())
  }

  async function readJsonAnswer(response: HttpResponse, bytes: Buffer): Promise<void> {
    const answer = readMessage(bytes)
    const answers = answer.envelope.kind === 'batch' ? splitBatch(answer) : [answer]
    if (!areAnswers(answers, waiting))
      throw noMcp(response, 'with something that is no answer to the request')
    for (const one of answers) await deliver(one)
  }

  return {
    async read(response) {
      if (waiting.size === 0) {
        discard(response)
        return undefined
      }
      const share = budget.share()
      try {
        if (isEventStream(response)) {
          const end = await readEventStream(response, {
            take: (event) => takeEvent(event, share),
            received: (bytes) => share.add(bytes),
            isDone: () => waiting.size === 0,
          })
          return waiting.size === 0 ? undefined : end
        }
        if (!mayBeJson(response)) {
          discard(response)
          throw noMcp(response, `with ${describeType(response)}`)
        }
        await readJsonAnswer(response, await collectBody(response, (bytes) => share.add(bytes)))
        return undefined
      } catch (error) {
        throw error instanceof EventTooLargeError ? tooLargeError(error) : error
      } finally {
        share.release()
      }
    },
    deliver,
  }
}

/** Whether a response has events as its body. */
export function isEventStream(response: HttpResponse): boolean {
  return contentType(response) === 'text/event-stream'
}

/** Exactly the answers that the request wants, and maybe messages before the last of them. */
function areAnswers(answers: readonly WireMessage[], waiting: ReadonlySet<JsonRpcId>): boolean {
  const left = new Set(waiting)
  for (const { envelope } of answers) {
    if (envelope.kind === 'invalid' || envelope.kind === 'batch') return false
    if (envelope.kind === 'response' && !left.delete(envelope.id)) return false
  }
  return left.size === 0
}

/** Some servers send no type, or `text/plain`; only what is something else for sure is not read. */
function mayBeJson(response: HttpResponse): boolean {
  const type = contentType(response)
  return response.status !== 202 && response.status !== 204 && type !== 'text/html'
}

function contentType(response: HttpResponse): string {
  const header = response.headers['content-type']
  if (header === 'application/json' || header === 'text/event-stream') return header
  return (typeof header === 'string' ? (header.split(';', 1)[0] ?? '') : '').trim().toLowerCase()
}

function describeType(response: HttpResponse): string {
  return contentType(response) === 'text/html' ? 'a web page' : 'no answer'
}

function noMcp(response: HttpResponse, what: string): RemoteError {
  return new RemoteError('no_mcp', `The server answered ${what}: it does not seem to be an MCP endpoint.`, {
    status: response.status,
  })
}
