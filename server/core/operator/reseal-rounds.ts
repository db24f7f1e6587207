import { resealOwnerPrefix } from '../session/session-seal.ts'
import { type ResealCounts, type ResealPorts, resealSessions } from '../session/reseal.ts'
import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type KeyRing, createSealer } from '../seal.ts'
import { StoreUnavailableError } from '../store-unavailable.ts'

/** Servers notice another key within a second of use; what one sealed until then is found by a later round. */
const noticeSeconds = 2
/** Without anything re-sealed for this long, what is left will not be by waiting. */
const patienceSeconds = 60

/** What all rounds together came to. */
export interface Rotation extends Omit<ResealCounts, 'skipped'> {
  /** Others were at work on them to the end. */
  left: number
  interrupted: boolean
}

/** What the rounds need from outside. Without a store there is nothing to seal. */
export interface RoundPorts {
  store: ResealPorts['store'] | undefined
  ring: KeyRing
  runtime: Pick<Runtime, 'now' | 'randomBytes' | 'sleep'>
  /** Told, for people, how it goes. */
  note: (text: string) => void
  isStopped?: (() => boolean) | undefined
}

/**
 * Seals all sessions with the first key of the ring, in rounds over the store: until nothing is left under another key
 * that could be sealed anew, nothing has moved for a minute, or somebody stops it. A store that is down for a moment is
 * a round in which nothing moved.
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
    // Another command may have put a key in front meanwhile.
    ring.refresh()
    const kid = ring.keys()[0]?.kid ?? ''
    const round = { store, sealer, kid, runtime, owner, isStopped }
    const { resealed, skipped, unsettled, unreadable } = await tryRound(round, note)
    Object.assign(rotation, { unsettled, unreadable, left: skipped, interrupted: isStopped() })
    rotation.resealed += resealed
    const now = runtime.now()
    if (resealed > 0) {
      movedAt = now
      note(`${countOf(rotation.resealed)} sealed anew with ${kid} so far.`)
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

/** A number of sessions in words. */
export function countOf(sessions: number): string {
  return sessions === 1 ? '1 session' : `${sessions} sessions`
}
