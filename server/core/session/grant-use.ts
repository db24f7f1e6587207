import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { isSameSource } from '../address-block.ts'
import type { GrantStore, GrantUse, TwoAddresses } from './grant.ts'

/** How often the use of one grant is written, and how many grants are written at once. */
const writeEverySeconds = 600
const batchSize = 500
/** Grants that are remembered at once. Beyond that the one noted first is forgotten, and written again at its next use. */
const maxGrants = 100_000
const maxToolLength = 200
/** A grant that comes back to a source within this time, after it was used from another, is used from both at once. */
const atOnceSeconds = 600
/** Sources that are remembered for one grant. Beyond that the one used longest ago is forgotten. */
const maxSources = 4

/** What noting uses needs from outside. */
export interface GrantUsePorts {
  store: Pick<GrantStore, 'recordGrantUses'>
  runtime: Pick<Runtime, 'now'>
}

/**
 * Remembers when grants were used, from where and with which tool, so that a request need not wait for that to be written.
 *
 * A grant counts as used from two addresses at once when it is used from one source, then from another, and then from the first
 * again within ten minutes of its last use there. So a laptop that moves to another network is not reported, unless it moves
 * back so soon. What is one source is for {@link isSameSource} to say; a use from an unknown address neither counts nor
 * interrupts. Each instance of the server sees its own requests only.
 */
export interface GrantUses {
  /**
   * The grant is in use right now, by a client at `address`, which calls `tool`. Without one, the tool before stays the last.
   * Costs one look-up in a map.
   */
  note(grantId: string, address: string | undefined, tool?: string): void
  /**
   * Writes what is due: the first use of a grant at once, later ones every ten minutes. Rejects when the store cannot
   * take it; what was not written stays due. Not to be called again before it has ended.
   */
  flush(): Promise<void>
}

/** A place that a grant was used from, by its latest address. */
interface Source {
  address: string
  usedAt: number
}

interface Entry {
  use: GrantUse
  /** The one used last is at the end. */
  sources: Source[]
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
    const uses = batch.map(({ use }) => ({ ...use }))
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
    note(grantId, address, tool) {
      const usedAt = runtime.now()
      let entry = entries.get(grantId)
      if (!entry) {
        const use = { grantId, usedAt, address }
        entry = { use, sources: [], isUnwritten: true, writtenAt: undefined }
        entries.set(grantId, entry)
        if (entries.size > maxGrants) entries.delete(entries.keys().next().value ?? '')
      }
      const { use, sources } = entry
      use.usedAt = usedAt
      use.address = address
      if (tool !== undefined) use.tool = tool.slice(0, maxToolLength)
      const twoAddresses = address === undefined ? undefined : noteSource(sources, address, usedAt)
      if (twoAddresses) use.twoAddresses = twoAddresses
      entry.isUnwritten = true
    },
    async flush() {
      const now = runtime.now()
      const due: Entry[] = []
      for (const entry of entries.values()) {
        if (entry.writtenAt !== undefined && now < entry.writtenAt + writeEverySeconds) continue
        if (entry.isUnwritten) due.push(entry)
        else entries.delete(entry.use.grantId)
      }
      for (let from = 0; from < due.length; from += batchSize) {
        await write(due.slice(from, from + batchSize), now)
      }
    },
  }
}

/** Adds a use to the sources of a grant, and answers whether it makes them two at once. */
function noteSource(sources: Source[], address: string, usedAt: number): TwoAddresses | undefined {
  const last = sources.at(-1)
  if (last && (last.address === address || isSameSource(last.address, address))) {
    last.address = address
    last.usedAt = usedAt
    return undefined
  }
  const index = sources.findIndex((each) => isSameSource(each.address, address))
  const [earlier] = index === -1 ? [] : sources.splice(index, 1)
  sources.push({ address, usedAt })
  if (sources.length > maxSources) sources.shift()
  if (!last || !earlier || usedAt - earlier.usedAt >= atOnceSeconds) return undefined
  return { addresses: [address, last.address], at: usedAt }
}
