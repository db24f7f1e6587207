import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { ToolDefinition } from './tool.ts'

/** The scopes that a message or batch needs in addition to that of all tools. */
export type ScopesOfMessage = (body: unknown) => readonly string[]

const none: readonly string[] = []

/**
 * Says which scopes the calls of plain tools need. Tools are listed to everyone: a model that sees one may call it, and
 * the refusal then leads the person to allow it (MCP 2026-07-28 authorization, step-up).
 */
export function createScopesOfMessage(tools: readonly ToolDefinition[]): ScopesOfMessage {
  const scopes = new Map<unknown, string>()
  for (const { listing, scope } of tools) if (scope !== undefined) scopes.set(listing.name, scope)
  if (scopes.size === 0) return () => none
  return (body) => {
    const messages: unknown[] = Array.isArray(body) ? body : [body]
    return [...new Set(messages.flatMap((message) => scopes.get(calledTool(message)) ?? none))]
  }
}

function calledTool(message: unknown): unknown {
  if (!isJsonObject(message) || message['method'] !== 'tools/call') return undefined
  return isJsonObject(message['params']) ? message['params']['name'] : undefined
}
