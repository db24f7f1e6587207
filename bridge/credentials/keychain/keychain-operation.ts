import { randomBytes } from 'node:crypto'
import { createRequire } from 'node:module'
import type { AsyncEntry } from 'keytar'

/** One use of the user's keychain. `probe` writes, reads and removes a dummy item. */
export type KeychainOperation =
  | { operation: 'read' | 'remove'; account: string }
  | { operation: 'write'; account: string; value: string }
  | { operation: 'probe' }

/** The helper's answer on its standard output: one line of JSON. */
export type KeychainAnswer = { kind: 'done'; value: string | null } | { kind: 'failed'; message: string }

/**
 * Resolves with the value for `read`, null when there is none or it is not accessible: a locked keychain may say so of an
 * existing item. Loads native code, and may block the event loop for 2 seconds when the service does not respond.
 */
export async function performOnKeychain(request: KeychainOperation): Promise<string | null> {
  const { AsyncEntry } = loadKeytar()
  const account = request.operation === 'probe' ? `probe:${randomBytes(8).toString('hex')}` : request.account
  // Without the store it would silently use the kernel's keyring, which is lost at the next boot.
  const item = new AsyncEntry('drawbridge', account, { linux: { store: 'secret-service' } })
  if (request.operation === 'read') return await item.getPassword()
  if (request.operation === 'write') await writeSurely(item, request.value)
  if (request.operation === 'probe') await writeSurely(item, 'probe')
  if (request.operation !== 'write') await item.deletePassword()
  return null
}

/** Rejects also when the keychain accepts an item but does not return it. */
async function writeSurely(item: AsyncEntry, value: string): Promise<void> {
  await item.setPassword(value)
  if ((await item.getPassword()) !== value) throw new Error('what was written cannot be read')
}

/** Uses `require`: an import reads the native module's loader twice to learn its exports, 6 ms of a client's start. */
function loadKeytar(): typeof import('keytar') {
  return createRequire(import.meta.url)('keytar') as typeof import('keytar')
}
