import { overviewOf } from '../../core/session/connection.ts'
import { userOf } from '../../core/session/grant.ts'
import {
  awaitWorkspace,
  type CompletedSignIn,
  type WorkspaceChoice,
} from '../../core/sign-in/workspace-step.ts'
import { renderWorkspaces } from './draw.ts'
import type { SignInVisit } from './login-subject.ts'
import { refuseChoice, type WantedGrant } from './scope-form.ts'

/** Grants of a user that are looked through for an earlier choice. */
const maxGrants = 200

/**
 * Returns the posted workspace of the user, or their only one, or none. Else, and while the app does not list them, stores the sign-in
 * and returns the page that asks. `id`: it is stored already. Throws `choice_refused` for
 * another person's workspace.
 */
export async function chooseWorkspace(
  completed: CompletedSignIn,
  { clientId, scope }: WantedGrant,
  visit: SignInVisit,
  { id: waitingId, posted }: { id?: string; posted?: string | undefined } = {},
): Promise<WorkspaceChoice | Response> {
  const { store, changes, codes, signIn } = visit.ports
  if (!changes.workspaces) return { workspace: undefined }
  const { session, identity } = completed.signIn
  const user = userOf(identity, codes.providerIssuer)
  const of = { user, clientId, scope, providerToken: () => session.accessToken }
  const workspaces = await changes.workspaces(of)
  if (workspaces && (posted !== undefined || workspaces.length < 2)) {
    const workspace = posted === undefined ? workspaces[0] : workspaces.find(({ id }) => id === posted)
    if (workspace || posted === undefined) return { workspace }
    refuseChoice('workspace', clientId, visit)
  }
  const id = waitingId ?? (await awaitWorkspace(completed, visit.subject.visitor, signIn))
  const records = await store.listGrants({ userId: user.id }, { after: '', limit: maxGrants })
  const { live } = overviewOf(records, signIn.runtime.now())
  const last = live.find(({ grant }) => grant.clientId === clientId)
  return renderWorkspaces(visit, { id, workspaces, chosen: last?.grant.workspace?.id })
}
