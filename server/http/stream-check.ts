import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { eventStreamHeaders } from '@drawbridge/shared/text-response.ts'
import type { Endpoint } from './endpoint.ts'
import { tooManyRequests } from './response.ts'

/** Time between the two events. */
const streamCheckMs = 1000
const maxStreams = 8

/** Returns the path of the endpoint: below `/mcp`, so that a proxy treats it as it does `/mcp`. */
export function streamCheckPath(basePath: string): string {
  return `${basePath}/mcp/stream-check`
}

/**
 * Writes two events, one second apart, and ends: a client that receives both at once is behind a proxy that buffers streams.
 * Open to everyone, because nothing else streams without a credential. It says nothing, and costs a timer: eight a second at most;
 * more are refused with 429, which load shedding counts.
 */
export function createStreamCheckEndpoint(basePath: string, { sleep }: Pick<Runtime, 'sleep'>): Endpoint {
  let open = 0
  return {
    path: streamCheckPath(basePath),
    cors: 'none',
    methods: {
      GET() {
        if (open >= maxStreams) return tooManyRequests('Too many streams are being checked.', 1)
        open += 1
        // Hold the slot for the whole second even if the client leaves, so that at most eight begin in one.
        const over = sleep(streamCheckMs).finally(() => void (open -= 1))
        return new Response(twoEvents(over), { headers: eventStreamHeaders })
      },
    },
  }
}

function twoEvents(second: Promise<void>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let sent = 0
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      sent += 1
      if (sent === 2) await second
      if (sent > 2) controller.close()
      else controller.enqueue(encoder.encode(`data: ${sent}\n\n`))
    },
  })
}
