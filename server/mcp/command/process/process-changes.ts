import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import {
  acceptsNotification,
  honouredFilter,
  isEmptyFilter,
  readSubscriptionFilter,
} from '@drawbridge/shared/mcp/adapter/subscription-filter.ts'
import type { JsonRpcNotification } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { ChangeListener, ChangeSource } from '../../subscriptions.ts'
import type { GreetedProcess } from './handshake.ts'
import type { ForwardOptions } from './process-connection.ts'

/**
 * The subscriptions at processes of 2026-07-28. Each is a request to the process, and is repeated to the process that takes its place.
 */
export class ProcessChanges implements ChangeSource {
  readonly #listeners = new Map<ChangeListener, AbortController>()
  #process: GreetedProcess | undefined
  /** The capabilities that clients see. */
  #offered: JsonObject = {}

  attach(process: GreetedProcess, offered: JsonObject): void {
    this.#process = process
    this.#offered = offered
    for (const listener of this.#listeners.keys()) this.#subscribe(listener)
  }

  async listen(wanted: ChangeListener): Promise<ChangeListener> {
    const listener = { ...wanted, filter: honouredFilter(wanted.filter, this.#offered) }
    this.#subscribe(listener)
    return listener
  }

  remove(listener: ChangeListener): void {
    this.#listeners.get(listener)?.abort()
    this.#listeners.delete(listener)
  }

  /** Serves the `subscriptions/listen` of an adapter until its signal is aborted. */
  async serve(params: JsonObject, { signal, onMessage }: ForwardOptions): Promise<JsonObject> {
    const send: ChangeListener['send'] = (notification) => onMessage?.({ jsonrpc: '2.0', ...notification })
    const filter = readSubscriptionFilter(params['notifications']) ?? {}
    const listener = await this.listen({ filter, send })
    send({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: listener.filter },
    })
    await new Promise<void>((resolve) => {
      if (signal?.aborted) resolve()
      signal?.addEventListener('abort', () => resolve(), { once: true })
    })
    this.remove(listener)
    return { resultType: 'complete' }
  }

  /** Takes a notification that names no subscription. */
  report(notification: JsonRpcNotification): void {
    for (const { filter, send } of this.#listeners.keys())
      if (acceptsNotification(filter, notification)) send(notification)
  }

  close(): void {
    const listeners = [...this.#listeners.keys()]
    this.#listeners.clear()
    for (const { end } of listeners) end?.()
  }

  #subscribe(listener: ChangeListener): void {
    const { filter, send } = listener
    const controller = new AbortController()
    this.#listeners.set(listener, controller)
    if (!this.#process || isEmptyFilter(filter)) return
    const { connection, envelope } = this.#process
    const onMessage = (notification: JsonRpcNotification): void => {
      if (acceptsNotification(filter, notification)) send(notification)
    }
    // If the process refuses, the client gets no changes.
    connection
      .request(
        'subscriptions/listen',
        { notifications: filter, _meta: envelope },
        { signal: controller.signal, onMessage, isLasting: true },
      )
      .catch(() => {})
  }
}
