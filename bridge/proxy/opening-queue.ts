import type { CallInFlight, InFlight } from './in-flight.ts'
import type { RemoteConnection } from './remote-connection.ts'

/** What an intake gives its messages to. */
export interface OpeningQueue extends Pick<RemoteConnection, 'request' | 'pass' | 'cancel'> {
  /** To be called for each call that has its answer. */
  answered(call: CallInFlight): void
}

/**
 * Lets nothing overtake `initialize`. Scripts write all their lines at once, and no server takes what comes before its
 * session is there; clients that wait for their answer, as they should, do not notice. A ping may come at any time (MCP
 * 2025-11-25 lifecycle), and so may an answer.
 */
export function createOpeningQueue(
  connection: Pick<RemoteConnection, 'request' | 'pass' | 'cancel'>,
  inFlight: InFlight,
): OpeningQueue {
  let opening: CallInFlight | undefined
  let waiting: (() => void)[] = []

  function inTurn(work: () => void): void {
    if (opening === undefined) work()
    else waiting.push(work)
  }

  function over(call: CallInFlight): void {
    if (call !== opening) return
    opening = undefined
    const works = waiting
    waiting = []
    for (const work of works) inTurn(work)
  }

  function start(call: CallInFlight): void {
    if (!inFlight.isOpen(call)) return
    if (call.method === 'initialize') opening = call
    connection.request(call)
  }

  return {
    request(call) {
      if (call.method === 'ping') connection.request(call)
      else inTurn(() => start(call))
    },
    pass(message, era, over) {
      if (message.envelope.kind === 'response') connection.pass(message, era, over)
      else inTurn(() => connection.pass(message, era, over))
    },
    cancel(call, message) {
      connection.cancel(call, message)
      over(call)
    },
    answered: over,
  }
}
