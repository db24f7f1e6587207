import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { CallError } from '@drawbridge/shared/mcp/adapter/call-error.ts'
import {
  acceptsNotification,
  announcedFilter,
  honouredFilter,
} from '@drawbridge/shared/mcp/adapter/subscription-filter.ts'
import { jsonRpcCode, type JsonRpcNotification } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { ChangeListener, ChangeSource } from '../../subscriptions.ts'
import type { GreetedProcess } from './handshake.ts'

const maxUris = 1024
const maxUrisLength = 256 * 1024

/**
 * The changes that a process reports, for all of its clients. A resource that was watched once is watched as long as there are
 * clients, by each process that takes the place of the one before: who is told of a change is decided by the filter of each listener.
 */
export class ProcessChanges implements ChangeSource {
  readonly #listeners = new Set<ChangeListener>()
  readonly #uris = new Set<string>()
  #process: GreetedProcess | undefined
  /** The capabilities that clients see. */
  #offered: JsonObject = {}
  #listening: AbortController | undefined

  attach(process: GreetedProcess, offered: JsonObject): void {
    this.#process = process
    this.#offered = offered
    if (process.era === 'modern') this.#listen()
    else for (const uri of this.#uris) this.#subscribe(process, uri).catch(() => {})
  }

  /** Adds a listener, with the part of its filter that can be honoured. */
  async listen(wanted: ChangeListener): Promise<ChangeListener> {
    const filter = honouredFilter(wanted.filter, this.#offered)
    const { resourceSubscriptions = [] } = filter
    // Of what cannot be watched the client just hears nothing.
    await Promise.allSettled(resourceSubscriptions.map((uri) => this.watch(uri)))
    const listener = { ...wanted, filter }
    this.#listeners.add(listener)
    return listener
  }

  remove(listener: ChangeListener): void {
    this.#listeners.delete(listener)
  }

  /** Rejects when the process refuses it. */
  async watch(uri: string): Promise<void> {
    if (this.#uris.has(uri)) return
    const length = [...this.#uris].reduce((sum, each) => sum + each.length, uri.length)
    if (this.#uris.size >= maxUris || length > maxUrisLength) {
      const text = `At most ${maxUris} resources can be watched, with URIs of at most ${maxUrisLength} characters together. Read the resource again instead.`
      throw new CallError(jsonRpcCode.invalidParams, text)
    }
    this.#uris.add(uri)
    if (this.#process?.era === 'modern') this.#listen()
    else if (this.#process)
      await this.#subscribe(this.#process, uri).catch((error: unknown) => {
        this.#uris.delete(uri)
        throw error
      })
  }

  /** Passes a change on to those who want to hear of it. */
  report(notification: JsonRpcNotification): void {
    for (const { filter, send } of this.#listeners)
      if (acceptsNotification(filter, notification)) send(notification)
  }

  close(): void {
    const listeners = [...this.#listeners]
    this.#listeners.clear()
    for (const { end } of listeners) end?.()
  }

  #subscribe({ connection }: GreetedProcess, uri: string): Promise<unknown> {
    return connection.request('resources/subscribe', { uri })
  }

  /** Opens a stream of `subscriptions/listen` for all that is of interest, and then ends the one before. */
  #listen(): void {
    const resourceSubscriptions = [...this.#uris]
    const notifications = {
      ...announcedFilter(this.#offered),
      ...(resourceSubscriptions.length > 0 && { resourceSubscriptions }),
    }
    const previous = this.#listening
    const controller = new AbortController()
    this.#listening = controller
    if (Object.keys(notifications).length > 0) {
      const params = { notifications, _meta: this.#process?.envelope }
      // Without it clients just hear of no changes.
      this.#process?.connection
        .request('subscriptions/listen', params, { signal: controller.signal, isLasting: true })
        .catch(() => {})
    }
    previous?.abort()
  }
}
