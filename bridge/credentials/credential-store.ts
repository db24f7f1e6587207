import { createHash } from 'node:crypto'
import { withoutSignIn } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { Credential } from './credential.ts'

/** Identifies a stored login: the lower-case hexadecimal SHA-256 from {@link loginId}. */
export type LoginId = string

/** A place of the key that seals the credentials. Drawbridge does not manage the one in the environment. */
export type KeyPlaceName = 'keychain' | 'file' | 'environment'

/** An entry of {@link CredentialStore.list}: the login, or the path of its file and why it cannot be read. */
export type StoredLogin =
  | { kind: 'readable'; id: LoginId; credential: Credential }
  | { kind: 'unreadable'; id: LoginId; file: string; failure: CredentialError }

/** Sealed credentials that outlive the process, shared with every other bridge of this user. */
export interface CredentialStore {
  /** Returns the stored credential, whichever process wrote it. Rejects with {@link CredentialError}. */
  read(id: LoginId): Promise<Credential | undefined>
  /** Stores durably: it survives a kill once this resolves. Does not check the generation; the writer holds the lock. */
  write(id: LoginId, credential: Credential): Promise<void>
  /** Returns whether there was one. */
  remove(id: LoginId): Promise<boolean>
  /** Returns every stored login. An unreadable one does not hide the others. */
  list(): Promise<readonly StoredLogin[]>
  /** Rejects as {@link CredentialStore.write} would. Call it before asking a user to sign in. */
  prepare(): Promise<void>
  /** Removes everything, including unreadable records, and the key. Revokes nothing. */
  clear(): Promise<void>
  /** Notices from the owner of a lock to those waiting for it. */
  notices: NoticeBoard
  /**
   * Runs `work` while no other caller, here or in another process, holds `name`; `lease` identifies that ownership. Calls
   * `instead` while waiting, with the lease of an owner that has proved to be alive: a result ends the wait. Rejects with
   * `busy` after `waitMs`.
   */
  exclusively<T>(
    name: string,
    options: { waitMs: number; instead?: (heldBy: string | undefined) => Promise<T | undefined> },
    work: (lease: string) => Promise<T>,
  ): Promise<T>
  /** Returns the place of the key, for display. Undefined before anything was stored. */
  backend(): Promise<KeyPlaceName | 'memory' | undefined>
}

/**
 * Short texts, one per name, that all processes of this user can read. Stored as plain text for their owner only:
 * never a token. Post only while holding the lock of that name, and remove the notice before releasing it.
 */
interface NoticeBoard {
  post(name: string, text: string): Promise<void>
  read(name: string): Promise<string | undefined>
  remove(name: string): Promise<void>
}

/** Reasons why credentials are unavailable. Each has its own next step. */
export type CredentialFault =
  | 'keychain_locked'
  | 'keychain_absent'
  | 'keychain_mute'
  | 'keychain_failed'
  | 'key_missing'
  | 'corrupt'
  | 'newer_version'
  | 'not_writable'
  | 'busy'

/** Credentials that cannot be used, whether they exist or not. Never a reason to create a second, empty store. */
export class CredentialError extends Error {
  override readonly name = 'CredentialError'
  readonly fault: CredentialFault
  /** Next step for the user, where it is more specific than the fault. */
  readonly nextStep: string | undefined

  constructor(
    fault: CredentialFault,
    message: string,
    { nextStep, ...options }: { cause?: unknown; nextStep?: string | undefined } = {},
  ) {
    super(message, options)
    this.fault = fault
    this.nextStep = nextStep
  }
}

/** Settings for credential storage. */
export interface CredentialsConfig {
  /** The folder of this user: `~/.drawbridge`, regardless of XDG, as clients strip the environment. */
  home: string
  /** Undefined: the earlier choice, or else the keychain if it works, or else a file. `memory` writes nothing at all. */
  backend: 'keychain' | 'file' | 'memory' | undefined
  /** The key itself from the environment, as base64url of 32 bytes. Secret; never written anywhere. */
  key?: string | undefined
  /** Time limit for the keychain: seconds where a prompt may be on the screen, less under a client. */
  keychainTimeoutMs: number
}

/**
 * Returns the id of one user's login at one server, the same for all spellings of its address. `staticClient` and `resource` are
 * the configured ones, undefined where the server decides.
 */
export function loginId({
  serverUrl,
  resource,
  staticClient,
  profile,
}: {
  serverUrl: string
  resource?: string | undefined
  staticClient?: { clientId: string } | undefined
  profile: string
}): LoginId {
  const named = [address(serverUrl), resource ?? null, staticClient?.clientId ?? null, profile]
  return createHash('sha256').update(JSON.stringify(named)).digest('hex')
}

/** Returns whether `text` can be the name of a record. Other files in that folder are not ours. */
export function isLoginId(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text)
}

function address(serverUrl: string): string {
  const url = withoutSignIn(serverUrl)
  url.hash = ''
  url.pathname = url.pathname.replace(/\/+$/, '')
  return url.href
}
