import type { Sealer } from '../../core/seal.ts'
import type { Caller } from '../../core/tokens/caller.ts'

/** Ids of the upstream's sessions, as clients get them: sealed, and of use to the same user and client alone. */
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
    return this.#sealer.open(sealed, contextOf(caller))
  }
}

function contextOf({ user, clientId }: Caller): string {
  return JSON.stringify(['session of the upstream', user.id, clientId])
}
