import { resealOwnerPrefix } from '../session/session-seal.ts'
import { type ResealCounts, type ResealPorts, resealSessions } from '../session/reseal.ts'
import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type KeyRing, createSealer } from '../seal.ts'
import { StoreUnavailableError } from '../store-unavailable.ts'

/** Servers notice a new key within a second of use; a later round finds what they sealed until then. */
const noticeSeconds = 2
/** Gives up after this long without progress: waiting would not help. */
const patienceSeconds = 60

/** The result of all rounds together. */
export interface Rotation extends Omit<ResealCounts, 'skipped'> {
  /** Sessions other processes held until the end. */
  left: number
  interrupted: boolean
}

/** Dependencies of the rounds. Without a store there is nothing to seal. */
export interface RoundPorts {
  store: ResealPorts['store'] | undefined
  ring: KeyRing
  runtime: Pick<Runtime, 'now' | 'randomBytes' | 'sleep'>
  /** Reports progress in plain text. */
  note: (text: string) => void
  isStopped?: (() => boolean) | undefined
}

/**
 * Re-seals all sessions with the first key of the ring, in rounds over the store, until none under another key remains that could
 * be re-sealed, nothing has changed for a minute, or the caller stops it. A store that is briefly down is a round without progress.
 */
export async function resealInRounds(ports: RoundPorts): Promise<Rotation> {
  const { store, ring, runtime, note, isStopped = () => false } = ports
  const rotation: Rotation = { resealed: 0, unsettled: 0, unreadable: 0, left: 0, interrupted: false }
  if (!store) return rotation
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
    const { resealed, skipped, unsettled, unreadable } = await tryRound(round, note)
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

async function tryRound(ports: ResealPorts, note: (text: string) => void): Promise<ResealCounts> {
  try {
    return await resealSessions(ports)
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error
    note(`${error.message} Trying again.`)
    return { resealed: 0, skipped: 1, unsettled: 0, unreadable: 0 }
  }
}

/** Formats a number of sessions. */
export function countOf(sessions: number): string {
  return sessions === 1 ? '1 session' : `${sessions} sessions`
}
