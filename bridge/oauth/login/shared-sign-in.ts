import { unlessAborted } from '@drawbridge/shared/async.ts'
import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { parseJsonObject } from '@drawbridge/shared/json-object.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { CredentialError, type CredentialStore, type LoginId } from '../../credentials/credential-store.ts'
import type { Credential } from '../../credentials/credential.ts'
import {
  OAuthFailure,
  type OAuthFault,
  type PendingSignIn,
  type SignInFlow,
  type SignInPrompt,
  type SignInRequest,
} from '../login-port.ts'
import { hasTokens } from '../tokens/stored-tokens.ts'
import { cancelled } from '../wait.ts'

const lockMs = 20_000
/** Longer than the user's time limit, so that the process that signs in times out first and reports it. */
const followSlackMs = 30_000

/**
 * Notice from the process that signs in to those that follow. `lease`: of the lock that covers the sign-in. A link is
 * void when that lock is free or has another owner.
 */
type SignInNotice = { lease: string } & (
  | { kind: 'prompt'; prompt: SignInPrompt }
  /** The user declined, or the configuration cannot work: other processes must not repeat it. */
  | { kind: 'failed'; fault: OAuthFault; message: string }
)

const noticeVersion = 1

/** Dependencies of a sign-in. */
interface SharedSignInPorts {
  id: LoginId
  store: CredentialStore
  flow: SignInFlow
  runtime: Runtime
  note(text: string): void
  /** Called with the new login, whichever process signed in. */
  signedIn(credential: Credential): void
}

/** A sign-in to run. */
interface AskedSignIn {
  request: Omit<SignInRequest, 'previous'>
  /** The sign-in whose tokens no longer work, so any other one satisfies the request; undefined: the stored one. */
  refused: { signInId: string | undefined } | undefined
  timeoutMs: number
  /** The previous sign-in of this process. */
  after: Promise<void>
}

/**
 * A sign-in, or the pending one of another process, which it follows: shows its prompt here too, and uses the login
 * that it stores. When that process is gone, one of its followers takes over; when it failed for good, all fail with
 * it.
 */
export class SharedSignIn implements PendingSignIn {
  readonly prompt: Promise<SignInPrompt>
  readonly done: Promise<void>
  /** Resolves when nothing is left to do, also after a cancellation. Never rejects. */
  readonly finished: Promise<void>
  readonly #ports: SharedSignInPorts
  readonly #asked: AskedSignIn
  readonly #name: string
  readonly #stop = new AbortController()
  readonly #listeners: ((prompt: SignInPrompt) => void)[] = []
  #showFirst: (prompt: SignInPrompt) => void = () => undefined
  #latest: SignInPrompt | undefined
  #refused: AskedSignIn['refused']
  /** The lease of the sign-in whose prompt is shown here. */
  #followed: string | undefined

