import type { AccessAllowed, AccessPolicy, DenialReason } from '../access/access-rules.ts'
import type { CurrentUser, Grant, Workspace } from '../session/grant.ts'

export const credentialKinds = [
  'access_token',
  'personal_token',
  'service',
  'provider_token',
  'session_cookie',
] as const

export type CredentialKind = (typeof credentialKinds)[number]

export type Caller = SignedInCaller | AnonymousCaller

export interface SignedInCaller extends CallerRights {
  credential: CredentialKind
  user: CurrentUser
  clientId: string | undefined
  /** The grant of our token; undefined for the provider's own credentials. */
  grantId: string | undefined
  /** That of the grant, at this call. */
  workspace: Workspace | undefined
}

/** A caller without a credential, who may call only public tools. */
export interface AnonymousCaller extends CallerRights {
  credential: 'none'
  user: undefined
  clientId: undefined
  grantId: undefined
  workspace: undefined
  /** As {@link AccessPolicy.mayOffer}. Undefined where rules hide nothing from this caller. */
  mayOffer: AccessPolicy['mayOffer'] | undefined
}

interface CallerRights {
  /** Scopes of the credential, minus those the access rules deny this user. */
  scope: string
  /** The user's permissions under the access rules. */
  access: AccessAllowed
  /** When the credential itself expires, epoch seconds. */
  expiresAt: number
  /** For calls made as the user; never sent to the client. Throws {@link SignInNeededError} for an anonymous caller. */
  providerToken(): string
  /** For a response that stays open: false once the caller has no access, or is in another workspace. An unknown state counts as valid. Rejects with `StoreUnavailableError`. */
  isLive(): Promise<boolean>
}

/** An anonymous caller requested something that requires signing in. */
export class SignInNeededError extends Error {
  override name = 'SignInNeededError'

  constructor() {
    super('The caller is not signed in. A public tool can check context.user, which is then undefined.')
  }
}

/** A tool acts as a person at the web app, and its caller is a service. The message is for the client. */
export class ServiceCallerError extends Error {
  override name = 'ServiceCallerError'

  constructor() {
    super(
      'This tool acts as a person, and a service is none: it has no token of the web app. Connect a person to use it.',
    )
  }
}

/** Narrows to an authenticated caller. Throws {@link SignInNeededError} for an anonymous one. */
export function signedIn(caller: Caller): SignedInCaller {
  if (!caller.user) throw new SignInNeededError()
  return caller
}

/** Creates the caller of a request without a credential, limited to the tools of `access`. */
export function anonymousCaller(
  access: AccessAllowed,
  mayOffer?: AnonymousCaller['mayOffer'],
): AnonymousCaller {
  return {
    credential: 'none',
    user: undefined,
    clientId: undefined,
    grantId: undefined,
    workspace: undefined,
    scope: '',
    access,
    mayOffer,
    expiresAt: Infinity,
    providerToken() {
      throw new SignInNeededError()
    },
    isLive: async () => true,
  }
}

/** The caller of a request, or why there is none. `description` is for the client, and generic so as not to be an oracle. */
export type CallerResult =
  | { kind: 'caller'; caller: SignedInCaller }
  | { kind: 'missing' }
  | { kind: 'invalid'; description: string }
  /** The credential is valid, but the access rules refuse this user. `rule` is the number of the deciding rule. */
  | { kind: 'denied'; sub: string; rule: number | undefined; reason: DenialReason }
  /** The user has left the workspace of the grant, which stays: they can choose another one. */
  | { kind: 'workspace_lost'; grant: Grant }
  | { kind: 'unavailable'; retryAfterSeconds: number }
