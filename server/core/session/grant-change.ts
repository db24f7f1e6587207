import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { ScopeCatalogue } from '../tokens/scope.ts'
import type { ListWorkspaces } from '../workspaces/workspace-list.ts'
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

/**
 * Result of a change. `gone`: the grant is unknown, over, or another user's, which look the same. `unchanged`: it is as wanted already.
 * `scope`: it lacks a wanted scope, which only a sign-in gives. `workspace`: the wanted one is not the user's. `unavailable`: the
 * workspaces cannot be listed right now.
 */
export type GrantChange =
  | { kind: 'gone'; grant?: undefined }
  | { kind: 'changed' | 'unchanged' | 'scope' | 'workspace' | 'unavailable'; grant: Grant }

/** Finds a live grant of a user. */
export async function findOwnGrant(
  grantId: string,
  userId: string,
  { store, runtime }: Pick<GrantChangePorts, 'store' | 'runtime'>,
): Promise<Grant | undefined> {
  const record = await store.findGrant(grantId)
  return record?.grant.user.id === userId && isLive(record, runtime.now()) ? record.grant : undefined
}

/** Lists the workspaces that a grant can have. Undefined while that is not possible. */
export async function workspacesOf(
  grant: Grant,
  { store, keeper, workspaces }: GrantChangePorts,
): Promise<readonly Workspace[] | undefined> {
  if (!workspaces) return []
  const stored = await store.findProviderSession(grant.id)
  const kept = stored && (await keeper.keep(stored))
  if (kept?.kind !== 'live') return undefined
  const { user, clientId, scope } = grant
  const providerToken = (): string => keeper.open(kept.session).accessToken
  return workspaces({ user, clientId, scope, providerToken })
}

/**
 * Narrows the scope of a user's grant or changes its workspace, for every instance and every call that begins from now on. Tokens
 * stay.
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
    if (scope === undefined) return { kind: 'scope', grant }
    const workspace = await wantedWorkspace(grant, wanted.workspaceId, ports)
    if (typeof workspace === 'string') return { kind: workspace, grant }
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
): Promise<Workspace | undefined | 'workspace' | 'unavailable'> {
  if (id === undefined || id === grant.workspace?.id) return grant.workspace
  const listed = await workspacesOf(grant, ports)
  return listed ? (listed.find((workspace) => workspace.id === id) ?? 'workspace') : 'unavailable'
}
