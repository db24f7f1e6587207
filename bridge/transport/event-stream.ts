import type { Readable } from 'node:stream'
import { lineEndings } from '@drawbridge/shared/mcp/event-lines.ts'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { discard, maxMessageBytes, type HttpResponse } from '../http/http-client.ts'
import { answerTooLarge, TransportError } from './transport.ts'

export interface StreamEvent {
  /** `message` unless the stream named another. */
  type: string
  data: Buffer
}

/** How far a stream of events came. */
export interface EventStreamEnd {
  /** The id of the last event that was taken; undefined if there was none that could go back in a header. */
  lastEventId: string | undefined
  /** How long the server wants to be left alone before the stream is resumed. */
  retryMs: number | undefined
  /** Why it ended, when it did not end as it should. */
  cause: unknown
}

export interface EventReader {
  /** Takes one event, in order. While a promise is pending nothing more is read from the connection. */
  take(event: StreamEvent): void | Promise<void>
  /** Takes the size of each piece that was read. The next one is read when the promise has resolved. */
  received?(bytes: number): Promise<void>
  /** Asked after each event: whether nothing more is wanted. */
  isDone(): boolean
}

/** Rejects only with what the reader throws and with {@link TransportError} `too_large`; the stream is cut off then. */
export async function readEventStream(
  response: Pick<HttpResponse, 'body'>,
  reader: EventReader,
  maxEventBytes: number = maxMessageBytes,
): Promise<EventStreamEnd> {
  const end: EventStreamEnd = { lastEventId: undefined, retryMs: undefined, cause: undefined }
  try {
    for await (const { id, event, data } of eventsOf(response.body, end, reader, maxEventBytes)) {
      await reader.take({ type: event ?? 'message', data: Buffer.from(data, 'latin1') })
      if (id !== undefined) end.lastEventId = isHeaderValue(id) ? id : undefined
      if (!reader.isDone()) continue
      discard(response)
      break
    }
  } catch (error) {
    response.body.destroy()
    throw error
  }
  return end
}

/** U+FEFF in UTF-8, as Latin-1. */
const byteOrderMark = '\u00EF\u00BB\u00BF'

/** Events as Latin-1 text, one character for each byte: whether an event is UTF-8 is checked for each by itself. */
async function* eventsOf(
  body: Readable,
  end: EventStreamEnd,
  { received }: EventReader,
  maxEventBytes: number,
): AsyncGenerator<EventSourceMessage, void> {
  let events: EventSourceMessage[] = []
  let isTooLarge = false
  const parser = createParser({
    maxBufferSize: maxEventBytes,
    onEvent: (event) => void events.push(event),
    onRetry: (ms) => void (end.retryMs = ms),
    onError: ({ type }) => void (isTooLarge ||= type === 'max-buffer-size-exceeded'),
  })
  const withLineFeeds = lineEndings()
  let start: string | undefined = ''
  try {
    for await (const chunk of body.iterator({ destroyOnReturn: false })) {
      let text = (chunk as Buffer).toString('latin1')
      if (start !== undefined) {
        text = start + text
        // The parser knows a mark only if it comes in one piece.
        start = text.length < byteOrderMark.length ? text : undefined
        if (start !== undefined) continue
        if (text.startsWith(byteOrderMark)) text = text.slice(byteOrderMark.length)
      }
      parser.feed(withLineFeeds(text))
      if (isTooLarge) throw answerTooLarge()
      const complete = events
      events = []
      yield* complete
      await received?.((chunk as Buffer).length)
    }
    // Some servers leave out the empty line after the last event.
    parser.feed('\n\n')
    yield* events
  } catch (error) {
    if (error instanceof TransportError) throw error
    end.cause = error
  }
}

/** Returns whether an event id can be sent back in `Last-Event-ID`. Servers accept heads of some kilobytes. */
function isHeaderValue(bytes: string): boolean {
  return /^[\t\x20-\x7e\x80-\xff]{1,4096}$/.test(bytes)
}
