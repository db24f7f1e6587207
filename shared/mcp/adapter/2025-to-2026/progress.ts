import type { JsonRpcNotification } from '../../json-rpc.ts'
import type { LocalCall } from '../local-calls.ts'
import { metaOf } from '../params.ts'
import type { Deadlines } from '../deadlines.ts'

/** The progress of one call of a client that sees one request where the server sees several. */
export interface Progress {
  /** What the client is sent for a notification of the server. */
  pass(notification: JsonRpcNotification): JsonRpcNotification
  /** The next request to the server may count progress from zero again. */
  nextRound(): void
  /** Tells the client now and then, while the work lasts, that the call is alive: many give up after a minute of silence. */
  during<T>(work: Promise<T>): Promise<T>
}

const tickSeconds = 15
/** Progress has to grow with each notification; this is too little to be seen. */
const step = 0.001

/** Does nothing for a call without `progressToken`. Until `nextRound` or `during`, notifications pass unchanged. */
export function createProgress(call: LocalCall, deadlines: Deadlines): Progress {
  const token = metaOf(call.request.params)['progressToken']
  let base = 0
  let last = 0

  function tick(): void {
    last += step
    const params = { progressToken: token, progress: last, message: 'Waiting for input' }
    void call.notify({ jsonrpc: '2.0', method: 'notifications/progress', params })
  }

  return {
    pass(notification) {
      const { method, params } = notification
      if (method !== 'notifications/progress' || params?.['progressToken'] !== token) return notification
      const { progress } = params ?? {}
      if (params === undefined || typeof progress !== 'number') return notification
      const grown = base === 0 ? progress : Math.max(base + progress, last + step)
      last = grown
      if (grown === progress) return notification
      const { total, ...rest } = params
      const shifted = typeof total === 'number' ? { total: base + total } : {}
      return { ...notification, params: { ...rest, ...shifted, progress: grown } }
    },
    nextRound() {
      base = last
    },
    async during(work) {
      if (token === undefined) return work
      let clear: () => void
      const arm = () => {
        clear = deadlines.after(tickSeconds, () => {
          tick()
          arm()
        })
      }
      arm()
      try {
        return await work
      } finally {
        clear!()
      }
    },
  }
}
