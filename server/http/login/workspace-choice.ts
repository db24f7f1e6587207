import { isLive } from '../../core/session/grant-pages.ts'
import { type User, userOf, type Workspace } from '../../core/session/grant.ts'
import type { SignIn } from '../../core/session/session-provider.ts'
import { awaitWorkspace, type CompletedSignIn } from '../../core/sign-in/workspace-step.ts'
import { WorkspacesUnavailableError } from '../../core/workspaces/workspace-list.ts'
import { renderWorkspaces } from './draw.ts'
import { askedScope, type ClientSubject, type SignInVisit } from './login-subject.ts'

/** The workspace of a grant to be; undefined where the user has none. */
export interface WorkspaceChoice {
  workspace: Workspace | undefined
}

/** Grants of a user that are looked through for an earlier choice. */
const maxGrants = 200

/**
 * Returns the only workspace of the user, or none. With several, or while the app does not list them, stores the sign-in and
 * returns the page that asks.
 */
export async function chooseWorkspace(
  completed: CompletedSignIn,
  subject: ClientSubject,
  visit: SignInVisit,
): Promise<WorkspaceChoice | Response> {
  if (!visit.ports.changes.workspaces) return { workspace: undefined }
  const workspaces = await listWorkspaces(completed.signIn, subject, visit)
  if (workspaces && workspaces.length < 2) return { workspace: workspaces[0] }
  const id = await awaitWorkspace(completed, subject.visitor, visit.ports.signIn)
  return askWorkspace({ id, workspaces }, completed.signIn, subject, visit)
}

/** Renders the page that asks, with the user's last choice for this client. */
export async function askWorkspace(
  prompt: { id: string; workspaces: readonly Workspace[] | undefined },
  { identity }: SignIn,
  { client }: ClientSubject,
  visit: SignInVisit,
): Promise<Response> {
  const { store, codes, signIn } = visit.ports
  const { id: userId } = userOf(identity, codes.providerIssuer)
  const records = await store.listGrants({ userId }, { after: '', limit: maxGrants })
  const [last] = records
    .filter((record) => record.grant.clientId === client.id && isLive(record, signIn.runtime.now()))
    .toSorted((one, other) => other.grant.createdAt - one.grant.createdAt)
  return renderWorkspaces(visit, { ...prompt, chosen: last?.grant.workspace?.id })
}

/** Lists the workspaces of the user who signed in. Undefined while the app does not. */
export async function listWorkspaces(
  { identity, session }: SignIn,
  subject: ClientSubject,
  { context, ports: { changes, codes } }: SignInVisit,
): Promise<readonly Workspace[] | undefined> {
  const user: User = userOf(identity, codes.providerIssuer)
  const scope = subject.chosen ?? askedScope(subject)
  const of = { user, clientId: subject.client.id, scope, providerToken: () => session.accessToken }
  try {
    return (await changes.workspaces?.(of)) ?? []
  } catch (error) {
    if (!(error instanceof WorkspacesUnavailableError)) throw error
    context.report('workspaces_failed', { message: error.message })
    return undefined
  }
}
