import type { JsonObject } from '../../json-object.ts'
import type { JsonRpcMessage, JsonRpcNotification, JsonRpcRequest } from '../json-rpc.ts'
import type { ErrorMember } from './call-error.ts'
import type { LocalPeer } from './ports.ts'

/** One request of the local client until it is over: answered, cancelled by the client, or dropped at the end. */
export interface LocalCall {
  readonly request: JsonRpcRequest
  /** Aborted when the client cancels, and at the end. */
  readonly signal: AbortSignal
  isOpen(): boolean
  /** Answers; does nothing when the call is over. Never rejects. */
  answer(result: JsonObject): Promise<void>
  /** Answers with an error; else like {@link answer}. */
  fail(error: ErrorMember): Promise<void>
  /** Sends a notification that belongs to this call; nothing goes out after the call is over. Never rejects. */
  notify(notification: JsonRpcNotification): Promise<void>
}

/** The open calls. Makes sure that no id is answered twice. */
export interface LocalCalls {
  /** Undefined if a call with this id is under way: a second one could not be answered. */
  begin(request: JsonRpcRequest): LocalCall | undefined
  /** Ends a call without an answer, with this reason of its signal; false if there is none. */
  cancel(id: unknown, reason?: unknown): boolean
  /** Sends a notification that belongs to no call. Never rejects. */
  notify(notification: JsonRpcNotification): Promise<void>
  /** Ends all calls without an answer. Nothing is sent any more. */
  close(): void
}

/** Numbers and texts are different ids: `1` is not `"1"`. */
export function createLocalCalls(local: LocalPeer): LocalCalls {
  const open = new Map<unknown, { abort(reason?: unknown): void }>()
  let closed = false

  async function send(message: JsonRpcMessage): Promise<void> {
    try {
      await local.send(message)
    } catch {
      // The client is gone.
    }
  }

  return {
    begin(request) {
      const { id } = request
      if (closed || open.has(id)) return undefined
      const controller = new AbortController()
      const entry = { abort: (reason?: unknown) => controller.abort(reason) }
      open.set(id, entry)
      const isOpen = () => open.get(id) === entry
      const finish = async (message: JsonRpcMessage) => {
        if (!isOpen()) return
        open.delete(id)
        await send(message)
      }
      return {
        request,
        signal: controller.signal,
        isOpen,
        answer: (result) => finish({ jsonrpc: '2.0', id, result }),
        fail: (error) => finish({ jsonrpc: '2.0', id, error }),
        async notify(notification) {
          if (isOpen()) await send(notification)
        },
      }
    },
    cancel(id, reason) {
      const entry = open.get(id)
      open.delete(id)
      entry?.abort(reason)
      return entry !== undefined
    },
    async notify(notification) {
      if (!closed) await send(notification)
    },
    close() {
      closed = true
      const entries = [...open.values()]
      open.clear()
      for (const entry of entries) entry.abort()
    },
  }
}
