// Tools of a web app with workspaces. The file named by WORKSPACES has the ids of each user's, by email address.
import { readFileSync } from 'node:fs'
import type { CallerContext, ToolDeclaration } from '../../server/mcp/tools/tool-module.ts'

/** Scopes besides `mcp`. */
export const scopes = { 'notes:read': 'Read your notes', 'notes:write': 'Change your notes' }

/** Lists what the file has for the user. */
export function workspaces({ user }: CallerContext): { id: string; name: string }[] {
  const listed = JSON.parse(readFileSync(process.env['WORKSPACES'] ?? '', 'utf8')) as Record<string, string[]>
  return (listed[user.email ?? ''] ?? []).map((id) => ({ id, name: `Workspace ${id}` }))
}

/** The plain tools; each says what its call was for. */
export const tools: readonly ToolDeclaration[] = [
  { name: 'where', annotations: { readOnlyHint: true }, call: (_input, context) => placeOf(context) },
  { name: 'write', scope: 'notes:write', call: (_input, context) => `Written: ${placeOf(context)}` },
]

function placeOf({ user, clientId, scope, workspace }: CallerContext): string {
  const plain = scope.split(' ').filter((name) => name !== 'offline_access')
  return JSON.stringify({ email: user.email, clientId, scope: plain.join(' '), workspace: workspace?.id })
}
