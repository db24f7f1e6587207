import { overviewOf } from '../../core/session/connection.ts'
import { userOf, type Workspace } from '../../core/session/grant.ts'
import type { Identity } from '../../core/session/session-provider.ts'
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
 * Returns the posted workspace of the user, or their only one, or none. Else those to choose from; undefined while the app does not
 * list them. Throws `choice_refused` for another person's workspace.
 */
export async function findWorkspace(
  { identity, providerToken }: { identity: Identity; providerToken: string },
  { clientId, scope }: WantedGrant,
  posted: string | undefined,
  visit: SignInVisit,
): Promise<WorkspaceChoice | { workspaces: readonly Workspace[] | undefined }> {
  const { workspaces: list, providerIssuer } = visit.ports
  if (!list) return { workspace: undefined }
  const user = userOf(identity, providerIssuer)
  const workspaces = await list({ user, clientId, scope, providerToken: () => providerToken })
  if (!workspaces || (posted === undefined && workspaces.length > 1)) return { workspaces }
  const workspace = posted === undefined ? workspaces[0] : workspaces.find(({ id }) => id === posted)
  if (!workspace && posted !== undefined) refuseChoice('workspace', clientId, visit)
  return { workspace }
}

/** As {@link findWorkspace}; where there is a choice, stores the sign-in and returns the page that asks. `id`: it is stored already. */
export async function chooseWorkspace(
  completed: CompletedSignIn,
  wanted: WantedGrant,
  visit: SignInVisit,
  { id: waitingId, posted }: { id?: string; posted?: string | undefined } = {},
): Promise<WorkspaceChoice | Response> {
  const { ports } = visit
  const { session, identity } = completed.signIn
  const found = await findWorkspace({ identity, providerToken: session.accessToken }, wanted, posted, visit)
  if ('workspace' in found) return found
  const id = waitingId ?? (await awaitWorkspace(completed, visit.subject.visitor, ports))
  const user = userOf(identity, ports.providerIssuer)
  const records = await ports.store.listGrants({ userId: user.id }, { after: '', limit: maxGrants })
  const { live } = overviewOf(records, ports.runtime.now())
  const last = live.find(({ grant }) => grant.clientId === wanted.clientId)
  return renderWorkspaces(visit, { id, ...found, chosen: last?.grant.workspace?.id })
}
