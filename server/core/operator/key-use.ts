import type { KeyRing } from '../seal.ts'
import type { SealedSessionStore } from '../session/reseal.ts'

const pageSize = 200
/** Maximum sessions counted per key: counting further would read the whole store. */
export const maxCounted = 1000

/** The role of a key: the first of the ring seals, the others open; one that is needed but absent is missing. */
type KeyRole = 'seals' | 'opens' | 'missing'

/** One key, and what in the store depends on it. */
export interface KeyUse {
  kid: string
  role: KeyRole
  /** Provider sessions sealed with it, up to 1000. */
  sessions: number
  /** True when anything is sealed with it: a session, a code, or a sign-in in progress. */
  in_use: boolean
}

/** Lists every key of the ring, in order, then keys that the store needs and the ring lacks. Without a store no key is in use. */
export async function listKeyUse(ring: KeyRing, store: SealedSessionStore | undefined): Promise<KeyUse[]> {
  const used = new Set(await store?.listSealingKeys())
  const kids = ring.keys().map(({ kid }) => kid)
  const missing = [...used].filter((kid) => !kids.includes(kid))
  const uses: KeyUse[] = []
  for (const [index, kid] of [...kids, ...missing].entries()) {
    const role = index === 0 ? 'seals' : index < kids.length ? 'opens' : 'missing'
    const sessions = store && used.has(kid) ? await countSessions(kid, store) : 0
    uses.push({ kid, role, sessions, in_use: used.has(kid) })
  }
  return uses
}

async function countSessions(kid: string, store: SealedSessionStore): Promise<number> {
  let count = 0
  for (let after = ''; count < maxCounted;) {
    const page = await store.listSessionsSealedWith(kid, { after, limit: pageSize })
    count += page.length
    after = page.at(-1)?.grantId ?? after
    if (page.length < pageSize) break
  }
  return Math.min(count, maxCounted)
}
