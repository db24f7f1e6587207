import type { AttemptStore } from './access/attempt-limit.ts'
import type { ClientStore } from './clients/client.ts'
import type { DeviceStore } from './authorization/device-authorization-store.ts'
import type { GrantStore } from './session/grant.ts'
import type { SignOutStore } from './session/sign-out-worker.ts'
import type { SealedSessionStore } from './session/reseal.ts'
import type { SecondFactorStore, SocialSignInStore } from './sign-in/pending-sign-in.ts'

/**
 * Everything Drawbridge remembers, as intents. A driver is one implementation of this, proven by the contract suite.
 * Every operation is atomic, durable when it resolves, and rejects with {@link StoreUnavailableError} when it may
 * succeed later.
 */
export interface Store
  extends
    AttemptStore,
    ClientStore,
    DeviceStore,
    GrantStore,
    SealedSessionStore,
    SecondFactorStore,
    SignOutStore,
    SocialSignInStore {
  /** Connects and migrates the schema. Every operation does so on demand; calling this reports problems early. */
  prepare(): Promise<void>
  /**
   * Deletes at most `limit` rows that expired before `now`, and answers how many rows it deleted or moved, those not counted
   * that go with another one: a used refresh token with the access token that it brought. Refresh tokens of grants that have
   * ended are deleted as well. Provider sessions of
   * expired grants, codes and second factors are due for sign-out from then on. A code is deleted a day after its end,
   * but its unused session is given up as soon as it has expired.
   */
  collectExpired(now: number, limit: number): Promise<number>
  close(): Promise<void>
}
