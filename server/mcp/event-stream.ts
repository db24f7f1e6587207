import { eventStreamHeaders } from '@drawbridge/shared/text-response.ts'

/** The interval of keep-alive comments on a silent stream. */
export const keepAliveMs = 15_000

/** A response that sends JSON-RPC messages as events (MCP transports, Streamable HTTP). */
export interface EventStream {
  response: Response
  /** Sends a message, as an object or as JSON. Does nothing once the stream has ended. */
  send(message: object | string): void
  end(): void
}

/** Opens an {@link EventStream}. `onCancel` is called when the client disconnects. */
export function openEventStream(onCancel: () => void): EventStream {
  const encoder = new TextEncoder()
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  const write = (frame: string): void => controller?.enqueue(encoder.encode(frame))
  const keepAlive = setInterval(() => write(': keepalive\n\n'), keepAliveMs)
  keepAlive.unref()
  const stop = (): void => {
    controller = undefined
    clearInterval(keepAlive)
  }
  const body = new ReadableStream<Uint8Array>({
    start(given) {
      controller = given
    },
    cancel() {
      stop()
      onCancel()
    },
  })
  return {
    response: new Response(body, {
      headers: { ...eventStreamHeaders, connection: 'keep-alive' },
    }),
    send(message) {
      write(messageEvent(message))
    },
    end() {
      controller?.close()
      stop()
    },
  }
}

/** Frames a message, an object or JSON, as an event. */
export function messageEvent(message: object | string): string {
  return `event: message\ndata: ${typeof message === 'string' ? message : JSON.stringify(message)}\n\n`
}
