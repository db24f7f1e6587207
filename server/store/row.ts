import type { Client } from '../core/client.ts'
import type { AccessTokenRecord, Grant, StoredProviderSession } from '../core/grant.ts'

/** A client as both databases keep it, its id aside. */
export interface ClientRow {
  name: string | null
  uri: string | null
  redirect_uris: string
  grant_types: string
  auth_method: string
  secret_hash: string | null
  created_at: number
}

/** The client in a row. */
export function clientOf(id: string, row: ClientRow): Client {
  return {
    id,
    kind: 'registered',
    name: row.name ?? undefined,
    uri: row.uri ?? undefined,
    redirectUris: JSON.parse(row.redirect_uris) as string[],
    grantTypes: JSON.parse(row.grant_types) as Client['grantTypes'],
    authMethod: row.auth_method as Client['authMethod'],
    secretHash: row.secret_hash ?? undefined,
    createdAt: row.created_at,
  }
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

/** The grant in a row. */
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

/** A grant with one of its access tokens and its provider session. */
export interface AccessTokenRow extends GrantRow {
  token_scope: string
  token_expires_at: number
  session_sealed: string
  session_issued_at: number
  session_expires_at: number
  session_version: number
}

/** The access token in a row. */
export function accessTokenOf(row: AccessTokenRow): AccessTokenRecord {
  return {
    grant: grantOf(row),
    scope: row.token_scope,
    expiresAt: row.token_expires_at,
    providerSession: {
      grantId: row.id,
      sealed: row.session_sealed,
      issuedAt: row.session_issued_at,
      expiresAt: row.session_expires_at,
      version: row.session_version,
    },
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

/** The provider session in a row. */
export function providerSessionOf(row: ProviderSessionRow): StoredProviderSession {
  return {
    grantId: row.grant_id,
    sealed: row.sealed,
    issuedAt: row.issued_at,
    expiresAt: row.expires_at,
    version: row.version,
  }
}
