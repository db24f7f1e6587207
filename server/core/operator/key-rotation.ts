import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type KeyUse, listKeyUse } from './key-use.ts'
import { resealInRounds, type RoundPorts, type Rotation } from './reseal-rounds.ts'
import type { SealedSessionStore } from '../session/reseal.ts'

/** How long a sign-in page that is open may be sealed with a key that no longer seals. */
export const pageSeconds = 3600

/** What a rotation came to, as an operator is told about it. Nothing secret is in it. */
export interface RotationFacts extends Rotation {
  /** Whether nothing was left that should have been sealed with the first key. */
  ok: boolean
  sealing_key: string
  /** The key that was put in front, if one was. */
  added: string | undefined
  keys: KeyUse[]
  /** When keys that nothing needs may be removed: epoch seconds. */
  removable_at: number
}

/** What a rotation takes. */
export interface RotationPorts extends RoundPorts {
  store: (RoundPorts['store'] & SealedSessionStore) | undefined
  /** Puts an entry in front of the ring, where that is kept. Left out: the first key of the ring stays. What it throws is passed on. */
  addEntry?: ((entry: string, kid: string) => void) | undefined
}

/**
 * Puts a new key in front of the ring, if it can be added, and seals all provider sessions anew with the first key, beside
 * running servers. It may be stopped at any time, and run again.
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

/** A fresh key with a name of its own, which begins with the date: `kid:base64`. */
export function createKeyEntry(runtime: Pick<Runtime, 'now' | 'randomBytes'>): {
  kid: string
  entry: string
} {
  const date = new Date(runtime.now() * 1000).toISOString().slice(0, 10).replaceAll('-', '')
  const kid = `k${date}-${Buffer.from(runtime.randomBytes(3)).toString('hex')}`
  return { kid, entry: `${kid}:${Buffer.from(runtime.randomBytes(32)).toString('base64')}` }
}
