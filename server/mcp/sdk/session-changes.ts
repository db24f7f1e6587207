import { type McpServer, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { maxKeptLength } from '../incoming.ts'
import type { ModuleNotifications } from '../tools/tool-module.ts'

const maxSubscriptions = 256

type Server = McpServer['server']

/** Tells sessions what has changed, and of resources only those that each has subscribed to. */
export class SessionChanges {
  readonly #subscriptions = new Map<Server, Set<string>>()
  readonly notify: ModuleNotifications = {
    toolsChanged: () => this.#sendAll((server) => server.sendToolListChanged()),
    promptsChanged: () => this.#sendAll((server) => server.sendPromptListChanged()),
    resourcesChanged: () => this.#sendAll((server) => server.sendResourceListChanged()),
    resourceUpdated: (uri) =>
      this.#sendAll(async (server, subscriptions) => {
        if (subscriptions.has(uri)) await server.sendResourceUpdated({ uri })
      }),
  }

  /** Adds the server of a session until it is closed. */
  join(server: Server): void {
    const subscriptions = new Set<string>()
    this.#subscriptions.set(server, subscriptions)
    // oxlint-disable-next-line unicorn/prefer-add-event-listener -- it has no other way
    server.onclose = () => this.#subscriptions.delete(server)
    if (server.getCapabilities().resources?.subscribe === true) serveSubscriptions(server, subscriptions)
  }

  #sendAll(send: (server: Server, subscriptions: ReadonlySet<string>) => Promise<void>): void {
    for (const [server, subscriptions] of this.#subscriptions) send(server, subscriptions).catch(() => {})
  }
}

/** `resources/subscribe` and its opposite (MCP 2025-11-25 resources, subscriptions). */
function serveSubscriptions(server: Server, subscriptions: Set<string>): void {
  server.setRequestHandler('resources/subscribe', ({ params: { uri } }) => {
    if (subscriptions.has(uri)) return {}
    const length = [...subscriptions].reduce((sum, each) => sum + each.length, uri.length)
    if (length > maxKeptLength || subscriptions.size >= maxSubscriptions)
      throw new ProtocolError(
        ProtocolErrorCode.InvalidParams,
        `At most ${maxSubscriptions} subscriptions are possible, to URIs of at most ${maxKeptLength} characters together.`,
      )
    subscriptions.add(uri)
    return {}
  })
  server.setRequestHandler('resources/unsubscribe', ({ params: { uri } }) => {
    subscriptions.delete(uri)
    return {}
  })
}
