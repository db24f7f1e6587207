import { changeOwnGrant, findOwnGrant, workspacesOf } from '../../core/session/grant-change.ts'
import type { AccountNotice } from '../../core/sign-in/account-session.ts'
import type { Grant, Workspace } from '../../core/session/grant.ts'
import { WorkspacesUnavailableError } from '../../core/workspaces/workspace-list.ts'
import { describeScope } from '../describe-scope.ts'
import { accountPath, type LoginPorts, type LoginVisit } from '../login/login-subject.ts'
import { changePage } from '../pages/change-page.ts'
import { findClients, reportChange } from './connections.ts'

/** Returns whether there is anything to change: a scope to take back, or workspaces to choose from. */
export function canChange({ scope }: Grant, { changes }: LoginPorts): boolean {
  return changes.workspaces !== undefined || changes.scopes.optionalOf(scope).length > 0
}

/** Renders the page that changes one connection of a user. Undefined if it is over, or another user's. */
export async function renderChange(
  grantId: string,
  userId: string,
  form: string,
  visit: LoginVisit,
): Promise<string | undefined> {
  const { language, ports } = visit
  const grant = await findOwnGrant(grantId, userId, ports.changes)
  if (!grant) return undefined
  const listed = await findClients([{ grant }], language, ports)
  return changePage({
    ...ports.app,
    language,
    action: accountPath(ports),
    form,
    connectionId: grant.id,
    client: listed(grant).client,
    scopes: ports.changes.scopes.optionalOf(grant.scope).map((scope) => ({
      scope,
      text: describeScope(scope, ports.codes.scopes, language).join(),
      ticked: true,
    })),
    workspaces: await listedOrNot(grant, visit),
    workspace: grant.workspace,
  })
}

async function listedOrNot(
  grant: Grant,
  { context, ports }: LoginVisit,
): Promise<readonly Workspace[] | undefined> {
  try {
    return await workspacesOf(grant, ports.changes)
  } catch (error) {
    if (!(error instanceof WorkspacesUnavailableError)) throw error
    context.report('workspaces_failed', { message: error.message })
    return undefined
  }
}

/** Handles the form of {@link renderChange}. Returns what to say about it, and the client's name. */
export async function takeChange(
  fields: URLSearchParams,
  userId: string,
  { context, language, ports }: LoginVisit,
): Promise<{ notice: AccountNotice; clientName?: string | undefined }> {
  const grantId = fields.get('connection') ?? ''
  const wanted = { scope: fields.getAll('scope'), workspaceId: fields.get('workspace') ?? undefined }
  const nameOf = async (grant: Grant): Promise<string | undefined> =>
    (await findClients([{ grant }], language, ports))(grant).client.name
  try {
    const change = await changeOwnGrant(grantId, userId, wanted, ports.changes)
    if (change.kind === 'gone') return { notice: 'already_ended' }
    reportChange(change, context)
    const notice = change.kind === 'refused' ? 'change_refused' : 'changed'
    return { notice, clientName: await nameOf(change.grant) }
  } catch (error) {
    if (!(error instanceof WorkspacesUnavailableError)) throw error
    context.report('workspaces_failed', { message: error.message })
    const grant = await findOwnGrant(grantId, userId, ports.changes)
    return grant ? { notice: 'not_changed', clientName: await nameOf(grant) } : { notice: 'already_ended' }
  }
}
