import { ProtocolError } from '@modelcontextprotocol/server'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { jsonRpcCode } from '@drawbridge/shared/mcp/json-rpc.ts'
import type { Presentation } from './greeting.ts'
import type { ProcessConnection } from './process-connection.ts'

const maxUris = 1024

/**
 * Subscriptions at one process, for all of its clients together. A resource that was watched once is watched as long as the
 * process lives: who is told of a change is decided where the clients are.
 */
export class ProcessWatch {
  readonly #connection: ProcessConnection
  readonly #presentation: Presentation
  readonly #envelope: JsonObject
  readonly #uris = new Set<string>()
  #listening: AbortController | undefined

  constructor(connection: ProcessConnection, presentation: Presentation, envelope: JsonObject) {
    this.#connection = connection
    this.#presentation = presentation
    this.#envelope = envelope
    const { tools, prompts, resources } = presentation.capabilities
    const listens = [tools, prompts, resources].some((capability) => capability?.listChanged === true)
    if (listens && presentation.era === 'modern') this.#listen()
  }

  /** Rejects when the process refuses it. */
  async watch(uri: string): Promise<void> {
    if (this.#uris.has(uri)) return
    if (this.#uris.size >= maxUris) {
      const text = `At most ${maxUris} resources can be watched. Read the resource again instead.`
      throw new ProtocolError(jsonRpcCode.invalidParams, text)
    }
    this.#uris.add(uri)
    if (this.#presentation.era === 'modern') {
      this.#listen()
      return
    }
    try {
      await this.#connection.request('resources/subscribe', { uri })
    } catch (error) {
      this.#uris.delete(uri)
      throw error
    }
  }

  /** Opens a stream of `subscriptions/listen` for all that is of interest, and then ends the one before. */
  #listen(): void {
    const { tools, prompts, resources } = this.#presentation.capabilities
    const notifications = {
      ...(tools?.listChanged === true && { toolsListChanged: true }),
      ...(prompts?.listChanged === true && { promptsListChanged: true }),
      ...(resources?.listChanged === true && { resourcesListChanged: true }),
      ...(this.#uris.size > 0 && { resourceSubscriptions: [...this.#uris] }),
    }
    const previous = this.#listening
    const controller = new AbortController()
    this.#listening = controller
    const params = { notifications, _meta: this.#envelope }
    // Without it clients just hear of no changes.
    this.#connection
      .request('subscriptions/listen', params, { signal: controller.signal, isLasting: true })
      .catch(() => {})
    previous?.abort()
  }
}
