import { CredentialError, type CredentialFault } from '../credential-store.ts'

/** What a keychain can be. */
type KeychainFault = Extract<CredentialFault, `keychain_${string}`>

/** All failures of the native part have one code: only their messages tell them apart. */
const faults: readonly (readonly [RegExp, KeychainFault, string])[] = [
  [/DBUS_SESSION_BUS_ADDRESS/, 'keychain_absent', 'there is no session bus'],
  [/not provided by any \.service files/, 'keychain_absent', 'no Secret Service runs on this computer'],
  [
    /Cannot find native binding|MODULE_NOT_FOUND|ERR_MODULE_NOT_FOUND|Cannot find (?:package|module)/,
    'keychain_absent',
    'its native part is not installed',
  ],
  [/Did not receive a reply|NoReply/, 'keychain_mute', 'the keychain service does not answer'],
  [/unlock prompt was dismissed|IsLocked|locked collection/, 'keychain_locked', 'it is locked'],
  [/no result found/, 'keychain_locked', 'there is no unlocked collection for new items'],
  [/interaction is not allowed|-25308/i, 'keychain_locked', 'it is locked, and nobody can be asked here'],
]

/** What a message of the keychain means. */
export function explainKeychain(message: string): { fault: KeychainFault; detail: string } {
  const known = faults.find(([pattern]) => pattern.test(message))
  if (known !== undefined) return { fault: known[1], detail: known[2] }
  // Its own words, on one line: they are of the operating system, and never of a secret.
  const words = message.replaceAll(/\s+/g, ' ').slice(0, 200)
  return { fault: 'keychain_failed', detail: words === '' ? 'it failed without a word' : words }
}

/** The failure of a keychain. `detail` says what it is. */
export function keychainError(fault: KeychainFault, detail: string, cause?: unknown): CredentialError {
  return new CredentialError(fault, `The keychain cannot be used: ${detail}.`, { cause })
}

/** No answer in that time. */
export function keychainTooSlow(timeoutMs: number): CredentialError {
  const waited = `${String(timeoutMs / 1000)} s`
  return keychainError(
    'keychain_locked',
    `it is locked or waits for an answer on the screen (no answer in ${waited})`,
  )
}
