import type { McpServer, Result, ServerContext, StandardSchemaV1 } from '@modelcontextprotocol/server'
import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import { maxInputSeconds } from '@drawbridge/shared/mcp/adapter/input-required.ts'
import type { JsonRpcId } from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpMetaKey } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { logSeverity } from '@drawbridge/shared/mcp/params.ts'
import type { ServingContext } from '../sdk/sdk-server.ts'

/** One SDK server: a session, or a single message. */
export interface Client {
  serving: ServingContext
  server: McpServer['server']
  logLevel: string | undefined
}

/** A request of a client that is being forwarded. */
export interface OpenCall {
  client: Client
  context: ServerContext
}

/** For what is of no use to a client that has left. */
export const drop = (): void => {}

const anyResult: StandardSchemaV1<unknown, Result> = {
  '~standard': { version: 1, vendor: 'drawbridge', validate: (value) => ({ value: value as Result }) },
}

/** Asks the client of a session, on the stream of the call `relatedRequestId` if there is one. */
export function askClient(
  { server }: Client,
  { method, params }: { method: string; params: JsonObject | undefined },
  relatedRequestId: JsonRpcId | undefined,
  signal: AbortSignal,
): Promise<unknown> {
  return server.request({ method, ...(params && { params }) }, anyResult, {
    signal,
    timeout: maxInputSeconds * 1000,
    ...(relatedRequestId !== undefined && { relatedRequestId }),
  })
}

/** The level from which on the client of a call wants log messages; undefined: none. */
export function levelOf({ client, context }: OpenCall): string | undefined {
  return client.serving.kind === 'session' ? (client.logLevel ?? 'debug') : requestedLevel(context)
}

/** The level that a request of 2026-07-28 names. */
export function requestedLevel({ mcpReq }: ServerContext): string | undefined {
  const level = (mcpReq.envelope as JsonObject | undefined)?.[mcpMetaKey.logLevel]
  return typeof level === 'string' ? level : undefined
}

/** Whether the log message with `params` reaches `minimum`. */
export function isLogged(params: JsonObject, minimum: string | undefined): boolean {
  const least = logSeverity(minimum)
  return least !== undefined && (logSeverity(params['level']) ?? -1) >= least
}
