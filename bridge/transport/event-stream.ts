import type { Readable } from 'node:stream'
import { lineEndings } from '@drawbridge/shared/mcp/event-lines.ts'
import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { discard, maxMessageBytes, type HttpResponse } from '../http/http-client.ts'
import { answerTooLarge, TransportError } from './transport.ts'

export interface StreamEvent {
  /** `message` unless the stream names another type. */
  type: string
  data: Buffer
}

/** The position up to which an event stream was read. */
export interface EventStreamEnd {
  /** The id of the last event; undefined without one that fits in a header. */
  lastEventId: string | undefined
  /** The delay that the server asked for before resuming, in milliseconds. */
  retryMs: number | undefined
  /** Why the stream broke; undefined if it ended properly. */
  cause: unknown
}

export interface EventReader {
  /** Receives the events in order. While its promise is pending, nothing more is read from the connection. */
  take(event: StreamEvent): void | Promise<void>
  /** Receives the size of each chunk. The next one is read when the promise has resolved. */
  received?(bytes: number): Promise<void> | undefined
  /** Called after each event; true stops reading. */
  isDone(): boolean
}

/** Rejects only with the reader's errors and with {@link TransportError} `too_large`, and closes the stream then. */
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

/** Parses events as Latin-1 text, one character for each byte, so that each event is checked for UTF-8 by itself. */
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
        // The parser only recognizes a byte order mark within one chunk.
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
