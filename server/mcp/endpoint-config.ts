import type { Reply } from '@drawbridge/shared/text-response.ts'
import type { Implementation, Transport } from '@modelcontextprotocol/server'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { Call, IncomingCalls } from '../core/access/call-record.ts'
import type { Caller } from '../core/tokens/caller.ts'
import type { Sealer } from '../core/seal.ts'
import type { Incoming } from './incoming.ts'
import type { ToolDefinition } from './tools/tool.ts'
import type { ToolContexts } from './tools/tool-context.ts'
import type { ModuleNotifications, ToolModule } from './tools/tool-module.ts'

/** The tools of the MCP endpoint, and its presentation to clients. */
export interface McpEndpointConfig {
  serverInfo: Implementation
  instructions: string
  /** The plain tools, which report their own failures. */
  tools: readonly ToolDefinition[]
  /** The module's additions to its plain tools. */
  module: Pick<ToolModule, 'register' | 'asksClient' | 'toolScopes'>
  /** True when the module reports changes by {@link ModuleEndpoint.notify}. */
  notifies: boolean
  contexts: ToolContexts
  /** Seals the state that clients carry for a call that waits for their input; all instances need the same keys. */
  sealer: Sealer
  runtime: Pick<Runtime, 'now' | 'randomBytes'>
  /** URL of the protected resource metadata, for challenges about scopes. */
  resourceMetadata: string
  report: (event: 'mcp_rejected' | 'tool_failed', error: unknown) => void
}

/** Serves MCP messages of authenticated callers who hold the scopes that the message needs. */
export interface McpEndpoint {
  /** The HTTP methods that `handle` supports; POST always. */
  methods: readonly string[]
  /**
   * `body` is the parsed JSON of `request`, a message or a batch, and undefined for methods other than POST; `text` is that JSON as it
   * came. The stream of `request` is not read again. Records each of the `calls`, and reports when a stream's calls are over.
   */
  handle(request: Request, body: unknown, caller: Caller, calls: IncomingCalls, text?: string): Promise<Reply>
  /** Returns whether the called item exists; undefined while unknown. */
  has(call: Call): boolean | undefined
  /** Returns the scope that a call of a tool needs in addition to the one for all tools. */
  scopeOf(tool: string): string | undefined
  /**
   * Called before {@link scopeOf} is asked about the calls of a message: where the mark of a tool decides, and is unknown, reads the
   * caller's list of tools first. Resolves with a reply if the message cannot be served.
   */
  learn?(request: Request, incoming: Incoming): Promise<Reply | undefined>
  /**
   * Ends every stream that only waits for notifications, with a closing result where the protocol has one, and each that
   * opens from now on: a draining server would wait for them forever.
   */
  endStreams(): void
  close(): Promise<void>
}

/** The endpoint of a module, which tells clients of its changes. */
export interface ModuleEndpoint extends McpEndpoint {
  notify: ModuleNotifications
}

/**
 * The purpose of a {@link Peer}: a single message, of 2026-07-28 or `stateless` of an earlier revision, or a whole session. `incoming`
 * returns the request being served at the moment.
 */
export interface ServingContext {
  kind: '2026-07-28' | 'session' | 'stateless'
  incoming: () => Incoming
}

/** Answers the messages of one transport: an SDK server, or the process of a command. */
export interface Peer {
  connect(transport: Transport): Promise<void>
  close(): Promise<void>
  /**
   * Called before each message. Resolves with a function to call once the response has begun; rejects if the message cannot be served
   * now.
   */
  hold?(incoming: Incoming): Promise<() => void>
}

export type CreatePeer = (serving: ServingContext) => Peer
