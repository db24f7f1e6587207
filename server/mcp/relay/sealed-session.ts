import type { Sealer } from '../../core/seal.ts'
import type { Caller } from '../../core/tokens/caller.ts'

/**
 * Ids of the upstream's sessions, as clients get them: sealed, and of use to the same user and client alone. One that began without
 * sign-in is of use to whoever holds its id, so that its client can go on once somebody has signed in.
 */
export class SealedSessions {
  readonly #sealer: Sealer

  constructor(sealer: Sealer) {
    this.#sealer = sealer
  }

  seal(id: string, caller: Caller): string {
    return this.#sealer.seal(id, contextOf(caller))
  }

  /** Undefined for what was not sealed for this caller. */
  open(sealed: string, caller: Caller): string | undefined {
    return this.#sealer.open(sealed, contextOf(caller)) ?? this.#sealer.open(sealed, contextOf({}))
  }
}

function contextOf({ user, clientId }: Partial<Pick<Caller, 'user' | 'clientId'>>): string {
  return JSON.stringify(['session of the upstream', user?.id, clientId])
}
