import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { toolScope } from '../../core/tokens/scope.ts'

/** What calling a tool takes. */
export interface ToolNeeds {
  /** Nothing: anybody may. */
  isPublic: boolean
  /** A scope in addition to the one for all tools. */
  scope: string | undefined
}

/**
 * A tool of `tools/list` with what calling it takes, for clients that sign in only when they must (SEP-1488): `noauth` for a public
 * tool, and `oauth2` with the scopes. Twice, since some clients keep only what the protocol knows, `_meta`.
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
