import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { Grant, StoredProviderSession } from '../session/grant.ts'
import { Liveness } from '../session/session-liveness.ts'
import { ProviderError } from '../session/session-provider.ts'
import type { SessionKeeper } from '../session/session-keeper.ts'
import type { ListWorkspaces } from './workspace-list.ts'

export interface WorkspaceMembershipPorts {
  /** Undefined: the app has no workspaces. */
  list: ListWorkspaces | undefined
  keeper: Pick<SessionKeeper, 'open'>
  runtime: Pick<Runtime, 'now'>
  /** How long an answer is trusted; undefined: until the provider's session is refreshed. */
  checkSeconds: number | undefined
  report: (event: 'workspaces_failed', fields: { message: string }) => void
}

interface Subject {
  grant: Grant
  session: StoredProviderSession
}

/**
 * Tells whether users are still in the workspaces of their grants: the app is asked after each refresh of the provider's session
 * and every `checkSeconds`. While it cannot answer, the last answer stays, or the user counts as a member.
 */
export class WorkspaceMembership {
  readonly #ports: WorkspaceMembershipPorts
  readonly #liveness: Liveness<Subject>

  constructor(ports: WorkspaceMembershipPorts) {
    this.#ports = ports
    const { runtime, checkSeconds = Infinity, report } = ports
    this.#liveness = new Liveness({
      runtime,
      checkSeconds,
      provider: { probe: (of) => this.#probe(of) },
      reportFailure: ({ message }) => report('workspaces_failed', { message }),
    })
  }

  async isMember(grant: Grant, session: StoredProviderSession): Promise<boolean> {
    if (!grant.workspace || !this.#ports.list) return true
    const key = `${grant.id} ${session.version} ${grant.workspace.id}`
    // The list was read at the sign-in.
    const provenAt = session.version === 1 ? grant.createdAt : -Infinity
    const life = this.#liveness.lifeOf(key, provenAt) ?? (await this.#liveness.probe(key, { grant, session }))
    return life === 'live'
  }

  async #probe({ grant, session }: Subject): Promise<{ life: 'live' | 'ended' }> {
    const { list, keeper } = this.#ports
    const { user, clientId, scope, workspace } = grant
    const providerToken = (): string => keeper.open(session).accessToken
    try {
      const listed = await list?.({ user, clientId, scope, providerToken })
      return { life: listed?.some(({ id }) => id === workspace?.id) === false ? 'ended' : 'live' }
    } catch (error) {
      throw new ProviderError('transient', error instanceof Error ? error.message : String(error), {
        cause: error,
      })
    }
  }
}
