import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { CredentialStore, LoginId } from './credential-store.ts'
import type { Credential } from './credential.ts'
import { createLock } from './lock/lock.ts'

/** Creates a store for credentials that end with the process. Writes and shares nothing. */
export function createMemoryStore(runtime: Runtime): CredentialStore {
  const credentials = new Map<LoginId, Credential>()
  const notices = new Map<string, string>()
  const leases = new Map<string, string>()
  let count = 0
  return {
    read: async (id) => credentials.get(id),
    write: async (id, credential) => void credentials.set(id, structuredClone(credential)),
    remove: async (id) => credentials.delete(id),
    list: async () =>
      [...credentials].map(([id, credential]) => ({ kind: 'readable' as const, id, credential })),
    prepare: async () => undefined,
    clear: async () => credentials.clear(),
    notices: {
      post: async (name, text) => void notices.set(name, text),
      read: async (name) => notices.get(name),
      remove: async (name) => void notices.delete(name),
    },
    exclusively: createLock(
      (name) => () => {
        const heldBy = leases.get(name)
        if (heldBy !== undefined) return { kind: 'held', heldBy }
        const lease = String((count += 1))
        leases.set(name, lease)
        return { kind: 'taken', lease, release: () => leases.delete(name) }
      },
      runtime,
    ),
    backend: async () => 'memory',
  }
}
