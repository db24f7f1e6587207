import type { Call } from '../../core/tokens/call-record.ts'
import type { ToolDefinition } from './tool.ts'

/** The scopes that calls need in addition to that of all tools. */
export type ScopesOfCalls = (calls: readonly Call[]) => readonly string[]

const none: readonly string[] = []

/**
 * Says which scopes the calls of plain tools need. Tools are listed to everyone: a model that sees one may call it, and
 * the refusal then leads the person to allow it (MCP 2026-07-28 authorization, step-up).
 */
export function createScopesOfCalls(tools: readonly ToolDefinition[]): ScopesOfCalls {
  const scopes = new Map<string, string>()
  for (const { listing, scope } of tools) if (scope !== undefined) scopes.set(listing.name, scope)
  if (scopes.size === 0) return () => none
  return (calls) => [
    ...new Set(
      calls.flatMap(({ event, name }) => (event === 'tool_called' ? (scopes.get(name) ?? none) : none)),
    ),
  ]
}
