import type { KeyBackend } from './credential-store.ts'

/** Where credentials are kept. */
export interface CredentialsConfig {
  /** The folder of this user: `~/.drawbridge`, whatever XDG says, as clients strip the environment. */
  home: string
  /** Undefined: what was chosen before, else the keychain if it works, else a file. */
  backend: KeyBackend | undefined
  /** The key itself, as base64url of 32 bytes, from the environment. Secret; it is written nowhere. */
  key?: string | undefined
  /** A file whose content the key is derived from: for containers. */
  keyFile: string | undefined
  /** How long the keychain may take: seconds where a prompt may be on the screen, less under a client. */
  keychainTimeoutMs: number
}
