import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type { AttemptSource } from '../access/attempt-limit.ts'
import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'

/** How a client proves itself at the token endpoint (RFC 7591 section 2). */
export type ClientAuthMethod = 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt'

/** Client authentication methods that the token endpoint accepts, in the order metadata lists them. */
export const clientAuthMethods: readonly ClientAuthMethod[] = [
  'none',
  'client_secret_basic',
  'client_secret_post',
  'private_key_jwt',
]

/** The grant type of the device authorization grant (RFC 8628 section 3.4). */
export const deviceGrantType = 'urn:ietf:params:oauth:grant-type:device_code'

/** Grant types of the token endpoint that a client may register. */
export type GrantType = 'authorization_code' | 'refresh_token' | typeof deviceGrantType

/** Every {@link GrantType}, in the order metadata lists them. */
export const grantTypes: readonly GrantType[] = ['authorization_code', 'refresh_token', deviceGrantType]

/** The public keys of a client that signs its assertions, or where they are to be fetched. */
export type ClientKeys = { kind: 'jwks'; keys: readonly JsonObject[] } | { kind: 'jwks_uri'; uri: string }

/**
 * Where a client comes from: `registered` itself (RFC 7591), `configured` by the operator, or a `metadata_document` that
 * its id names.
 */
export type ClientKind = 'registered' | 'configured' | 'metadata_document'

/** When a client id metadata document was fetched, until when it may be used unasked, and how to ask whether it changed. */
export interface DocumentFreshness {
  fetchedAt: number
  freshUntil: number
  etag: string | undefined
}

/**
 * An OAuth client. `name` and `uri` are self-declared and prove nothing, but for a `metadata_document`, whose id is a URL of
 * its host. Times are epoch seconds.
 */
export interface Client {
  id: string
  kind: ClientKind
  name: string | undefined
  uri: string | undefined
  redirectUris: readonly string[]
  grantTypes: readonly GrantType[]
  /** What the client registered as `scope`: echoed to it, and no limit to what it may ask for. */
  scope: string | undefined
  authMethod: ClientAuthMethod
  secretHash: string | undefined
  keys: ClientKeys | undefined
  /** SHA-256 of the registration access token (RFC 7592); only a registered client has one. */
  managementHash: string | undefined
  document: DocumentFreshness | undefined
  /** May ask what a token of another client is worth (RFC 7662): a resource server that the operator configured. */
  introspects: boolean
  createdAt: number
  /** When an unused client is deleted; undefined: never. */
  expiresAt: number | undefined
}

/**
 * What a client is looked up for: to let a person sign in with it, or because it comes with what it got when that happened. A
 * client that is `connected` is known from its stored document for as long as that document's host cannot be reached.
 */
export type ClientPurpose = 'sign_in' | 'connected'

/** Finds clients of every kind. */
export interface ClientFinder {
  /**
   * The client with that id: configured, registered and not expired, or described by the document that the id names.
   * Undefined if there is none. Rejects with {@link ClientUnavailableError} when it cannot be looked up right now.
   * `purpose` defaults to `sign_in`. Fetches are counted for `source`.
   */
  findClient(id: string, purpose?: ClientPurpose, source?: AttemptSource): Promise<Client | undefined>
}

/** `finder` for requests of one source. */
export function finderFor(source: AttemptSource, finder: ClientFinder): ClientFinder {
  return { findClient: (id, purpose) => finder.findClient(id, purpose, source) }
}

/**
 * The client cannot be looked up, because its document or keys are unavailable. `faulty`: its host answers with
 * something unusable, and only its makers can correct that; otherwise it may pass. `permanent`: the document was
 * fetched, or its host says that it does not exist: it describes no client. `limited`: the requesting address
 * exceeded its limit. No new attempt is made before `retryAfterSeconds`, where that is known. The message is for
 * people and ends with the next step.
 */
export class ClientUnavailableError extends Error {
  readonly permanent: boolean
  readonly faulty: boolean
  readonly limited: boolean
  readonly retryAfterSeconds: number | undefined
  /** What whoever runs this server can do, where that is the person who reads it. */
  readonly operatorStep: string | undefined

  constructor(
    message: string,
    options: {
      permanent?: boolean
      faulty?: boolean
      limited?: boolean
      retryAfterSeconds?: number | undefined
      operatorStep?: string | undefined
    } = {},
  ) {
    super(message)
    this.name = 'ClientUnavailableError'
    this.permanent = options.permanent ?? false
    this.faulty = options.faulty ?? this.permanent
    this.limited = options.limited ?? false
    this.retryAfterSeconds = options.retryAfterSeconds
    this.operatorStep = options.operatorStep
  }
}

/** The stored clients. Configured clients are not in here. */
export interface ClientStore {
  /**
   * `network` is the one that a registration comes from, as `addressNetwork` names it; empty when it is not known. Only
   * {@link ClientStore.trimClients} reads it.
   */
  addClient(client: Client, network?: string): Promise<void>
  /** Also finds an expired client until it is collected. */
  findClient(id: string): Promise<Client | undefined>
  /**
   * Stores all of `client` again, when there is one of that id; true when there was. The end of one that was kept moves
   * no earlier: somebody may have signed in since the caller read it.
   */
  replaceClient(client: Client): Promise<boolean>
  /** Adds it, or stores all of it again, as {@link ClientStore.replaceClient}. */
  putClient(client: Client): Promise<void>
  /** Deletes the client; its grants are for {@link GrantStore.endGrants}. True for the call that deleted it. */
  removeClient(id: string): Promise<boolean>
  /** Moves the end of an expiring client to `until`, if that is later: a user signed in with it. */
  keepClient(id: string, until: number): Promise<void>
  /** By id, those after `after`. */
  listClients(page: { after: string; limit: number }): Promise<Client[]>
  /** Remembers to the minute that the login page of a registration was shown. Does nothing for one that is in use. */
  noteClientOpened(id: string, now: number): Promise<void>
  /**
   * Deletes unused registrations beyond `most`, at most `limit` of them, and returns how many. They go from the
   * networks that have the most, the oldest first. Registrations that {@link ClientStore.keepClient} kept, or whose
   * login page was shown at `openedBefore` or later, stay.
   */
  trimClients(most: number, limit: number, openedBefore: number): Promise<number>
}

/** Throws `unauthorized_client` for a client that registered, and not for `grantType` (RFC 6749 section 5.2). */
export function requireGrantType(client: Pick<Client, 'grantTypes'>, grantType: GrantType): void {
  if (client.grantTypes.includes(grantType)) return
  throw new OAuthError(
    'unauthorized_client',
    `This client is registered without the grant type ${grantType}. Register it again with that one.`,
  )
}
