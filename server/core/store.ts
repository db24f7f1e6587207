import type { ClientStore } from './client.ts'
import type { GrantStore } from './grant.ts'
import type { SocialSignInStore } from './social-sign-in.ts'

/** Everything Drawbridge remembers, as intents. A driver is one implementation of this, proven by the contract suite. */
export interface Store extends ClientStore, GrantStore, SocialSignInStore {
  /** Deletes at most `limit` rows that expired before `now`; answers how many it deleted. */
  collectExpired(now: number, limit: number): Promise<number>
  close(): Promise<void>
}
