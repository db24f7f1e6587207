import { parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { CredentialError, type CredentialStore, type LoginId } from '../../credentials/credential-store.ts'
import {
  type AnnounceSignIn,
  OAuthFailure,
  type OAuthFault,
  type PendingSignIn,
  type SignInPrompt,
} from '../login-port.ts'
import { cancelled } from '../wait.ts'

/**
 * Notice from the process that signs in to those that follow. `owner` is random and identifies one sign-in; `lease`
 * is the lock that covers it. A link is void when that lock is free or has another owner.
 */
type SignInNotice =
  | { owner: string; lease: string; kind: 'prompt'; prompt: SignInPrompt }
  /** The user declined, or the configuration cannot work: other processes must not repeat it. */
  | { owner: string; kind: 'failed'; fault: OAuthFault; message: string }

const noticeVersion = 1

/** Serializes a notice. */
export function writeSignInNotice(notice: SignInNotice): string {
  return JSON.stringify({ version: noticeVersion, ...notice })
}

/**
 * Returns undefined for anything but a notice of this version of the format. Checks nothing else: only this user can
 * write there.
 */
export function parseSignInNotice(text: string): SignInNotice | undefined {
  const { version, ...notice } = parseJsonObject(text) ?? {}
  return version === noticeVersion ? (notice as unknown as SignInNotice) : undefined
}

/** One sign-in that several processes may need at the same time. */
interface SharedSignIn {
  id: LoginId
  store: CredentialStore
  /** Wait for this first: a cancelled sign-in holds its lock for another moment. */
  after: Promise<void>
  /** Time limit for following another process. */
  waitMs: number
  /** Returns whether the wanted login is stored by now, whichever process did it. */
  isDone(): Promise<boolean>
  /** Signs in and stores the login. Only one process does so at a time. */
  signIn(announce: AnnounceSignIn, signal: AbortSignal): Promise<void>
  randomId(): string
  note(text: string): void
}

/**
 * Signs in, or follows the process that is already doing so: shows its prompt here too, and uses the login that it
 * stores. When that process is gone, one of its followers takes over; when it failed for good, all fail with it.
 *
 * `finished` resolves when nothing is left to do, also after a cancellation; it never rejects.
 */
export function shareSignIn(shared: SharedSignIn): PendingSignIn & { finished: Promise<void> } {
  const stop = new AbortController()
  const prompts = createPrompts()
  const running = new SignInRun(shared, prompts, stop.signal).run()
  const stopped = new Promise<never>((_resolve, reject) => {
    stop.signal.addEventListener('abort', () => reject(cancelled()), { once: true })
  })
  const done = Promise.race([running, stopped])
  done.then(
    () => prompts.close(new OAuthFailure('cancelled', 'The sign-in has already been completed.')),
    (error: unknown) => prompts.close(error),
  )
  return {
    prompt: prompts.first,
    done,
    onPrompt: prompts.listen,
    cancel: () => stop.abort(),
    finished: running.catch(() => undefined),
  }
}

/** The part of one process in a shared sign-in. */
class SignInRun {
  readonly #shared: SharedSignIn
  readonly #prompts: Prompts
  readonly #signal: AbortSignal
  readonly #name: string
  /** The owner whose prompt is shown here. */
  #followed: string | undefined

  constructor(shared: SharedSignIn, prompts: Prompts, signal: AbortSignal) {
    this.#shared = shared
    this.#prompts = prompts
    this.#signal = signal
    this.#name = `signin-${shared.id}`
  }

  async run(): Promise<void> {
    const { store, waitMs, after } = this.#shared
    await after
    const options = { waitMs, instead: (heldBy: string | undefined) => this.#follow(heldBy) }
    try {
      await store.exclusively<true>(this.#name, options, (lease) => this.#own(lease))
    } catch (error) {
      if (!(error instanceof CredentialError && error.fault === 'busy')) throw error
      throw new OAuthFailure('timeout', 'The sign-in timed out.', { cause: error })
    }
  }

  /**
   * Shows a link only while the process that listens for the browser is alive; a notice may outlive a killed process.
   */
  async #follow(heldBy: string | undefined): Promise<true | undefined> {
    if (this.#signal.aborted) throw cancelled()
    if (await this.#shared.isDone()) return true
    const notice = await this.#readNotice()
    this.#failLike(notice)
    if (notice?.kind === 'prompt' && notice.lease === heldBy && notice.owner !== this.#followed) {
      this.#followed = notice.owner
      this.#prompts.show({ ...notice.prompt, followed: true })
    }
    return undefined
  }

  async #own(lease: string): Promise<true> {
    if (await this.#shared.isDone()) return true
    if (this.#followed !== undefined) {
      this.#failLike(await this.#readNotice())
      if (!this.#prompts.canShowAnother()) {
        throw new OAuthFailure('cancelled', 'The process that was signing in is gone. Sign in again.')
      }
    }
    const owner = this.#shared.randomId()
    let posted: Promise<void> = Promise.resolve()
    try {
      await this.#shared.signIn((prompt) => {
        posted = this.#post({ owner, lease, kind: 'prompt', prompt })
        void posted.then(() => this.#prompts.show(prompt))
      }, this.#signal)
    } catch (error) {
      await posted
      if (error instanceof OAuthFailure && error.fault !== 'cancelled' && !this.#signal.aborted) {
        await this.#post({ owner, kind: 'failed', fault: error.fault, message: error.message })
      } else {
        await this.#removeNotice()
      }
      throw error
    }
    await posted
    await this.#removeNotice()
    return true
  }

  #failLike(notice: SignInNotice | undefined): void {
    if (notice?.kind === 'failed' && notice.owner === this.#followed) {
      throw new OAuthFailure(notice.fault, notice.message)
    }
  }

  async #readNotice(): Promise<SignInNotice | undefined> {
    const text = await this.#shared.store.notices.read(this.#name)
    return text === undefined ? undefined : parseSignInNotice(text)
  }

  async #post(notice: SignInNotice): Promise<void> {
    const { store, note } = this.#shared
    // Followers can still wait for the login itself.
    const onFailure = (): void => note('sign-in cannot be shared')
    await store.notices.post(this.#name, writeSignInNotice(notice)).catch(onFailure)
  }

  async #removeNotice(): Promise<void> {
    await this.#shared.store.notices.remove(this.#name).catch(() => undefined)
  }
}

interface Prompts {
  first: Promise<SignInPrompt>
  show(prompt: SignInPrompt): void
  listen(listener: (prompt: SignInPrompt) => void): void
  /** Returns whether the user would see another prompt. */
  canShowAnother(): boolean
  close(error: unknown): void
}

function createPrompts(): Prompts {
  const listeners: ((prompt: SignInPrompt) => void)[] = []
  let latest: SignInPrompt | undefined
  let resolve: (prompt: SignInPrompt) => void = () => undefined
  let reject: (error: unknown) => void = () => undefined
  const first = new Promise<SignInPrompt>((resolveFirst, rejectFirst) => {
    resolve = resolveFirst
    reject = rejectFirst
  })
  // Callers may ignore it.
  first.catch(() => undefined)
  return {
    first,
    show(prompt) {
      latest = prompt
      resolve(prompt)
      for (const listener of listeners) listener(prompt)
    },
    listen(listener) {
      listeners.push(listener)
      if (latest !== undefined) listener(latest)
    },
    canShowAnother: () => latest === undefined || listeners.length > 0,
    close: (error) => reject(error),
  }
}
