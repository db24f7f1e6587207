import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { missingCapability, neededCapability } from '@drawbridge/shared/mcp/adapter/capabilities.ts'
import type { JsonRpcId } from '@drawbridge/shared/mcp/json-rpc.ts'
import { askClient, type Client, drop, isLogged, levelOf, type OpenCall } from './forwarded-call.ts'

/** The clients of one process, and what the process says to them other than results. */
export class ConnectedClients {
  readonly sessions: Set<Client> = new Set()
  readonly calls: Set<OpenCall> = new Set()
  /** Whether they are of different people. */
  readonly areEverybody: boolean
  /** What the only one has declared; undefined when there can be several, of whom none can be asked. */
  readonly declared: JsonObject | undefined

  constructor(areEverybody: boolean, declared: JsonObject | undefined) {
    this.areEverybody = areEverybody
    this.declared = declared
  }

  /**
   * Passes a log message on: to the call that is open, if there is just one, otherwise to the sessions. Those of a shared process
   * could be about anybody.
   */
  log(params: JsonObject): void {
    if (this.areEverybody) return
    const [only, ...others] = this.calls
    if (only && others.length === 0 && only.client.serving.kind !== 'stateless') {
      if (isLogged(params, levelOf(only)))
        only.context.mcpReq.notify({ method: 'notifications/message', params }).catch(drop)
      return
    }
    for (const { server, logLevel } of this.sessions)
      if (isLogged(params, logLevel ?? 'debug'))
        server.notification({ method: 'notifications/message', params }).catch(drop)
  }

  /** Passes any other notification on, which only concerns a client whom the process can ask. */
  notify(method: string, params: JsonObject): void {
    if (!this.declared || method.startsWith('notifications/tasks/')) return
    for (const { server } of this.sessions) server.notification({ method, params }).catch(drop)
  }

  /** Asks the client on behalf of the process. Rejects with what the process gets for an answer. */
  async ask(method: string, params: JsonObject | undefined, signal: AbortSignal): Promise<unknown> {
    if (method === 'ping') return {}
    const { declared } = this
    const [client] = this.sessions
    if (!declared || !client) {
      const reason = this.areEverybody
        ? 'this process serves everybody and can ask nobody'
        : 'no client of this process has declared at initialize that it can be asked'
      throw new ProtocolError(
        ProtocolErrorCode.MethodNotFound,
        `${method.slice(0, 100)} is not possible: ${reason}.`,
      )
    }
    const needed = neededCapability(method, params)
    if (!needed || missingCapability(needed, declared))
      throw new ProtocolError(
        ProtocolErrorCode.MethodNotFound,
        `${method.slice(0, 100)} is not possible: the client has not declared it at initialize.`,
      )
    return askClient(client, { method, params }, this.#latestIdOf(client), signal)
  }

  /** The stream of a call is one that every client reads. */
  #latestIdOf(client: Client): JsonRpcId | undefined {
    return [...this.calls].findLast((call) => call.client === client)?.context.mcpReq.id
  }
}
