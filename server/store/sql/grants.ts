import type {
  AccessTokenRecord,
  Grant,
  GrantEndReason,
  GrantOwner,
  GrantRecord,
  GrantStore,
  RefreshTokenRecord,
  RotationTerms,
  StoredProviderSession,
} from '../../core/session/grant.ts'
import { differentAddresses, type TokenUse } from '../rules.ts'
import { camelCased, type SqlDatabase, type Values, withoutNulls } from './sql.ts'

/** Columns of a grant, for `g`, that {@link grantOf} reads. */
export const grantColumns: string = camelCased(
  'id, user_id, user_sub, user_email, user_name, client_id, resource, scope, workspace_id, workspace_name, created_at, expires_at',
  'g.',
)

export interface GrantRow extends Omit<Grant, 'user' | 'workspace'> {
  userId: string
  userSub: string
  userEmail: string | null
  userName: string | null
  workspaceId: string | null
  workspaceName: string | null
}

/** Reads the grant in a row. */
export function grantOf(row: GrantRow): Grant {
  return {
    id: row.id,
    user: {
      id: row.userId,
      sub: row.userSub,
      email: row.userEmail ?? undefined,
      name: row.userName ?? undefined,
    },
    clientId: row.clientId,
    resource: row.resource,
    scope: row.scope,
    workspace: row.workspaceId === null ? undefined : { id: row.workspaceId, name: row.workspaceName ?? '' },
    createdAt: row.createdAt,
    expiresAt: row.expiresAt,
  }
}

/** Columns for {@link accessTokenOf}, of the token `t`, its grant `g` and the session `s`. */
export const accessTokenColumns: string = `${grantColumns}, t.scope AS "tokenScope", t.expires_at AS "tokenExpiresAt",
  t.awaits_first_use AS "awaitsFirstUse", s.sealed, s.issued_at AS "sessionIssuedAt",
  s.expires_at AS "sessionExpiresAt", s.version`

/** The column `awaits_first_use` of an access token. */
export const awaitsFirstUse = 'first_used_at IS NULL AND sealed_tokens IS NOT NULL AS awaits_first_use'

export interface AccessTokenRow extends GrantRow, Pick<StoredProviderSession, 'sealed' | 'version'> {
  tokenScope: string
  tokenExpiresAt: number
  awaitsFirstUse: boolean | number
  sessionIssuedAt: number
  sessionExpiresAt: number
}

/** Reads the access token in a row. */
export function accessTokenOf(row: AccessTokenRow): AccessTokenRecord {
  return {
    grant: grantOf(row),
    scope: row.tokenScope,
    expiresAt: row.tokenExpiresAt,
    awaitsFirstUse: Boolean(row.awaitsFirstUse),
    providerSession: {
      grantId: row.id,
      sealed: row.sealed,
      issuedAt: row.sessionIssuedAt,
      expiresAt: row.sessionExpiresAt,
      version: row.version,
    },
  }
}

/** A grant with the use of one of its refresh tokens. */
export interface RefreshTokenRow extends GrantRow {
  endReason: GrantEndReason | null
  usedAt: number | null
}

/** Reads the refresh token in a row. */
export function refreshTokenOf(row: RefreshTokenRow): RefreshTokenRecord {
  return { grant: grantOf(row), endReason: row.endReason ?? undefined, usedAt: row.usedAt ?? undefined }
}

/** The use of a refresh token's successor, as a query returns it. */
export interface TokenUseRow {
  address: string | null
  accessUsedAt: number | null
  successorUsedAt: number | null
}

/** Counts a replay of `use` for the grants that `condition` selects by $1; its values are {@link replayValues}. */
export function recordReplay(condition: string): string {
  return `UPDATE grants SET replay_count = coalesce(replay_count, 0) + 1, replayed_at = $2,
    replay_first_address = coalesce($3, replay_first_address), replay_address = coalesce($4, replay_address)
  WHERE ${condition}`
}

/** Returns the values of {@link recordReplay}. */
export function replayValues(grant: string | number, use: TokenUse, terms: RotationTerms): Values {
  const [first, other] = differentAddresses(use, terms) ?? []
  return [grant, terms.now, first, other]
}

const recordColumns = `${grantColumns}, ${camelCased(
  `last_used_at, last_address, last_tool, two_addresses_at, two_addresses_first, two_addresses_other, replay_count,
  replayed_at, replay_first_address, replay_address, ended_at, end_reason`,
  'g.',
)}`

interface GrantRecordRow extends GrantRow {
  lastUsedAt: number | null
  lastAddress: string | null
  lastTool: string | null
  twoAddressesAt: number | null
  twoAddressesFirst: string
  twoAddressesOther: string
  replayCount: number | null
  replayedAt: number
  replayFirstAddress: string | null
  replayAddress: string | null
  endedAt: number | null
  endReason: GrantEndReason
}

