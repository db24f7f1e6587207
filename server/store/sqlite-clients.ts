import type { DatabaseSync } from 'node:sqlite'
import type { Client, ClientStore } from '../core/client.ts'
import type { PendingSocialSignIn, SocialSignInStore } from '../core/social-sign-in.ts'

/** Clients and pending social sign-ins of the SQLite store: one statement each, but for the cap on open tabs. */
export function createSqliteClients(database: DatabaseSync): ClientStore & SocialSignInStore {
  const insertClient = database.prepare(
    `INSERT INTO client (id, name, uri, redirect_uris, grant_types, auth_method, secret_hash, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const selectClient = database.prepare('SELECT * FROM client WHERE id = ?')
  const insertSocial = database.prepare(
    'INSERT INTO social_sign_in (id, binding_hash, sealed, expires_at) VALUES (?, ?, ?, ?)',
  )
  const trimSocial = database.prepare(
    `DELETE FROM social_sign_in WHERE binding_hash = ? AND rowid NOT IN
       (SELECT rowid FROM social_sign_in WHERE binding_hash = ? ORDER BY rowid DESC LIMIT ?)`,
  )
  const selectSocial = database.prepare(
    'SELECT * FROM social_sign_in WHERE binding_hash = ? AND expires_at > ? ORDER BY rowid DESC',
  )
  const deleteSocial = database.prepare('DELETE FROM social_sign_in WHERE id = ?')

  return {
    async addClient(client) {
      insertClient.run(
        client.id,
        client.name ?? null,
        client.uri ?? null,
        JSON.stringify(client.redirectUris),
        JSON.stringify(client.grantTypes),
        client.authMethod,
        client.secretHash ?? null,
        client.createdAt,
      )
    },
    async findClient(id) {
      const row = selectClient.get(id)
      return row && clientOf(row as unknown as ClientRow)
    },
    async addSocialSignIn({ id, bindingHash, sealed, expiresAt }, most) {
      insertSocial.run(id, bindingHash, sealed, expiresAt)
      trimSocial.run(bindingHash, bindingHash, most)
    },
    listSocialSignIns: async (bindingHash, now) =>
      selectSocial.all(bindingHash, now).map((row) => socialSignInOf(row as unknown as SocialRow)),
    removeSocialSignIn: async (id) => deleteSocial.run(id).changes === 1,
  }
}

interface ClientRow {
  id: string
  name: string | null
  uri: string | null
  redirect_uris: string
  grant_types: string
  auth_method: string
  secret_hash: string | null
  created_at: number
}

function clientOf(row: ClientRow): Client {
  return {
    id: row.id,
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

interface SocialRow {
  id: string
  binding_hash: string
  sealed: string
  expires_at: number
}

function socialSignInOf(row: SocialRow): PendingSocialSignIn {
  return { id: row.id, bindingHash: row.binding_hash, sealed: row.sealed, expiresAt: row.expires_at }
}
