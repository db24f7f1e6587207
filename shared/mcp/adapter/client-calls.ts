import { plainNumber } from '../../exact-json.ts'
import type { JsonObject } from '../../json-object.ts'
import type {
  JsonRpcErrorObject,
  JsonRpcId,
  JsonRpcMessage,
  JsonRpcNotification,
  JsonRpcRequest,
} from '../json-rpc.ts'
import type { ClientPort } from './ports.ts'

/** One request of the client until it is over: answered, cancelled by the client, or dropped on close. */
export interface ClientCall {
  readonly request: JsonRpcRequest
  /** Aborted when the client cancels, and on close. */
  readonly signal: AbortSignal
  isOpen(): boolean
  /** Sends the result; does nothing when the call is over. Never rejects. */
  answer(result: JsonObject): Promise<void>
  /** Sends an error; otherwise like {@link answer}. */
  fail(error: JsonRpcErrorObject): Promise<void>
  /** Sends a notification that belongs to this call; nothing is sent after the call is over. Never rejects. */
  notify(notification: JsonRpcNotification): Promise<void>
}

/** The open calls of the client. Ensures that no id is answered twice; `1` and `"1"` are different ids. */
export class ClientCalls {
  readonly #client: ClientPort
  readonly #open = new Map<unknown, AbortController>()
  #isClosed = false

  constructor(client: ClientPort) {
    this.#client = client
  }

  /** Undefined if a call with this id is open: a second one could not be answered. */
  begin(request: JsonRpcRequest): ClientCall | undefined {
    const { id } = request
    if (this.#isClosed || this.#open.has(id)) return undefined
    const controller = new AbortController()
    this.#open.set(id, controller)
    const isOpen = (): boolean => this.#open.get(id) === controller
    const finish = async (message: JsonRpcMessage): Promise<void> => {
      if (!isOpen()) return
      this.#open.delete(id)
      await this.#send(message)
    }
    return {
      request,
      signal: controller.signal,
      isOpen,
      answer: (result) => finish({ jsonrpc: '2.0', id, result }),
      fail: (error) => finish({ jsonrpc: '2.0', id, error }),
      notify: async (notification) => {
        if (isOpen()) await this.#send(notification, id)
      },
    }
  }

  /** Ends a call without an answer. */
  cancel(given: unknown): void {
    const id = plainNumber(given)
    const controller = this.#open.get(id)
    this.#open.delete(id)
    controller?.abort()
  }

  /** Sends a notification that belongs to no call. Never rejects. */
  async notify(notification: JsonRpcNotification): Promise<void> {
    if (!this.#isClosed) await this.#send(notification)
  }

  /** Ends all calls without an answer. Nothing is sent after that. */
  close(): void {
    this.#isClosed = true
    const controllers = [...this.#open.values()]
    this.#open.clear()
    for (const controller of controllers) controller.abort()
  }

  async #send(message: JsonRpcMessage, relatedTo?: JsonRpcId): Promise<void> {
    try {
      await this.#client.send(message, relatedTo)
    } catch {
      // The client is gone.
    }
  }
}
