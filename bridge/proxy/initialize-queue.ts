import type { PendingRequest, PendingRequests } from './pending-requests.ts'
import type { ServerConnection } from './server-connection.ts'

/** What an inboundRouter gives its messages to. */
export interface InitializeQueue extends Pick<ServerConnection, 'request' | 'pass' | 'cancel'> {
  /** To be called for each call that has its answer. */
  answered(call: PendingRequest): void
}

/**
 * Lets nothing overtake `initialize`. Scripts write all their lines at once, and no server takes what comes before its
 * session is there; clients that wait for their answer, as they should, do not notice. A ping may come at any time (MCP
 * 2025-11-25 lifecycle), and so may an answer.
 */
export function createInitializeQueue(
  connection: Pick<ServerConnection, 'request' | 'pass' | 'cancel'>,
  pendingRequests: PendingRequests,
): InitializeQueue {
  let opening: PendingRequest | undefined
  let waiting: (() => void)[] = []

  function inTurn(work: () => void): void {
    if (opening === undefined) work()
    else waiting.push(work)
  }

  function over(call: PendingRequest): void {
    if (call !== opening) return
    opening = undefined
    const works = waiting
    waiting = []
    for (const work of works) inTurn(work)
  }

  function start(call: PendingRequest): void {
    if (!pendingRequests.isOpen(call)) return
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
