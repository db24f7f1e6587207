import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { isSameSource } from '../address-block.ts'
import type { GrantStore, GrantUse, TwoAddresses } from './grant.ts'

const writeEverySeconds = 600
const batchSize = 500
/** Maximum number of remembered grants. Beyond that the oldest is forgotten, and written again at its next use. */
const maxGrants = 100_000
const maxToolLength = 200
/** A grant that returns to a source within this time, after use from another, is in use from both at once. */
const atOnceSeconds = 600
/** Maximum number of remembered sources per grant. Beyond that the least recently used is forgotten. */
const maxSources = 4

export interface GrantUsePorts {
  store: Pick<GrantStore, 'recordGrantUses'>
  runtime: Pick<Runtime, 'now'>
}

interface Source {
  address: string
  usedAt: number
}

interface Entry {
  use: GrantUse
  /** Most recently used last. */
  sources: Source[]
  isUnwritten: boolean
  writtenAt: number | undefined
}

/**
 * Records when, from where and with which tool grants were used, without making requests wait for the write.
 *
 * A grant counts as used from two addresses at once when it is used from one source, then from another, and then from the first
 * again within ten minutes of its last use there. So a laptop that moves to another network is not reported, unless it moves back
 * that soon. {@link isSameSource} decides what counts as one source; a use from an unknown address neither counts nor interrupts.
 * Each server instance sees only its own requests.
 *
 * A use less than ten minutes after the last write may be lost when the process ends: "last used" is shown to users, who need only
 * the day.
 */
export class GrantUses {
  readonly #ports: GrantUsePorts
  readonly #entries = new Map<string, Entry>()

  constructor(ports: GrantUsePorts) {
    this.#ports = ports
  }

  /** Records that a client at `address` is using the grant. Costs one map lookup. */
  recordUse(grantId: string, address: string | undefined): void {
    const usedAt = this.#ports.runtime.now()
    let entry = this.#entries.get(grantId)
    if (!entry) {
      const use = { grantId, usedAt, address }
      entry = { use, sources: [], isUnwritten: true, writtenAt: undefined }
      this.#entries.set(grantId, entry)
      if (this.#entries.size > maxGrants) this.#entries.delete(this.#entries.keys().next().value ?? '')
    }
    const { use, sources } = entry
    use.usedAt = usedAt
    use.address = address
    const twoAddresses = address === undefined ? undefined : recordSource(sources, address, usedAt)
    if (twoAddresses) use.twoAddresses = twoAddresses
    entry.isUnwritten = true
  }

  /** Records that the grant, whose use is already recorded, called `tool`. */
  recordTool(grantId: string, tool: string): void {
    const entry = this.#entries.get(grantId)
    if (!entry) return
    entry.use.tool = tool.slice(0, maxToolLength)
    entry.isUnwritten = true
  }

  /**
   * Writes a grant's first use at once, later ones every ten minutes. What fails stays due. Must not be called before it settles.
   */
  async flush(): Promise<void> {
    const now = this.#ports.runtime.now()
    const due: Entry[] = []
    for (const entry of this.#entries.values()) {
      if (entry.writtenAt !== undefined && now < entry.writtenAt + writeEverySeconds) continue
      if (entry.isUnwritten) due.push(entry)
      else this.#entries.delete(entry.use.grantId)
    }
    for (let from = 0; from < due.length; from += batchSize) {
      await this.#write(due.slice(from, from + batchSize), now)
    }
  }

  async #write(batch: readonly Entry[], now: number): Promise<void> {
    const uses = batch.map(({ use }) => ({ ...use }))
    // Cleared before the write, so a use recorded during the write counts as new.
    for (const entry of batch) entry.isUnwritten = false
    try {
      await this.#ports.store.recordGrantUses(uses)
    } catch (error) {
      for (const entry of batch) entry.isUnwritten = true
      throw error
    }
    for (const entry of batch) entry.writtenAt = now
  }
}

/** Adds a use to the sources of a grant, and returns whether two of them are now in use at once. */
function recordSource(sources: Source[], address: string, usedAt: number): TwoAddresses | undefined {
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
