import { sealingKeyOf } from '../../core/seal.ts'
import type { Store } from '../../core/store.ts'
import { createMemoryClients } from './clients.ts'
import { createMemoryDevices } from './devices.ts'
import { createMemoryGrants } from './grants.ts'
import { collectRows } from './part.ts'
import { createMemorySignIns } from './sign-ins.ts'
import { createMemorySignOuts } from './sign-outs.ts'

/** {@link Store} in maps: for tests and for trying things out. Everything is gone when the process ends. */
export function createMemoryStore(): Store {
  const clients = createMemoryClients()
  const devices = createMemoryDevices()
  const attempts = new Map<string, { count: number; windowEndsAt: number }>()
  const signOuts = createMemorySignOuts()
  const signIns = createMemorySignIns(signOuts)
  const grants = createMemoryGrants(signOuts)
  const sessions = () => [...grants.sessions(), ...signOuts.sessions()]

  return {
    ...clients.operations,
    ...devices.operations,
    ...grants.operations,
    ...signIns.operations,
    ...signOuts.operations,

    async countAttempt(key, windowSeconds, now) {
      const running = attempts.get(key)
      const counted =
        running && running.windowEndsAt > now
          ? { count: running.count + 1, windowEndsAt: running.windowEndsAt }
          : { count: 1, windowEndsAt: now + windowSeconds }
      attempts.set(key, counted)
      return counted
    },
    async returnAttempt(key, windowEndsAt) {
      const running = attempts.get(key)
      if (!running || running.windowEndsAt !== windowEndsAt) return
      attempts.set(key, { count: Math.max(0, running.count - 1), windowEndsAt })
    },

    async listSealingKeys() {
      const sealed = [...grants.sealed(), ...signIns.sealed(), ...sessions().map((each) => each.sealed)]
      return [...new Set(sealed.map(sealingKeyOf))].sort()
    },
    listSessionsSealedWith: async (kid, { after, limit }) =>
      sessions()
        .filter(({ grantId, sealed }) => sealingKeyOf(sealed) === kid && grantId > after)
        .sort((one, other) => (one.grantId < other.grantId ? -1 : 1))
        .slice(0, limit),

    prepare: async () => {},
    async collectExpired(now, limit) {
      let deleted = signIns.collect(now, limit)
      deleted += grants.collect(now, limit - deleted)
      deleted += devices.collect(now, limit - deleted)
      deleted += clients.collect(now, limit - deleted)
      return deleted + collectRows(attempts, ({ windowEndsAt }) => windowEndsAt <= now, limit - deleted)
    },
    close: async () => {},
  }
}
