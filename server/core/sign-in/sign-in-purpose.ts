import type { AuthorizationRequest } from '../authorization/authorization-request.ts'
import type { PendingDevice } from '../authorization/device-authorization-store.ts'

/**
 * What a person signs in for: to let a client in that sent the browser here, to let a device in whose code they typed
 * (RFC 8628; `userCode` in the form that people are shown), or to look after their connections.
 */
export type SignInPurpose =
  | { kind: 'authorization'; request: AuthorizationRequest }
  | { kind: 'device'; device: PendingDevice; userCode: string }
  | { kind: 'account' }

const kinds: ReadonlySet<unknown> = new Set<SignInPurpose['kind']>(['authorization', 'device', 'account'])

/**
 * A purpose that was sealed, as it was; undefined for what another version of this server sealed in a shape of its own.
 * Not checked: what is in it, since only this server seals.
 */
export function readPurpose(value: unknown): SignInPurpose | undefined {
  const kind = (value as { kind?: unknown } | null | undefined)?.kind
  return kinds.has(kind) ? (value as SignInPurpose) : undefined
}