  constructor(asked: AskedSignIn, ports: SharedSignInPorts) {
    this.#asked = asked
    this.#ports = ports
    this.#refused = asked.refused
    this.#name = `signin-${ports.id}`
    const running = this.#run()
    this.finished = running.catch(() => undefined)
    this.done = unlessAborted(running, this.#stop.signal, cancelled)
    this.prompt = new Promise((resolve, reject) => {
      this.#showFirst = resolve
      const completed = new OAuthFailure('cancelled', 'The sign-in has already been completed.')
      this.done.then(() => reject(completed), reject)
    })
    // Callers may ignore it.
    this.prompt.catch(() => undefined)
  }

  get isCancelled(): boolean {
    return this.#stop.signal.aborted
  }

  cancel(): void {
    this.#stop.abort()
  }

  onPrompt(listener: (prompt: SignInPrompt) => void): void {
    this.#listeners.push(listener)
    if (this.#latest !== undefined) listener(this.#latest)
  }

  #show(prompt: SignInPrompt): void {
    this.#latest = prompt
    this.#showFirst(prompt)
    for (const listener of this.#listeners) listener(prompt)
  }

  async #run(): Promise<void> {
    await this.#asked.after
    const waitMs = this.#asked.timeoutMs + followSlackMs
    const options = { waitMs, instead: (heldBy: string | undefined) => this.#follow(heldBy) }
    try {
      await this.#ports.store.exclusively<true>(this.#name, options, (lease) => this.#own(lease))
    } catch (error) {
      if (!isBusy(error)) throw error
      throw new OAuthFailure('timeout', 'The sign-in timed out.', { cause: error })
    }
  }

  async #isDone(): Promise<boolean> {
    const { credential } = await readIfPossible(this.#ports.store, this.#ports.id)
    this.#refused ??= { signInId: credential?.signInId }
    if (!hasTokens(credential) || credential.signInId === this.#refused.signInId) return false
    this.#ports.signedIn(credential)
    return true
  }

  /** Shows a link only while the process that listens for the browser is alive; a notice may outlive a killed process. */
  async #follow(heldBy: string | undefined): Promise<true | undefined> {
    if (this.isCancelled) throw cancelled()
    if (await this.#isDone()) return true
    const notice = await this.#readNotice()
    this.#failLike(notice)
    if (notice?.kind === 'prompt' && notice.lease === heldBy && heldBy !== this.#followed) {
      this.#followed = heldBy
      this.#show({ ...notice.prompt, followed: true })
    }
    return undefined
  }

  async #own(lease: string): Promise<true> {
    if (await this.#isDone()) return true
    if (this.#followed !== undefined) {
      this.#failLike(await this.#readNotice())
      if (this.#latest !== undefined && this.#listeners.length === 0) {
        throw new OAuthFailure('cancelled', 'The process that was signing in is gone. Sign in again.')
      }
    }
    let posted: Promise<void> = Promise.resolve()
    try {
      await this.#signIn((prompt) => {
        posted = this.#post({ lease, kind: 'prompt', prompt })
        void posted.then(() => this.#show(prompt))
      })
      await posted
    } catch (error) {
      await posted
      if (error instanceof OAuthFailure && error.fault !== 'cancelled' && !this.isCancelled) {
        await this.#post({ lease, kind: 'failed', fault: error.fault, message: error.message })
      } else await this.#removeNotice()
      throw error
    }
    await this.#removeNotice()
    return true
  }

  async #signIn(announce: (prompt: SignInPrompt) => void): Promise<void> {
    const { id, store, flow } = this.#ports
    // Do not ask the user to sign in if the login cannot be stored.
    await store.prepare()
    const { credential: previous } = await readIfPossible(store, id)
    const issued = await flow({ ...this.#asked.request, previous }, announce, this.#stop.signal)
    try {
      await store.exclusively(id, { waitMs: lockMs }, () => this.#save(issued))
    } catch (error) {
      if (!isBusy(error)) throw error
      // The user has just signed in for this. The lock's owner finds new tokens and discards its own.
      await this.#save(issued)
    }
  }

  async #save(issued: Credential): Promise<void> {
    const { id, store, runtime, signedIn } = this.#ports
    const stored = await readIfPossible(store, id)
    // The generation of an unreadable credential is unknown; no real one comes near the current time.
    const last = stored.isUnreadable ? runtime.now() : (stored.credential?.generation ?? 0)
    const signInId = encodeBase64url(runtime.randomBytes(16))
    const credential = { ...issued, generation: last + 1, signInId }
    await store.write(id, credential)
    signedIn(credential)
  }

  #failLike(notice: SignInNotice | undefined): void {
    if (notice?.kind === 'failed' && notice.lease === this.#followed) {
      throw new OAuthFailure(notice.fault, notice.message)
    }
  }

  /** Undefined for another version of the format. Checks nothing else: only this user can write there. */
  async #readNotice(): Promise<SignInNotice | undefined> {
    const text = await this.#ports.store.notices.read(this.#name)
    const { version, ...notice } = parseJsonObject(text ?? '') ?? {}
    return version === noticeVersion ? (notice as unknown as SignInNotice) : undefined
  }

  async #post(notice: SignInNotice): Promise<void> {
    const { store, note } = this.#ports
    // Followers can still wait for the login itself.
    const onFailure = (): void => note('sign-in cannot be shared')
    const text = JSON.stringify({ version: noticeVersion, ...notice })
    await store.notices.post(this.#name, text).catch(onFailure)
  }

  async #removeNotice(): Promise<void> {
    await this.#ports.store.notices.remove(this.#name).catch(() => undefined)
  }
}

/** Reads the stored login. An unreadable one does not prevent a sign-in, which replaces it. */
export async function readIfPossible(
  store: CredentialStore,
  id: LoginId,
): Promise<{ credential: Credential | undefined; isUnreadable: boolean }> {
  try {
    return { credential: await store.read(id), isUnreadable: false }
  } catch (error) {
    if (!(error instanceof CredentialError)) throw error
    return { credential: undefined, isUnreadable: true }
  }
}

function isBusy(error: unknown): boolean {
  return error instanceof CredentialError && error.fault === 'busy'
}
