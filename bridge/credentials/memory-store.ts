import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { CredentialStore, LoginId } from './credential-store.ts'
import type { Credential } from './credential.ts'
import { createLocalLocks, withLock } from './lock/lock.ts'

/** Credentials that end with the process. Nothing is written anywhere, and nothing is shared. */
export function createMemoryStore(runtime: Runtime): CredentialStore {
  const credentials = new Map<LoginId, Credential>()
  const notices = new Map<string, string>()
  const localLocks = createLocalLocks()
  return {
    read: async (id) => credentials.get(id),
    write: async (id, credential) => {
      credentials.set(id, structuredClone(credential))
    },
    remove: async (id) => credentials.delete(id),
    list: async () =>
      [...credentials].map(([id, credential]) => ({ kind: 'readable' as const, id, credential })),
    prepare: async () => undefined,
    clear: async () => credentials.clear(),
    notices: {
      post: async (name, text) => {
        notices.set(name, text)
      },
      read: async (name) => notices.get(name),
      remove: async (name) => {
        notices.delete(name)
      },
    },
    exclusively: (name, options, work) =>
      withLock(name, options, async () => localLocks(name), work, runtime),
    backend: async () => 'memory',
  }
}
