import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { ScopeCatalogue } from '../tokens/scope.ts'
import { type ListWorkspaces, WorkspacesUnavailableError } from '../workspaces/workspace-list.ts'
import { isLive } from './grant-pages.ts'
import type { Grant, GrantStore, Workspace } from './grant.ts'
import type { SessionKeeper } from './session-keeper.ts'

export interface GrantChangePorts {
  store: Pick<GrantStore, 'findGrant' | 'findProviderSession' | 'changeGrant'>
  keeper: Pick<SessionKeeper, 'keep' | 'open'>
  workspaces: ListWorkspaces | undefined
  scopes: Pick<ScopeCatalogue, 'optionalOf'>
  runtime: Pick<Runtime, 'now'>
}

/** A user's wish about their grant; what is left out stays. */
export interface WantedChange {
  /** The optional scopes to keep; may name others that the grant has. */
  scope?: readonly string[] | undefined
  workspaceId?: string | undefined
}

export type GrantChange =
  | { kind: 'changed'; grant: Grant }
  /** It is as wanted already. */
  | { kind: 'unchanged'; grant: Grant }
  /** Unknown, over, or another user's: they look the same. */
  | { kind: 'gone' }
  /** A scope that the grant has not, which only a sign-in gives, or a workspace that is not the user's. */
  | { kind: 'refused'; field: 'scope' | 'workspace'; grant: Grant }

/** Finds a live grant of a user. */
export async function findOwnGrant(
  grantId: string,
  userId: string,
  { store, runtime }: Pick<GrantChangePorts, 'store' | 'runtime'>,
): Promise<Grant | undefined> {
  const record = await store.findGrant(grantId)
  return record?.grant.user.id === userId && isLive(record, runtime.now()) ? record.grant : undefined
}

/** Lists the workspaces that a grant can have. Rejects with {@link WorkspacesUnavailableError}. */
export async function workspacesOf(
  grant: Grant,
  { store, keeper, workspaces }: GrantChangePorts,
): Promise<readonly Workspace[]> {
  if (!workspaces) return []
  const stored = await store.findProviderSession(grant.id)
  const kept = stored && (await keeper.keep(stored))
  if (kept?.kind !== 'live')
    throw new WorkspacesUnavailableError('The session at the provider cannot be used right now.')
  const { user, clientId, scope } = grant
  const providerToken = (): string => keeper.open(kept.session).accessToken
  return workspaces({ user, clientId, scope, providerToken })
}

/**
 * Narrows the scope of a user's grant or changes its workspace, for every instance and every call that begins from now on. Tokens
 * stay. Rejects with {@link WorkspacesUnavailableError}.
 */
export async function changeOwnGrant(
  grantId: string,
  userId: string,
  wanted: WantedChange,
  ports: GrantChangePorts,
): Promise<GrantChange> {
  for (;;) {
    const grant = await findOwnGrant(grantId, userId, ports)
    if (!grant) return { kind: 'gone' }
    const scope = narrowed(grant, wanted.scope, ports)
    if (scope === undefined) return { kind: 'refused', field: 'scope', grant }
    const workspace = await wantedWorkspace(grant, wanted.workspaceId, ports)
    if (workspace === 'unknown') return { kind: 'refused', field: 'workspace', grant }
    if (scope === grant.scope && workspace?.id === grant.workspace?.id) return { kind: 'unchanged', grant }
    const to = { scope, workspace }
    // Not if it was changed meanwhile: that must not be undone unseen.
    if (await ports.store.changeGrant({ grantId, from: grant, to }, ports.runtime.now()))
      return { kind: 'changed', grant: { ...grant, ...to } }
  }
}

function narrowed(
  { scope }: Grant,
  wanted: WantedChange['scope'],
  { scopes }: GrantChangePorts,
): string | undefined {
  if (!wanted) return scope
  const held = scope.split(' ')
  if (wanted.some((name) => !held.includes(name))) return undefined
  const optional = scopes.optionalOf(scope)
  return held.filter((name) => wanted.includes(name) || !optional.includes(name)).join(' ')
}

async function wantedWorkspace(
  grant: Grant,
  id: string | undefined,
  ports: GrantChangePorts,
): Promise<Workspace | 'unknown' | undefined> {
  if (id === undefined || id === grant.workspace?.id) return grant.workspace
  return (await workspacesOf(grant, ports)).find((workspace) => workspace.id === id) ?? 'unknown'
}
