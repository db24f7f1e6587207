import type { GrantRecord, GrantStore } from '../core/session/grant.ts'
import type { ServerConfig } from '../config/setting.ts'

/** Whose grants a command is about; undefined: everybody's. */
export type GrantsOf = Parameters<GrantStore['listGrants']>[0]

const pageSize = 200

/** The grants of a person by their `sub` at the session provider of `config`. */
export function grantsOfUser(sub: string, config: Pick<ServerConfig, 'providerIssuer'>): { userId: string } {
  return { userId: `${config.providerIssuer}#${sub}` }
}

/** Whether it can still be used at `now`. */
export function isLive({ grant, end }: GrantRecord, now: number): boolean {
  return end === undefined && grant.expiresAt > now
}

/** At most `most` of the grants that `keep` wants, by id, and whether there are more. Reads page by page, beside running servers. */
export async function collectGrants(
  store: Pick<GrantStore, 'listGrants'>,
  of: GrantsOf,
  { keep, most }: { keep: (record: GrantRecord) => boolean; most: number },
): Promise<{ records: GrantRecord[]; isCut: boolean }> {
  const records: GrantRecord[] = []
  for (let after = ''; records.length <= most;) {
    const page = await store.listGrants(of, { after, limit: pageSize })
    records.push(...page.filter(keep))
    after = page.at(-1)?.grant.id ?? after
    if (page.length < pageSize) break
  }
  return { records: records.slice(0, most), isCut: records.length > most }
}
