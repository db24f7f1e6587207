import { workspacesOf } from '../../core/session/grant-change.ts'
import type { Grant } from '../../core/session/grant.ts'
import { accountPath, type LoginPorts, type LoginVisit } from '../login/login-subject.ts'
import { boxViews } from '../login/scope-form.ts'
import { changePage } from '../pages/change-page.ts'
import { findClients } from './connections.ts'

/** Returns whether there is anything to change: a scope to take back, or workspaces to choose from. */
export function canChange({ scope }: Grant, { changes }: LoginPorts): boolean {
  return changes.workspaces !== undefined || changes.scopes.optionalOf(scope).length > 0
}

/** Renders the page that changes a connection. `form` ties it to the sign-in. */
export async function renderChange(
  grant: Grant,
  form: string,
  { language, ports }: LoginVisit,
): Promise<string> {
  const listed = await findClients([{ grant }], language, ports)
  const boxes = ports.changes.scopes.optionalOf(grant.scope).map((scope) => ({ scope, ticked: true }))
  return changePage({
    ...ports.app,
    language,
    action: accountPath(ports),
    form,
    connectionId: grant.id,
    client: listed(grant).client,
    scopes: boxViews(boxes, ports.codes.scopes, language),
    workspaces: await workspacesOf(grant, ports.changes),
    workspace: grant.workspace,
  })
}
