import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { AttemptSource } from '../limits/attempt-limit.ts'
import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'

/** How a client may authenticate at the token endpoint (RFC 7591 section 2), in the order metadata lists them. */
export const clientAuthMethods = [
  'none',
  'client_secret_basic',
  'client_secret_post',
  'private_key_jwt',
] as const

export type ClientAuthMethod = (typeof clientAuthMethods)[number]

/** RFC 8628 section 3.4. */
export const deviceGrantType = 'urn:ietf:params:oauth:grant-type:device_code'

/** RFC 6749 section 4.4: a service acts for itself. */
export const serviceGrantType = 'client_credentials'

/** Grant types of the token endpoint. */
export type GrantType =
  | 'authorization_code'
  | 'refresh_token'
  | typeof deviceGrantType
  | typeof serviceGrantType

/** Every {@link GrantType} that a client may register, in the order metadata lists them. */
export const grantTypes: readonly GrantType[] = ['authorization_code', 'refresh_token', deviceGrantType]

/** The public keys of a client that signs its assertions, or the URL to fetch them from. */
export type ClientKeys = { kind: 'jwks'; keys: readonly JsonObject[] } | { kind: 'jwks_uri'; uri: string }

/** When a client id metadata document was fetched, and until when it is fresh. */
export interface DocumentFreshness {
  fetchedAt: number
  freshUntil: number
}

/** `name` and `uri` are self-declared; only the id of a `metadata_document` proves anything. Times are epoch seconds. */
export interface Client {
  id: string
  /** It registered itself (RFC 7591), the operator configured it or made it as a service, or the document at its id describes it. */
  kind: 'registered' | 'configured' | 'service' | 'metadata_document'
  name: string | undefined
  uri: string | undefined
  redirectUris: readonly string[]
  grantTypes: readonly GrantType[]
  /** The `scope` the client registered: echoed to it, but no limit on what it may request; a service has no other. */
  scope: string | undefined
  authMethod: ClientAuthMethod
  secretHash: string | undefined
  keys: ClientKeys | undefined
  /** SHA-256 of the registration access token (RFC 7592); only registered clients have one. */
  managementHash: string | undefined
  document: DocumentFreshness | undefined
  /** May introspect tokens of other clients (RFC 7662): a resource server that the operator configured. */
  introspects: boolean
  /** Patterns of the tools that a service may call; undefined: all. */
  tools?: readonly string[] | undefined
  createdAt: number
  /** When the unused client is deleted; undefined: never. */
  expiresAt: number | undefined
}

/** A `connected` client is found by its stored document while that document's host cannot be reached. */
export type ClientPurpose = 'sign_in' | 'connected'

export interface ClientFinder {
  /** Undefined for an unknown or expired client. Rejects with {@link ClientUnavailableError}. Counts fetches for `source`. */
  findClient(id: string, purpose?: ClientPurpose, source?: AttemptSource): Promise<Client | undefined>
}

/** Counts the fetches of `finder` for `source`. */
export function finderFor(source: AttemptSource, finder: ClientFinder): ClientFinder {
  return { findClient: (id, purpose) => finder.findClient(id, purpose, source) }
}

/**
 * Why a client is unavailable: its document describes no client or is gone; only the operators of its host can mend it; the
 * requesting address exceeded its limit; or it may pass.
 */
export type ClientProblem = 'no_client' | 'faulty' | 'limited' | 'passing'

/** Its document or keys are unavailable. The message is shown to users and ends with the next step. */
export class ClientUnavailableError extends Error {
  override readonly name = 'ClientUnavailableError'
  readonly problem: ClientProblem
  /** No new attempt is made before. */
  readonly retryAfterSeconds: number | undefined
  /** The next step if the reader is the operator; the message then has none. */
  readonly operatorStep: string | undefined

  constructor(
    message: string,
    problem: ClientProblem = 'passing',
    options: { retryAfterSeconds?: number | undefined; operatorStep?: string | undefined } = {},
  ) {
    super(message)
    this.problem = problem
    this.retryAfterSeconds = options.retryAfterSeconds
    this.operatorStep = options.operatorStep
  }
}

export interface ClientStore {
  /** `network` is what `addressNetwork` returns, for {@link ClientStore.trimClients}. */
  addClient(client: Client, network?: string): Promise<void>
  /** Also finds an expired client until it is purged. */
  findClient(id: string): Promise<Client | undefined>
  /** Returns whether it exists. Never shortens the life of a kept client: a user may have signed in since it was read. */
  replaceClient(client: Client): Promise<boolean>
  /** Adds the client, or replaces it like {@link ClientStore.replaceClient}. */
  putClient(client: Client): Promise<void>
  /** Deletes the client; {@link GrantStore.endGrants} ends its grants. Returns true for the call that deleted it. */
  removeClient(id: string): Promise<boolean>
  /** Extends the life of an expiring client to `until`, if that is later: a user signed in with it. */
  keepClient(id: string, until: number): Promise<void>
  hasService(): Promise<boolean>
  listClients(page: { after: string; limit: number }): Promise<Client[]>
  /**
   * Records, to the minute, that the login page of a registration was shown: it is kept for 30 days from then, and 90 days after it was
   * made at most. Does nothing for a client in use.
   */
  noteClientOpened(id: string, now: number): Promise<void>
  /**
   * Deletes unused registrations beyond `max`, at most `limit` of them, from the networks that have the most, oldest first.
   * Keeps those whose login page was shown at `openedBefore` or later. Returns how many it deleted.
   */
  trimClients(max: number, limit: number, openedBefore: number): Promise<number>
}

/** Throws `unauthorized_client` for a client that is not registered for `grantType` (RFC 6749 section 5.2). */
export function requireGrantType(client: Pick<Client, 'grantTypes'>, grantType: GrantType): void {
  if (client.grantTypes.includes(grantType)) return
  throw new OAuthError(
    'unauthorized_client',
    `This client is not registered for the grant type ${grantType}. Register it again with this grant type.`,
  )
}
