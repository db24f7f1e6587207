import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { McpEra } from '@drawbridge/shared/mcp/mcp-protocol.ts'

/** What is known of a server from the last connection. Only ever a guess: what the server does now wins. */
export interface ServerMemory {
  era: McpEra
  transport: 'http' | 'sse'
  /** When this was true, epoch seconds. */
  at: number
  /** An era that the server was asked for and did not speak, and when, in epoch seconds. Not set: nobody asked. */
  lacks?: { era: McpEra; at: number }
  initializeResult?: JsonObject
  discoverResult?: JsonObject
  /** Tools as the server lists them, without those that no client may use. */
  tools?: readonly JsonObject[]
}
