import type { Client } from '../core/clients/client.ts'
import type { PendingDevice } from '../core/authorization/device-authorization-store.ts'
import type {
  AccessTokenRecord,
  Grant,
  GrantEndReason,
  GrantOwner,
  GrantRecord,
  RefreshTokenRecord,
  StoredProviderSession,
} from '../core/session/grant.ts'
import type { TokenUse } from './rules.ts'

/** Columns of a client, in the order of {@link clientValues}. */
export const clientColumns: string = `id, kind, name, uri, redirect_uris, grant_types, auth_method, secret_hash, created_at,
  expires_at, details`

/** Minimum interval between two writes that a client's login page was shown. */
export const openedEverySeconds = 60

/** A row with {@link clientColumns}. */
export interface ClientRow {
  id: string
  kind: string
  name: string | null
  uri: string | null
  redirect_uris: string
  grant_types: string
  auth_method: string
  secret_hash: string | null
  created_at: number
  expires_at: number | null
  details: string
}

/** Members that no query filters by, in one JSON column. Undefined and false ones are omitted. */
type ClientDetails = Partial<
  Pick<Client, 'scope' | 'keys' | 'managementHash' | 'document'> & { introspects: true }
>

/** Returns the values of {@link clientColumns} for `client`. */
export function clientValues(client: Client): (string | number | null)[] {
  const { scope, keys, managementHash, document, introspects } = client
  return [
    client.id,
    client.kind,
    client.name ?? null,
    client.uri ?? null,
    JSON.stringify(client.redirectUris),
    JSON.stringify(client.grantTypes),
    client.authMethod,
    client.secretHash ?? null,
    client.createdAt,
    client.expiresAt ?? null,
    JSON.stringify({ scope, keys, managementHash, document, introspects: introspects || undefined }),
  ]
}

/** Reads the client in a row. */
export function clientOf(row: ClientRow): Client {
  const { scope, keys, managementHash, document, introspects } = JSON.parse(row.details) as ClientDetails
  return {
    id: row.id,
    kind: row.kind as Client['kind'],
    name: row.name ?? undefined,
    uri: row.uri ?? undefined,
    redirectUris: JSON.parse(row.redirect_uris) as string[],
    grantTypes: JSON.parse(row.grant_types) as Client['grantTypes'],
    scope,
    authMethod: row.auth_method as Client['authMethod'],
    secretHash: row.secret_hash ?? undefined,
    keys,
    managementHash,
    // Undefined members were not written.
    document: document && { ...document, etag: document.etag },
    introspects: introspects === true,
    createdAt: row.created_at,
    expiresAt: row.expires_at ?? undefined,
  }
}

/** Selects an operation's statement for the owner of grants, and its first parameter. */
export function ownerOf(of: GrantOwner): { kind: 'user' | 'client'; id: string } {
  return 'userId' in of ? { kind: 'user', id: of.userId } : { kind: 'client', id: of.clientId }
}

/** Columns of a grant, for `g`, that {@link grantOf} reads. */
export const grantColumns: string = `g.id, g.user_id, g.user_sub, g.user_email, g.user_name, g.client_id, g.resource,
  g.scope, g.created_at, g.expires_at`

/** A row with {@link grantColumns}. */
export interface GrantRow {
  id: string
  user_id: string
  user_sub: string
  user_email: string | null
  user_name: string | null
  client_id: string
  resource: string
  scope: string
  created_at: number
  expires_at: number
}

/** Reads the grant in a row. */
export function grantOf(row: GrantRow): Grant {
  return {
    id: row.id,
    user: {
      id: row.user_id,
      sub: row.user_sub,
      email: row.user_email ?? undefined,
      name: row.user_name ?? undefined,
    },
    clientId: row.client_id,
    resource: row.resource,
    scope: row.scope,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  }
}

/** Columns of a grant, for `g`, that {@link grantRecordOf} reads. */
export const grantRecordColumns: string = `${grantColumns}, g.last_used_at, g.last_address, g.last_tool,
  g.two_addresses_at, g.two_addresses_first, g.two_addresses_other, g.replay_count, g.replayed_at, g.replay_first_address,
  g.replay_address, g.ended_at, g.end_reason`

/** A row with {@link grantRecordColumns}. */
export interface GrantRecordRow extends GrantRow {
  last_used_at: number | null
  last_address: string | null
  last_tool: string | null
  two_addresses_at: number | null
  two_addresses_first: string | null
  two_addresses_other: string | null
  replay_count: number | null
  replayed_at: number | null
  replay_first_address: string | null
  replay_address: string | null
  ended_at: number | null
  end_reason: string | null
}

