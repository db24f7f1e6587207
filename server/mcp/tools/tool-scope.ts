import type { Call } from '../../core/access/call-record.ts'
import { type AccessAllowed, offersTool } from '../../core/access/access-rules.ts'
import { type JsonObject, isJsonObject } from '@drawbridge/shared/json-object.ts'
import { toolScope } from '../../core/tokens/scope.ts'
import { signInTool } from '../../core/tokens/sign-in-tool.ts'

/** Returns the scopes that calls with such access need in addition to the one for all tools. */
export type ScopesOfCalls = (calls: readonly Call[], access: AccessAllowed) => readonly string[]

/**
 * Returns the scopes that calls need, from the scope of each tool. Tools are listed to everyone: a model that sees one may call it, and
 * the refusal then leads the person to allow it (MCP 2026-07-28 authorization, step-up). A tool that the access rules hide, also because
 * no sign-in can give its scope, needs none: the endpoint says that it does not exist.
 */
export function createScopesOfCalls(scopeOf: (tool: string) => string | undefined): ScopesOfCalls {
  return (calls, access) => {
    const needed = calls.flatMap(({ event, name }) => {
      const scope = event === 'tool_called' ? scopeOf(name) : undefined
      return scope !== undefined && offersTool(access, name, scope) ? [scope] : []
    })
    return [...new Set(needed)]
  }
}

/** The entry of {@link signInTool} in a list. */
export const signInListing: typeof signInTool = withSecuritySchemes(signInTool, {
  isPublic: false,
  scope: undefined,
})

export interface ToolNeeds {
  /** Anyone may call it. */
  isPublic: boolean
  /** A scope in addition to the one for all tools. */
  scope: string | undefined
}

/**
 * Adds its security schemes to a listed tool, for clients that sign in only when they must (SEP-1488): `noauth` for a public tool, and
 * `oauth2` with the scopes. Also in `_meta`, since some clients keep only members that the protocol defines.
 */
export function withSecuritySchemes<Tool extends JsonObject | { _meta?: unknown }>(
  tool: Tool,
  { isPublic, scope }: ToolNeeds,
): Tool {
  const scopes = [toolScope, ...(scope === undefined ? [] : [scope])]
  const securitySchemes = [...(isPublic ? [{ type: 'noauth' }] : []), { type: 'oauth2', scopes }]
  const { _meta: own } = tool
  return { ...tool, securitySchemes, _meta: { ...(isJsonObject(own) && own), securitySchemes } }
}
