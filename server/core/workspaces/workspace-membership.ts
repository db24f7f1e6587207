import { within } from '@drawbridge/shared/async.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { BoundedMap } from '../bounded-map.ts'
import type { Grant, StoredProviderSession } from '../session/grant.ts'
import type { SessionKeeper } from '../session/session-keeper.ts'
import type { ListWorkspaces } from './workspace-list.ts'

export interface WorkspaceMembershipPorts {
  /** Undefined: the app has no workspaces. */
  list: ListWorkspaces | undefined
  keeper: Pick<SessionKeeper, 'open'>
  runtime: Pick<Runtime, 'now'>
  /** How long an answer is trusted; undefined: until the provider's session is refreshed. */
  checkSeconds: number | undefined
}

/** What the app said about a grant's workspace, for one version of the provider's session. Times are epoch seconds. */
interface Known {
  version: number
  until: number
  isMember: boolean
  reading?: Promise<boolean> | undefined
}

const maxKnown = 10_000
/** The app is not asked about a grant more often than this while it does not answer. */
const retrySeconds = 30
/** Calls of a grant do not wait longer for an app that hangs; its answer counts when it comes. */
const maxWaitMs = 2000

/**
 * Tells whether users are still in the workspaces of their grants: the app is asked after each refresh of the provider's session
 * and every `checkSeconds`. While it does not answer, the last answer stays, or the user counts as a member. One grant says
 * nothing about another: a user whose list fails must not keep others from being checked.
 */
export class WorkspaceMembership {
  readonly #ports: WorkspaceMembershipPorts
  readonly #known = new BoundedMap<Known>(maxKnown)

  constructor(ports: WorkspaceMembershipPorts) {
    this.#ports = ports
  }

  async isMember(grant: Grant, session: StoredProviderSession): Promise<boolean> {
    const { list, runtime, checkSeconds = Infinity } = this.#ports
    const { workspace } = grant
    if (!workspace || !list) return true
    const key = `${grant.id} ${workspace.id}`
    // The list was read at the sign-in.
    const known = this.#known.get(key) ?? {
      version: 1,
      until: grant.createdAt + checkSeconds,
      isMember: true,
    }
    if (!known.reading && (known.version < session.version || known.until <= runtime.now())) {
      known.version = session.version
      known.until = runtime.now() + checkSeconds
      known.reading = this.#read(grant, session, known)
      this.#known.set(key, known)
    }
    return known.reading ? ((await within(maxWaitMs, known.reading)) ?? known.isMember) : known.isMember
  }

  /** Never rejects: the list does not. */
  async #read(
    { user, clientId, scope, workspace }: Grant,
    session: StoredProviderSession,
    known: Known,
  ): Promise<boolean> {
    const { list, keeper, runtime } = this.#ports
    const providerToken = (): string => keeper.open(session).accessToken
    const listed = await list?.({ user, clientId, scope, providerToken })
    if (listed) known.isMember = listed.some(({ id }) => id === workspace?.id)
    else known.until = Math.min(known.until, runtime.now() + retrySeconds)
    known.reading = undefined
    return known.isMember
  }
}
