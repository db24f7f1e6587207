import type { KeyRing } from '../../core/seal.ts'
import type { SealedSessionStore } from '../../core/session/reseal.ts'
import { textTable } from '@drawbridge/shared/terminal/table.ts'
import type { Terminal } from '../terminal.ts'

/** How long a sign-in page that is open may be sealed with a key that no longer seals. */
export const pageSeconds = 3600

/** A moment for people: to the minute, in UTC. */
export function timeText(seconds: number): string {
  return new Date(Math.ceil(seconds / 60) * 60_000).toISOString().replace(/:\d\d\.\d+Z$/, 'Z')
}

const pageSize = 200
/** Counting further would read the whole store. */
const maxCounted = 1000

/** What a key is there for: the first of the ring seals, the others open; one that is needed and not there is missing. */
type KeyRole = 'seals' | 'opens' | 'missing'

/** One key, and what in the store depends on it. */
export interface KeyUse {
  kid: string
  role: KeyRole
  /** Provider sessions sealed with it; 1000 stands for that many or more. */
  sessions: number
  /** Whether anything at all is sealed with it: a session, a code, or a sign-in that is under way. */
  in_use: boolean
}

/** Every key of the ring, in order, then those that the store needs and the ring lacks. Without a store nothing is in use. */
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

/** The table of keys for people. */
export function keyTable(uses: readonly KeyUse[], terminal: Pick<Terminal, 'colour'>): string {
  const rows = uses.map((use) => [use.kid, countText(use), use.role, noteOf(use)])
  const colours = { seals: 'green', opens: undefined, missing: 'red' } as const
  return textTable(['key', 'sealed sessions', 'role', ''], rows)
    .split('\n')
    .map((line, index) => {
      const colour = colours[uses[index - 1]?.role ?? 'opens']
      return colour === undefined ? line : terminal.colour(colour, line)
    })
    .join('\n')
}

function countText({ sessions }: KeyUse): string {
  return sessions === maxCounted ? `${maxCounted} or more` : String(sessions)
}

function noteOf({ role, sessions, in_use: inUse }: KeyUse): string {
  if (role === 'missing') return 'put it back into the ring: without it nothing of this can be used'
  if (role === 'seals') return ''
  if (!inUse) return 'nothing needs it'
  return sessions === 0 ? 'sign-ins under way need it' : ''
}
