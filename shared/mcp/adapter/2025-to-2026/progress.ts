import type { JsonRpcNotification } from '../../json-rpc.ts'
import type { ClientCall } from '../client-calls.ts'
import type { Deadlines } from '../deadlines.ts'
import { metaOf } from '../../params.ts'

const keepAliveSeconds = 15
/** Progress has to grow with each notification; this is too little to be seen. */
const step = 0.001

/**
 * The progress of a call that is one request for the client and several for the server, which may count from zero in each.
 * Does nothing for a call without `progressToken`.
 */
export class Progress {
  readonly #call: ClientCall
  readonly #deadlines: Deadlines
  readonly #token: unknown
  /** Where the current request to the server began to count. */
  #base = 0
  #last = 0

  constructor(call: ClientCall, deadlines: Deadlines) {
    this.#call = call
    this.#deadlines = deadlines
    this.#token = metaOf(call.request.params)['progressToken']
  }

  /** The notification for the client in place of one of the server. */
  translate(notification: JsonRpcNotification): JsonRpcNotification {
    const { method, params } = notification
    if (method !== 'notifications/progress' || params?.['progressToken'] !== this.#token) return notification
    const { progress } = params ?? {}
    if (params === undefined || typeof progress !== 'number') return notification
    const grown = this.#base === 0 ? progress : Math.max(this.#base + progress, this.#last + step)
    this.#last = grown
    if (grown === progress) return notification
    const { total, ...rest } = params
    const shifted = typeof total === 'number' ? { total: this.#base + total } : {}
    return { ...notification, params: { ...rest, ...shifted, progress: grown } }
  }

  /** The next request to the server may count from zero again. */
  nextRound(): void {
    this.#base = this.#last
  }

  /** Sends progress at intervals while `work` lasts: many clients give up after a minute of silence. */
  async during<T>(work: Promise<T>): Promise<T> {
    if (this.#token === undefined) return work
    let stop = (): void => {}
    const schedule = (): void => {
      stop = this.#deadlines.after(keepAliveSeconds, () => {
        this.#sendKeepAlive()
        schedule()
      })
    }
    schedule()
    try {
      return await work
    } finally {
      stop()
    }
  }

  #sendKeepAlive(): void {
    this.#last += step
    const params = { progressToken: this.#token, progress: this.#last, message: 'Waiting for input' }
    void this.#call.notify({ jsonrpc: '2.0', method: 'notifications/progress', params })
  }
}
