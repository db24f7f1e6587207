import { createRequire } from 'node:module'
import type { AsyncEntry } from 'keytar'

const service = 'drawbridge'

/**
 * The item of that account in the keychain of this user. Loads native code, and may block the event loop for 2 seconds when
 * the service is mute. Rejects with whatever the native part says.
 */
export async function keychainItem(account: string): Promise<AsyncEntry> {
  const { AsyncEntry } = loadKeytar()
  // Without the store it would silently take the keyring of the kernel, which is gone at the next boot.
  return new AsyncEntry(service, account, { linux: { store: 'secret-service' } })
}

/** By `require`: an import reads the loader of the native part twice to learn its exports, 6 ms of the start of a client. */
function loadKeytar(): typeof import('keytar') {
  return createRequire(import.meta.url)('keytar') as typeof import('keytar')
}