/** Reads the grant in a row, for display. */
export function grantRecordOf(row: GrantRecordRow): GrantRecord {
  const { last_used_at: usedAt, last_address: address, last_tool: tool } = row
  const { ended_at: at, end_reason: reason } = row
  return {
    grant: grantOf(row),
    lastUse: usedAt === null ? undefined : { usedAt, address: address ?? undefined, tool: tool ?? undefined },
    twoAddresses: twoAddressesOf(row),
    replays: replaysOf(row),
    end: at === null ? undefined : { at, reason: reason as GrantEndReason },
  }
}

function twoAddressesOf(row: GrantRecordRow): GrantRecord['twoAddresses'] {
  const { two_addresses_at: at, two_addresses_first: first, two_addresses_other: other } = row
  return at === null || first === null || other === null ? undefined : { addresses: [first, other], at }
}

function replaysOf(row: GrantRecordRow): GrantRecord['replays'] {
  const { replay_count: count, replayed_at: lastAt, replay_first_address: first, replay_address: other } = row
  if (count === null || lastAt === null) return undefined
  return { count, lastAt, addresses: first === null || other === null ? undefined : [first, other] }
}

/** A provider session in the row of its owner. */
export interface JoinedSessionRow {
  session_sealed: string
  session_issued_at: number
  session_expires_at: number
  session_version: number
}

/** Reads the provider session in such a row. */
export function joinedSessionOf(row: JoinedSessionRow, grantId: string): StoredProviderSession {
  return {
    grantId,
    sealed: row.session_sealed,
    issuedAt: row.session_issued_at,
    expiresAt: row.session_expires_at,
    version: row.session_version,
  }
}

/** A grant with one of its access tokens and its provider session. */
export interface AccessTokenRow extends GrantRow, JoinedSessionRow {
  token_scope: string
  token_expires_at: number
  /** A boolean of Postgres; of SQLite, 0 or 1. */
  awaits_first_use: boolean | number
}

/** Reads the access token in a row. */
export function accessTokenOf(row: AccessTokenRow): AccessTokenRecord {
  return {
    grant: grantOf(row),
    scope: row.token_scope,
    expiresAt: row.token_expires_at,
    awaitsFirstUse: Boolean(row.awaits_first_use),
    providerSession: joinedSessionOf(row, row.id),
  }
}

/** A grant with the use of one of its refresh tokens. */
export interface RefreshTokenRow extends GrantRow {
  end_reason: GrantEndReason | null
  used_at: number | null
}

/** Reads the refresh token in a row. */
export function refreshTokenOf(row: RefreshTokenRow): RefreshTokenRecord {
  return { grant: grantOf(row), endReason: row.end_reason ?? undefined, usedAt: row.used_at ?? undefined }
}

/** The use of a refresh token, as stored with the access token that it brought. */
export interface TokenUseRow {
  address: string | null
  first_used_at: number | null
  successor_used_at: number | null
}

/** Reads the use of a refresh token, at `usedAt`, in a row. */
export function tokenUseOf(row: TokenUseRow, usedAt: number): TokenUse {
  return {
    usedAt,
    address: row.address ?? undefined,
    accessUsedAt: row.first_used_at ?? undefined,
    successorUsedAt: row.successor_used_at ?? undefined,
  }
}

/** A provider session in columns of its own. */
export interface ProviderSessionRow {
  grant_id: string
  sealed: string
  issued_at: number
  expires_at: number
  version: number
}

/** Reads the provider session in a row. */
export function providerSessionOf(row: ProviderSessionRow): StoredProviderSession {
  return {
    grantId: row.grant_id,
    sealed: row.sealed,
    issuedAt: row.issued_at,
    expiresAt: row.expires_at,
    version: row.version,
  }
}

/** Columns of a device that {@link deviceOf} reads. */
export const deviceColumns: string = `device_hash, user_code_hash, client_id, scope, resource, address, created_at, expires_at`

/** A row with {@link deviceColumns}. */
export interface DeviceRow {
  device_hash: string
  user_code_hash: string
  client_id: string
  scope: string
  resource: string
  address: string | null
  created_at: number
  expires_at: number
}

/** Returns the values of {@link deviceColumns} for `device`. */
export function deviceValues(device: PendingDevice): (string | number | null)[] {
  return [
    device.deviceHash,
    device.userCodeHash,
    device.clientId,
    device.scope,
    device.resource,
    device.address ?? null,
    device.createdAt,
    device.expiresAt,
  ]
}

/** Reads the device in a row. */
export function deviceOf(row: DeviceRow): PendingDevice {
  return {
    deviceHash: row.device_hash,
    userCodeHash: row.user_code_hash,
    clientId: row.client_id,
    scope: row.scope,
    resource: row.resource,
    address: row.address ?? undefined,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  }
}
