import type { AuthenticateChallenge } from '@drawbridge/shared/oauth/www-authenticate.ts'

/** What goes into the `Authorization` header of one request. */
export interface Authorization {
  header: string
}

/** A request that the server would not serve: 401, or 403 with `insufficient_scope`. */
export interface Refusal {
  status: 401 | 403
  /** What the request carried; undefined when it carried nothing. */
  used: Authorization | undefined
  challenges: readonly AuthenticateChallenge[]
}

/** What to do about a {@link Refusal}. */
export type RefusalOutcome =
  /** Send the request again, once, with what the token source answers now. */
  | { kind: 'retry' }
  /** A person has to sign in, or to allow more. Asking them is the caller's decision. */
  | { kind: 'sign_in_needed' }
