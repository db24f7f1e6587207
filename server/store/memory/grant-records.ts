import type { Grant, GrantEndReason, GrantRecord, GrantStore } from '../../core/grant.ts'

/** What a grant's row holds for people to look at. */
export interface MemoryGrantRecord {
  grant: Grant
  end: GrantRecord['end']
  lastUse: GrantRecord['lastUse']
}

/** The operations of {@link GrantStore} for people who look at grants and end them. */
export type GrantRecords = Pick<GrantStore, 'endGrants' | 'listGrants' | 'findGrant' | 'recordGrantUses'>

/** Lists, finds and ends what is in `grants`, with the same `endGrant` as everybody. */
export function createMemoryGrantRecords<Row extends MemoryGrantRecord>(
  grants: Map<string, Row>,
  endGrant: (row: Row, reason: GrantEndReason, now: number) => void,
): GrantRecords {
  function ofWhom(of: { userId: string } | { clientId: string } | undefined): Row[] {
    return [...grants.values()].filter(({ grant }) => {
      if (!of) return true
      return 'userId' in of ? grant.user.id === of.userId : grant.clientId === of.clientId
    })
  }
  const recordOf = ({ grant, lastUse, end }: Row): GrantRecord => ({ grant, lastUse, end })

  return {
    async endGrants(of, reason, { now, limit }) {
      const live = ofWhom(of).filter(({ grant, end }) => !end && grant.expiresAt > now)
      return live.slice(0, limit).map((row) => {
        endGrant(row, reason, now)
        return row.grant
      })
    },
    listGrants: async (of, { after, limit }) =>
      ofWhom(of)
        .filter(({ grant }) => grant.id > after)
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
