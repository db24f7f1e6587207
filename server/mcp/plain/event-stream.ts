import { keepAliveMs } from '../open-streams.ts'

/** An answer that sends JSON-RPC messages as events (MCP transports, Streamable HTTP). */
export interface EventStream {
  response: Response
  /** Sends a message, as an object or as JSON. Does nothing once the stream has ended. */
  send(message: object | string): void
  end(): void
}

/** Opens an {@link EventStream}. `onCancel` is called when its reader leaves. */
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
      headers: {
        'content-type': 'text/event-stream',
        'cache-control': 'no-cache, no-transform',
        connection: 'keep-alive',
        'x-accel-buffering': 'no',
      },
    }),
    send(message) {
      write(`event: message\ndata: ${typeof message === 'string' ? message : JSON.stringify(message)}\n\n`)
    },
    end() {
      controller?.close()
      stop()
    },
  }
}
