import type { AttemptStepStore } from './attempts/attempt.ts'
import type { AttemptStore } from './limits/attempt-limit.ts'
import type { ClientStore } from './clients/client.ts'
import type { DeviceStore } from './authorization/device-authorization-store.ts'
import type { GrantStore } from './session/grant.ts'
import type { SignOutStore } from './session/sign-out-worker.ts'
import type { SealedSessionStore } from './session/reseal.ts'
import type { SecondFactorStore, SocialSignInStore } from './sign-in/pending-sign-in.ts'

/** Every operation is atomic, durable when it resolves, and rejects with {@link StoreUnavailableError} if it may succeed later. */
export interface Store
  extends
    AttemptStepStore,
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
  /** Rejects if the store cannot write now, which it finds out by writing. */
  proveWritable(): Promise<void>
  /**
   * Deletes at most `limit` rows that expired before `now`. Returns how many rows it deleted or moved, not counting those that go
   * with another: a used refresh token goes with its access token. Also deletes refresh tokens of ended grants. Makes provider
   * sessions of expired grants, codes and second factors due for sign-out. A code is deleted a day after it expires, but its unused
   * session is released at once.
   */
  collectExpired(now: number, limit: number): Promise<number>
  close(): Promise<void>
}
