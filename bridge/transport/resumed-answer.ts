import type { HttpResponse } from '../http/http-client.ts'
import { discard } from './discarded-body.ts'
import type { EventStreamEnd } from './event-stream.ts'
import { pause, politeMs, shortTurnMs } from './interruptible-pause.ts'
import type { LegPorts } from './leg-config.ts'
import { isEventStream } from './post-exchange.ts'
import type { PostExchange } from './post-exchange.ts'
import { lostError } from './message-body.ts'

/** What fetching the rest of an answer needs. */
export interface ResumePorts extends Pick<LegPorts, 'runtime' | 'note'> {
  signal: AbortSignal
  /** A GET for what came after that event. */
  resume(lastEventId: string): Promise<HttpResponse>
}

/** When the server names no time. */
const defaultWaitMs = 1000

/**
 * Reads the answers to a message; of a stream that ends too early the rest is fetched, as often as it takes (MCP 2025-11-25
 * transports, resumability). Rejects with `RemoteError` `lost` when the server gave its events no ids, or does not resume.
 */
export async function readResumed(
  first: HttpResponse,
  exchange: PostExchange,
  ports: ResumePorts,
): Promise<void> {
  let response = first
  let place: Place = { lastEventId: undefined, retryMs: defaultWaitMs, idleTurns: 0 }
  for (;;) {
    const since = performance.now()
    const cut = await exchange.read(response)
    if (cut === undefined) return
    place = nextPlace(place, cut, performance.now() - since)
    const { lastEventId, retryMs, idleTurns } = place
    if (lastEventId === undefined || ports.signal.aborted) throw lostError(cut.cause)
    ports.note('an answer was cut off: resuming it')
    await pause(ports.runtime, politeMs(retryMs, idleTurns), ports.signal)
    response = await ports.resume(lastEventId)
    if (response.status < 300 && isEventStream(response)) continue
    discard(response)
    throw lostError(cut.cause)
  }
}

/** Where to go on, and when. */
interface Place {
  lastEventId: string | undefined
  retryMs: number
  /** See {@link politeMs}. */
  idleTurns: number
}

function nextPlace(before: Place, cut: EventStreamEnd, tookMs: number): Place {
  const isNew = cut.lastEventId !== undefined && cut.lastEventId !== before.lastEventId
  return {
    lastEventId: cut.lastEventId ?? before.lastEventId,
    retryMs: cut.retryMs ?? before.retryMs,
    idleTurns: isNew || tookMs >= shortTurnMs ? 0 : before.idleTurns + 1,
  }
}
