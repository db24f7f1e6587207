import type { AuthorizationCodeRecord, CodeRedemption, GrantStore } from '../../core/session/grant.ts'
import { grantOf, type GrantRow, owner, ownerOf } from './grants.ts'
import { camelCased, type SqlDatabase, type Values } from './sql.ts'

/** Columns of a code that {@link codeOf} reads. */
export const codeColumns: string = `${camelCased(
  'code_hash, user_id, user_sub, user_email, user_name, client_id, resource, scope, workspace_id, workspace_name, redirect_uri, code_challenge, replaces',
)}, grant_id AS id, grant_created_at AS "createdAt", grant_expires_at AS "expiresAt", expires_at AS "codeExpiresAt"`

export interface CodeRow extends GrantRow, Omit<AuthorizationCodeRecord, 'grant' | 'expiresAt'> {
  codeExpiresAt: number
}

function codeOf(row: CodeRow): AuthorizationCodeRecord {
  return {
    codeHash: row.codeHash,
    grant: grantOf(row),
    redirectUri: row.redirectUri,
    codeChallenge: row.codeChallenge,
    expiresAt: row.codeExpiresAt,
    replaces: row.replaces ?? undefined,
  }
}

/** Adds a code: the values come from {@link codeValues}. It holds its session until it is redeemed, or expires. */
export const insertCode = `INSERT INTO authorization_code (code_hash, grant_id, user_id, user_sub, user_email, user_name,
    client_id, resource, scope, workspace_id, workspace_name, grant_created_at, grant_expires_at, redirect_uri,
    code_challenge, expires_at, replaces, holds_session_until)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $16)`

/** Returns the values of {@link insertCode}. */
export function codeValues({ grant, ...code }: AuthorizationCodeRecord): Values {
  const { user } = grant
  return [
    code.codeHash,
    grant.id,
    user.id,
    user.sub,
    user.email,
    user.name,
    grant.clientId,
    grant.resource,
    grant.scope,
    grant.workspace?.id,
    grant.workspace?.name,
    grant.createdAt,
    grant.expiresAt,
    code.redirectUri,
    code.codeChallenge,
    code.expiresAt,
    code.replaces,
  ]
}

/** Creates the grant of the code in a row of `rows`, which is SQL like `family`. */
export function insertGrant(family: string, rows: string): string {
  return `INSERT INTO grants (id, user_id, user_sub, user_email, user_name, client_id, resource, scope, workspace_id,
      workspace_name, created_at, expires_at, family_hash)
    SELECT grant_id, user_id, user_sub, user_email, user_name, client_id, resource, scope, workspace_id,
      workspace_name, grant_created_at, grant_expires_at, ${family} FROM ${rows}`
}

/** Selects the {@link CodeState} of a code that could not be redeemed. */
export const selectCodeState =
  'SELECT redeemed_at AS "redeemedAt" FROM authorization_code WHERE code_hash = $1'

export interface CodeState {
  redeemedAt: number | null
}

/** Returns why a code could not be redeemed. */
export function refusalOf(state: CodeState | undefined): CodeRedemption {
  if (!state) return { kind: 'unknown' }
  return state.redeemedAt === null ? { kind: 'expired' } : { kind: 'used', redeemedAt: state.redeemedAt }
}

const selectCode = `SELECT ${codeColumns} FROM authorization_code WHERE code_hash = $1`

// Like `expires_at`, but used with the owner's index only.
const codeEnd = '(expires_at + 0)'

/** Selects at most $3 redeemable codes of the owner $1 at $2, earliest expiry first. */
export function unredeemedCodesOf(kind: keyof typeof owner, columns: string): string {
  return `SELECT ${columns} FROM authorization_code
    WHERE ${owner[kind]} = $1 AND coalesce(holds_session_until, 0) > 0 AND ${codeEnd} > $2
    ORDER BY ${codeEnd} LIMIT $3`
}

const listUnredeemed = `SELECT ${codeColumns} FROM authorization_code WHERE holds_session_until > $1
  ORDER BY holds_session_until LIMIT $2`
const listUnredeemedBy = {
  user: unredeemedCodesOf('user', codeColumns),
  client: unredeemedCodesOf('client', codeColumns),
}

/** Creates what both drivers do alike with the authorization codes in `database`. */
export function createCodeReads(
  database: SqlDatabase,
): Pick<GrantStore, 'findAuthorizationCode' | 'listUnredeemedCodes'> {
  return {
    async findAuthorizationCode(codeHash) {
      const [row] = await database.read<CodeRow>(selectCode, [codeHash])
      return row && codeOf(row)
    },
    async listUnredeemedCodes(of, { now, limit }) {
      const by = of && ownerOf(of)
      const rows = by
        ? await database.read<CodeRow>(listUnredeemedBy[by.kind], [by.id, now, limit])
        : await database.read<CodeRow>(listUnredeemed, [now, limit])
      return rows.map(codeOf)
    },
  }
}
