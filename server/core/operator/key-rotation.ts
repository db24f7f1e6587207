import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type KeyUse, listKeyUse } from './key-use.ts'
import { resealInRounds, type RoundPorts, type Rotation } from './reseal-rounds.ts'
import type { SealedSessionStore } from '../session/reseal.ts'

/** How long an open sign-in page may remain sealed with a replaced key. */
export const pageSeconds = 3600

/** The result of a rotation as shown to operators. Contains no secrets. */
export interface RotationFacts extends Rotation {
  /** True when everything that should be is sealed with the first key. */
  ok: boolean
  sealing_key: string
  /** The key that was added at the front, if any. */
  added: string | undefined
  keys: KeyUse[]
  /** When keys that are no longer needed may be removed: epoch seconds. */
  removable_at: number
}

/** Dependencies of a rotation. */
export interface RotationPorts extends RoundPorts {
  store: (RoundPorts['store'] & SealedSessionStore) | undefined
  /** Adds an entry at the front of the stored ring. Omitted: the first key of the ring stays. Errors are passed on. */
  addEntry?: ((entry: string, kid: string) => void) | undefined
}

/**
 * Adds a new key at the front of the ring, if possible, and re-seals all provider sessions with the first key, next to running
 * servers. May be stopped at any time, and run again.
 */
export async function rotateKeyRing(ports: RotationPorts): Promise<RotationFacts> {
  const { store, ring, runtime, addEntry } = ports
  let added: string | undefined
  if (addEntry) {
    const { kid, entry } = createKeyEntry(runtime)
    addEntry(entry, kid)
    added = kid
    ring.refresh()
  }
  const rotation = await resealInRounds(ports)
  const keys = await listKeyUse(ring, store)
  const ok = rotation.left === 0 && rotation.unreadable === 0 && !rotation.interrupted
  const sealingKey = ring.keys()[0]?.kid ?? ''
  const removableAt = runtime.now() + pageSeconds
  return { ok, sealing_key: sealingKey, added, ...rotation, keys, removable_at: removableAt }
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
