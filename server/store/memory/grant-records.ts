import type { Grant, GrantOwner, GrantRecord, GrantStore } from '../../core/session/grant.ts'

/** What a grant's row holds for people to look at. */
export type MemoryGrantRecord = GrantRecord

/** The operations of {@link GrantStore} for people who look at grants. */
export type GrantRecords = Pick<GrantStore, 'listGrants' | 'findGrant' | 'recordGrantUses'>

/** Whether `grant` is one of `of`; every grant is, when that is undefined. */
export function isOwnedBy(grant: Grant, of: GrantOwner | undefined): boolean {
  if (!of) return true
  return 'userId' in of ? grant.user.id === of.userId : grant.clientId === of.clientId
}

/** What of a row is for people to look at. */
export function recordOf({ grant, lastUse, replays, end }: MemoryGrantRecord): GrantRecord {
  return { grant, lastUse, replays, end }
}

/** Lists and finds what is in `grants`. */
export function createMemoryGrantRecords<Row extends MemoryGrantRecord>(
  grants: Map<string, Row>,
): GrantRecords {
  return {
    listGrants: async (of, { after, limit }) =>
      [...grants.values()]
        .filter(({ grant }) => isOwnedBy(grant, of) && grant.id > after)
        .sort((one, other) => (one.grant.id < other.grant.id ? -1 : 1))
        .slice(0, limit)
        .map(recordOf),
    async findGrant(grantId) {
      const row = grants.get(grantId)
      return row && recordOf(row)
    },
    async recordGrantUses(uses) {
      for (const { grantId, usedAt, address } of uses) {
        const row = grants.get(grantId)
        if (row && (row.lastUse?.usedAt ?? 0) <= usedAt) row.lastUse = { usedAt, address }
      }
    },
  }
}
