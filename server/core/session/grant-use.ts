import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { GrantStore, GrantUse } from './grant.ts'

/** How often the use of one grant is written, and how many grants are written at once. */
const writeEverySeconds = 600
const batchSize = 500
/** Grants that are remembered at once. Beyond that the one noted first is forgotten, and written again at its next use. */
const maxGrants = 100_000

/** What noting uses needs from outside. */
export interface GrantUsePorts {
  store: Pick<GrantStore, 'recordGrantUses'>
  runtime: Pick<Runtime, 'now'>
}

/** Remembers when grants were used, and from where, so that a request need not wait for that to be written. */
export interface GrantUses {
  /** The grant is in use right now, by a client at `address`. Costs one look-up in a map. */
  note(grantId: string, address: string | undefined): void
  /**
   * Writes what is due: the first use of a grant at once, later ones every ten minutes. Rejects when the store cannot
   * take it; what was not written stays due. Not to be called again before it has ended.
   */
  flush(): Promise<void>
}

interface Entry extends GrantUse {
  isUnwritten: boolean
  /** Undefined: never. */
  writtenAt: number | undefined
}

/**
 * Creates the {@link GrantUses}. A use that was noted less than ten minutes after the last one written may be lost at
 * the end of the process: "last used" is for people, who look at days.
 */
export function createGrantUse({ store, runtime }: GrantUsePorts): GrantUses {
  const entries = new Map<string, Entry>()

  async function write(batch: readonly Entry[], now: number): Promise<void> {
    const uses = batch.map(({ grantId, usedAt, address }) => ({ grantId, usedAt, address }))
    // Cleared before the write, so a use recorded during the write counts as new.
    for (const entry of batch) entry.isUnwritten = false
    try {
      await store.recordGrantUses(uses)
    } catch (error) {
      for (const entry of batch) entry.isUnwritten = true
      throw error
    }
    for (const entry of batch) entry.writtenAt = now
  }

  return {
    note(grantId, address) {
      const entry = entries.get(grantId)
      if (entry) {
        entry.usedAt = runtime.now()
        entry.address = address
        entry.isUnwritten = true
        return
      }
      const usedAt = runtime.now()
      entries.set(grantId, { grantId, usedAt, address, isUnwritten: true, writtenAt: undefined })
      if (entries.size > maxGrants) entries.delete(entries.keys().next().value ?? '')
    },
    async flush() {
      const now = runtime.now()
      const due: Entry[] = []
      for (const entry of entries.values()) {
        if (entry.writtenAt !== undefined && now < entry.writtenAt + writeEverySeconds) continue
        if (entry.isUnwritten) due.push(entry)
        else entries.delete(entry.grantId)
      }
      for (let from = 0; from < due.length; from += batchSize) {
        await write(due.slice(from, from + batchSize), now)
      }
    },
  }
}