function grantRecordOf(grant: GrantRecordRow): GrantRecord {
  const row = withoutNulls(grant)
  const {
    lastUsedAt,
    twoAddressesAt,
    replayCount,
    replayFirstAddress: first,
    replayAddress: other,
    endedAt,
  } = row
  return {
    grant: grantOf(grant),
    lastUse:
      lastUsedAt === undefined
        ? undefined
        : { usedAt: lastUsedAt, address: row.lastAddress, tool: row.lastTool },
    twoAddresses:
      twoAddressesAt === undefined
        ? undefined
        : { addresses: [row.twoAddressesFirst, row.twoAddressesOther], at: twoAddressesAt },
    replays:
      replayCount === undefined
        ? undefined
        : {
            count: replayCount,
            lastAt: row.replayedAt,
            addresses: first === undefined || other === undefined ? undefined : [first, other],
          },
    end: endedAt === undefined ? undefined : { at: endedAt, reason: row.endReason },
  }
}

/** Selects an operation's statement for the owner of grants, and its first value. */
export function ownerOf(of: GrantOwner): { kind: 'user' | 'client'; id: string } {
  return 'userId' in of ? { kind: 'user', id: of.userId } : { kind: 'client', id: of.clientId }
}

/**
 * The owner of a grant or code. Only these exact expressions use the indexes of an owner's rows: no other statement is planned with
 * them, and pages are read from them, not by the key.
 */
export const owner = { user: `(user_id || '')`, client: `(client_id || '')` }
// A client may have had very many grants, so there is an index on the live ones.
const live = { user: 'ended_at IS NULL', client: 'coalesce(ended_at, 0) = 0' }
const byId = `(id || '')`

/** Selects `columns` of at most $3 live grants of the owner $1 at $2, by id. */
export function liveGrantsOf(kind: keyof typeof owner, columns: string): string {
  return `SELECT ${columns} FROM grants g
    WHERE ${owner[kind]} = $1 AND ${live[kind]} AND expires_at - $2 > 0 ORDER BY ${byId} LIMIT $3`
}

const listAll = `SELECT ${recordColumns} FROM grants g WHERE g.id > $1 ORDER BY g.id LIMIT $2`
const listGrantsOf = (kind: keyof typeof owner): string =>
  `SELECT ${recordColumns} FROM grants g WHERE ${owner[kind]} = $1 AND ${byId} > $2 ORDER BY ${byId} LIMIT $3`
const listGrants = { user: listGrantsOf('user'), client: listGrantsOf('client') }

// Lowers ASCII only: in SQLite by default, in Postgres by the collation of the column. An index of Postgres has no room for long texts.
const selectUsers = `SELECT user_id AS id FROM grants
  WHERE substr(lower(user_email), 1, 320) = substr($1, 1, 320) AND lower(user_email) = $1`

const selectGrant = `SELECT ${recordColumns} FROM grants g WHERE g.id = $1`

const selectFamily = `SELECT ${recordColumns} FROM grants g WHERE g.family_hash = $1 AND g.family_hash IS NOT NULL`

const changeChoice = `UPDATE grants SET scope = $5, workspace_id = $6, workspace_name = $7
  WHERE id = $1 AND scope = $3 AND workspace_id IS NOT DISTINCT FROM $4 AND ended_at IS NULL AND expires_at - $2 > 0
  RETURNING true AS changed`

const useAccess = 'UPDATE access_token SET first_used_at = $2 WHERE hash = $1 AND first_used_at IS NULL'

// The row stays until it expires: it may hold what a replay of the previous refresh token returns.
const removeAccess = 'UPDATE access_token SET expires_at = 0 WHERE hash = $1'

/** Creates what both drivers do alike with the grants and tokens in `database`. */
export function createGrantReads(
  database: SqlDatabase,
): Pick<
  GrantStore,
  | 'changeGrant'
  | 'recordFirstUse'
  | 'removeAccessToken'
  | 'findGrantByFamily'
  | 'listGrants'
  | 'findGrant'
  | 'findUsers'
> {
  const first = async (statement: string, key: string): Promise<GrantRecord | undefined> => {
    const [row] = await database.read<GrantRecordRow>(statement, [key])
    return row && grantRecordOf(row)
  }

  return {
    async changeGrant({ grantId, from, to }, now) {
      const values = [from.scope, from.workspace?.id, to.scope, to.workspace?.id, to.workspace?.name]
      return (await database.write(changeChoice, [grantId, now, ...values])).length === 1
    },
    recordFirstUse: async (accessHash, now) => void (await database.write(useAccess, [accessHash, now])),
    removeAccessToken: async (accessHash) => void (await database.write(removeAccess, [accessHash])),
    findGrantByFamily: (familyHash) => first(selectFamily, familyHash),
    findGrant: (grantId) => first(selectGrant, grantId),
    findUsers: async (address) =>
      (await database.read<{ id: string }>(selectUsers, [address])).map(({ id }) => id),
    async listGrants(of, { after, limit }) {
      const by = of && ownerOf(of)
      const rows = by
        ? await database.read<GrantRecordRow>(listGrants[by.kind], [by.id, after, limit])
        : await database.read<GrantRecordRow>(listAll, [after, limit])
      return rows.map(grantRecordOf)
    },
  }
}
