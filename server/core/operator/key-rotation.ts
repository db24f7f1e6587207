import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { z } from 'zod'
import { createSealer } from '../seal.ts'
import { type ResealCounts, resealSessions } from '../session/reseal.ts'
import { resealOwnerPrefix } from '../session/session-seal.ts'
import { StoreUnavailableError } from '../store-unavailable.ts'
import { type OperatorPorts, seconds } from './operation.ts'

/** Servers notice a new key within a second of use; a later round finds what they sealed until then. */
const noticeSeconds = 2
/** Gives up after this long without progress: waiting would not help. */
const patienceSeconds = 60
/** Maximum sessions counted per key: counting further would read the whole store. */
export const maxCounted = 1000
/** How long an open sign-in page may remain sealed with a replaced key. */
export const pageSeconds = 3600

/** A key and its uses. The first key of the ring seals, the others open; a key that the store needs and the ring lacks is missing. */
export const keyUseSchema = z.object({
  kid: z.string(),
  role: z.enum(['seals', 'opens', 'missing']),
  sessions: z.int().describe('provider sessions sealed with it, counted up to 1000'),
  in_use: z.boolean().describe('anything is sealed with it: a session, a code, or a sign-in in progress'),
})

export type KeyUse = z.output<typeof keyUseSchema>

/** In the order of the ring, then keys that the store needs and the ring lacks. */
export async function listKeyUse({ ring, store }: Pick<OperatorPorts, 'ring' | 'store'>): Promise<KeyUse[]> {
  const used = new Set(await store.listSealingKeys())
  const kids = ring.keys().map(({ kid }) => kid)
  const missing = [...used].filter((kid) => !kids.includes(kid))
  const uses: KeyUse[] = []
  for (const [index, kid] of [...kids, ...missing].entries()) {
    const role = index === 0 ? 'seals' : index < kids.length ? 'opens' : 'missing'
    const counted = { after: '', limit: maxCounted }
    const sessions = used.has(kid) ? await store.listSessionsSealedWith(kid, counted) : undefined
    uses.push({ kid, role, sessions: sessions?.length ?? 0, in_use: used.has(kid) })
  }
  return uses
}

/** The result of a rotation as shown to operators. Contains no secrets. */
export const rotationSchema = z
  .object({
    ok: z.boolean().describe('true if everything that should be is sealed with the first key'),
    sealing_key: z.string(),
    added: z.string().optional().describe('the id of the new key'),
    resealed: z.int().describe('sessions that were re-encrypted'),
    unsettled: z
      .int()
      .describe('sessions whose last refresh has an unknown outcome: their next refresh re-encrypts them'),
    unreadable: z.int().describe('sessions that no key opens'),
    left: z.int().describe('sessions that other processes held until the end'),
    interrupted: z.boolean(),
    keys: z.array(keyUseSchema),
    removable_at: seconds('when keys that are not in use may be removed'),
  })
  .describe('Key ids and session counts, never a key itself.')

type RotationFacts = z.output<typeof rotationSchema>

type Rotation = Pick<RotationFacts, 'left' | 'interrupted' | Exclude<keyof ResealCounts, 'skipped'>>

type RotationPorts = Pick<OperatorPorts, 'store' | 'ring' | 'runtime' | 'note' | 'isStopped'>

/**
 * Adds a key at the front of the ring by `addEntry`, whose errors are passed on; without it the first key stays. Then re-seals all
 * sessions next to running servers. May be stopped and repeated.
 */
export async function rotateKeyRing(
  ports: RotationPorts,
  addEntry?: (entry: string, kid: string) => void,
): Promise<RotationFacts> {
  const { ring, runtime } = ports
  const created = addEntry && createKeyEntry(runtime)
  if (created) {
    addEntry(created.entry, created.kid)
    ring.refresh()
  }
  const rotation = await resealInRounds(ports)
  return {
    ...rotation,
    ok: rotation.left === 0 && rotation.unreadable === 0 && !rotation.interrupted,
    sealing_key: ring.keys()[0]?.kid ?? '',
    added: created?.kid,
    keys: await listKeyUse(ports),
    removable_at: runtime.now() + pageSeconds,
  }
}

/** Creates a key with a unique name that starts with the date: `kid:base64`. */
export function createKeyEntry(runtime: Pick<Runtime, 'now' | 'randomBytes'>): {
  kid: string
  entry: string
} {
  const date = new Date(runtime.now() * 1000).toISOString().slice(0, 10).replaceAll('-', '')
  const kid = `k${date}-${Buffer.from(runtime.randomBytes(3)).toString('hex')}`
  return { kid, entry: `${kid}:${Buffer.from(runtime.randomBytes(32)).toString('base64')}` }
}

/**
 * Re-seals in rounds over the store until nothing is left, nothing has changed for a minute, or the caller stops it. A store that
 * is briefly down is a round without progress.
 */
async function resealInRounds(ports: RotationPorts): Promise<Rotation> {
  const { store, ring, runtime, note, isStopped } = ports
  const rotation: Rotation = { resealed: 0, unsettled: 0, unreadable: 0, left: 0, interrupted: false }
  const sealer = createSealer(ring, runtime.randomBytes)
  const owner = `${resealOwnerPrefix}${encodeBase64url(runtime.randomBytes(9))}`
  note('Sealing all sessions with the first key. This may be interrupted: nothing is lost.')
  const begunAt = runtime.now()
  let movedAt = begunAt
  for (;;) {
    // Another command may have added a key at the front.
    ring.refresh()
    const kid = ring.keys()[0]?.kid ?? ''
    const round = { store, sealer, kid, runtime, owner, isStopped }
    const { resealed, skipped, unsettled, unreadable } = await resealSessions(round).catch(
      (error: unknown) => {
        if (!(error instanceof StoreUnavailableError)) throw error
        note(`${error.message} Trying again.`)
        return { resealed: 0, skipped: 1, unsettled: 0, unreadable: 0 }
      },
    )
    Object.assign(rotation, { unsettled, unreadable, left: skipped, interrupted: isStopped() })
    rotation.resealed += resealed
    const now = runtime.now()
    if (resealed > 0) {
      movedAt = now
      note(`${countOf(rotation.resealed)} re-sealed with ${kid} so far.`)
    }
    const isSettled = resealed === 0 && skipped === 0 && now - begunAt >= noticeSeconds
    if (isSettled || rotation.interrupted || now - movedAt >= patienceSeconds) return rotation
    await runtime.sleep(1000)
  }
}

/** The count with its noun, as reports print it. */
export function countOf(sessions: number): string {
  return sessions === 1 ? '1 session' : `${sessions} sessions`
}
