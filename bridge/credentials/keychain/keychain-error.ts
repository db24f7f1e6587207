import { CredentialError, type CredentialFault } from '../credential-store.ts'

/** For Linux alone, where these messages come from. */
const startService =
  'Start a Secret Service such as gnome-keyring with a session bus; or use --store file and sign in again.'

type KeychainFault = Extract<CredentialFault, `keychain_${string}`>

/** All failures of the native module share one code; only their messages differ. */
const faults: readonly (readonly [RegExp, KeychainFault, string, nextStep?: string])[] = [
  [/DBUS_SESSION_BUS_ADDRESS/, 'keychain_absent', 'there is no session bus', startService],
  [
    /not provided by any \.service files/,
    'keychain_absent',
    'no Secret Service runs on this computer',
    startService,
  ],
  [
    /Cannot find native binding|MODULE_NOT_FOUND|ERR_MODULE_NOT_FOUND|Cannot find (?:package|module)/,
    'keychain_absent',
    'its native part is not installed, or cannot be loaded',
  ],
  [/Did not receive a reply|NoReply/, 'keychain_mute', 'the keychain service does not answer'],
  [/unlock prompt was dismissed|IsLocked|locked collection/, 'keychain_locked', 'it is locked'],
  [/no result found/, 'keychain_locked', 'there is no unlocked collection for new items'],
  [/interaction is not allowed|-25308/i, 'keychain_locked', 'it is locked and cannot prompt here'],
]

/** Maps the message of a keychain to an error. */
export function explainKeychain(message: string, cause?: unknown): CredentialError {
  for (const [pattern, fault, detail, nextStep] of faults) {
    if (pattern.test(message)) return keychainError(fault, detail, { cause, nextStep })
  }
  // The operating system's own words, on one line; they never contain a secret.
  const words = message.replaceAll(/\s+/g, ' ').slice(0, 200)
  return keychainError('keychain_failed', words === '' ? 'it failed without a word' : words, { cause })
}

/** The error of a keychain that did not answer in time. */
export function tooSlow(timeoutMs: number): CredentialError {
  const detail = `it is locked or waits for an answer on the screen (no answer in ${timeoutMs / 1000} s)`
  return keychainError('keychain_locked', detail)
}

/** An error that says why the keychain cannot be used. */
export function keychainError(
  fault: KeychainFault,
  detail: string,
  options?: { cause?: unknown; nextStep?: string | undefined },
): CredentialError {
  return new CredentialError(fault, `The keychain cannot be used: ${detail}.`, options)
}
