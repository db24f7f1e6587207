import type { AsyncEntry } from 'keytar'

const service = 'drawbridge'

/**
 * The item of that account in the keychain of this user. Loads native code, and may block the event loop for 2 seconds when
 * the service is mute. Rejects with whatever the native part says.
 */
export async function keychainItem(account: string): Promise<AsyncEntry> {
  const { AsyncEntry } = await import('keytar')
  // Without the store it would silently take the keyring of the kernel, which is gone at the next boot.
  return new AsyncEntry(service, account, { linux: { store: 'secret-service' } })
}
