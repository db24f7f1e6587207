import type { Credential } from './credential.ts'
import { createHash } from 'node:crypto'

/** What one login is stored under: the lower-case hexadecimal SHA-256 that {@link loginId} makes. */
export type LoginId = string

/** Where the key that seals the credentials is kept. `memory` writes nothing at all. */
export type KeyBackend = 'keychain' | 'file' | 'memory'

/** Where that key is found, also where Drawbridge does not keep it itself. */
export type KeyPlace = KeyBackend | 'environment'

/** A login as {@link CredentialStore.list} finds it: what it is, or the path of its file and why it cannot be read. */
export type StoredLogin =
  | { kind: 'readable'; id: LoginId; credential: Credential }
  | { kind: 'unreadable'; id: LoginId; file: string; failure: CredentialError }

/** Tells somebody that they hold what they asked to hold alone. */
export interface Lease {
  /** Names this holding among all of that name, for those who wait. */
  readonly id: string
  /** Whether it is still held; false once it was lost, by a long sleep of the machine for instance. */
  isHeld(): boolean
}

/** Sealed credentials that outlive the process, shared with every other bridge of this user. */
export interface CredentialStore {
  /** What is stored now, whoever wrote it. Rejects with {@link CredentialError}. */
  read(id: LoginId): Promise<Credential | undefined>
  /**
   * Stores it for good: when this resolves it survives a kill. Not checked: its generation; whoever writes holds the lease.
   */
  write(id: LoginId, credential: Credential): Promise<void>
  /** Whether there was one. */
  remove(id: LoginId): Promise<boolean>
  /** Every login that is stored. One that cannot be read keeps nobody from the others. Rejects when nobody can look. */
  list(): Promise<readonly StoredLogin[]>
  /** Rejects with what {@link CredentialStore.write} would reject with: to be asked before a person signs in for nothing. */
  prepare(): Promise<void>
  /** Removes everything, also what nothing opens any more, and the key. Revokes nothing. */
  clear(): Promise<void>
  /** What the holder of a lock tells those who wait for it. */
  notices: NoticeBoard
  /**
   * Runs `work` while no other process, nor anybody else in this one, holds `name`. Waits for at most `waitMs`, then
   * rejects with {@link CredentialError} `busy`. While it waits it asks `instead` again and again, when given: an answer
   * ends the wait, and is the answer of all. `heldBy` is the {@link Lease.id} of who holds it, once that one was seen to
   * live; what holds a name may be left over from a process that was killed.
   */
  exclusively<T>(
    name: string,
    options: { waitMs: number; instead?: (heldBy: string | undefined) => Promise<T | undefined> },
    work: (lease: Lease) => Promise<T>,
  ): Promise<T>
  /** Where the key is, for people who ask. Undefined before anything was stored. */
  backend(): Promise<KeyPlace | undefined>
}

/**
 * Short texts that all processes of this user can read, one under each name. Kept in clear, for their owner only: never a
 * token. Who posts holds the lock of that name, and removes it before giving the lock back.
 */
interface NoticeBoard {
  post(name: string, text: string): Promise<void>
  read(name: string): Promise<string | undefined>
  remove(name: string): Promise<void>
}

/** Why credentials cannot be had. Each has its own next step. */
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

/** The credentials are there or not, but cannot be used. Never a reason to write a second, empty store. */
export class CredentialError extends Error {
  override readonly name = 'CredentialError'
  readonly fault: CredentialFault

  constructor(fault: CredentialFault, message: string, options: { cause?: unknown } = {}) {
    super(message, options)
    this.fault = fault
  }
}

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

/**
 * What the login of one server as one user is stored under. The ways to write the same address give the same id: case of
 * the host, default port, fragment and slashes at the end do not count. `client` and `resource` are those of the
 * configuration, undefined where the server decides. Not checked: that `serverUrl` is http or https.
 */
export function loginId(parts: {
  serverUrl: string
  resource: string | undefined
  client: string | undefined
  profile: string
}): LoginId {
  const named = [address(parts.serverUrl), parts.resource ?? null, parts.client ?? null, parts.profile]
  return createHash('sha256').update(JSON.stringify(named)).digest('hex')
}

/** Whether `text` can be the name of a record. Anything else in that folder is not ours. */
export function isLoginId(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text)
}

function address(serverUrl: string): string {
  const url = new URL(serverUrl)
  url.hash = ''
  url.pathname = url.pathname.replace(/\/+$/, '')
  return url.href
}
