import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { createSignal, settledWithin, type Settled } from '@drawbridge/shared/async.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { AuthorizationPrompt } from '../http/http-client.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

/** A sign-in that has begun. */
export interface PendingSignIn {
  prompt: Promise<AuthorizationPrompt>
  done: Promise<void>
  cancel(): void
}

/** One sign-in, from start to end. */
export class SignInAttempt {
  /** Resolves with the link. Never rejects: stays pending if the sign-in fails first. */
  readonly prompt: Promise<AuthorizationPrompt>
  /** Rejects with the error of the sign-in. */
  readonly done: Promise<void>
  /** Random; identifies the attempt to clients. */
  readonly id: string
  /** Given when the user declined to open the link. */
  readonly declined = createSignal()
  /** The client was asked to open the link by elicitation. */
  isElicited = false
  /** The link was returned as text. */
  wasShown = false
  /** The link is open in the user's browser. False for a device code, which only appears in answers. */
  isInBrowser = false
  readonly #waitMs: number
  readonly #startedMs = performance.now()
  readonly #deviceCode = createSignal()

  constructor({ prompt, done }: Omit<PendingSignIn, 'cancel'>, id: string, waitMs: number) {
    this.id = id
    this.done = done
    this.#waitMs = waitMs
    this.prompt = prompt.catch(() => new Promise<AuthorizationPrompt>(() => {}))
    void this.prompt.then(({ kind }) => kind === 'device' && this.#deviceCode.give())
  }

  /**
   * Waits for the sign-in as long as a request may be held: `waitMs` from the start of the attempt or from `askedMs` (monotonic
   * milliseconds), whichever is earlier. Does not wait once a device code is shown: entering it takes longer.
   */
  settled(signal: AbortSignal | undefined, askedMs: number = this.#startedMs): Promise<Settled> {
    const endMs = Math.min(this.#startedMs, askedMs) + this.#waitMs
    const leftMs = Math.max(0, endMs - performance.now())
    return settledWithin(this.done, leftMs, { signal, when: this.#deviceCode.given })
  }

  /** Returns the link if it is known within that time. */
  async promptWithin(
    timeMs: number,
    signal: AbortSignal | undefined,
  ): Promise<AuthorizationPrompt | undefined> {
    const end = await settledWithin(this.prompt, timeMs, { signal, when: this.done })
    return end === 'done' ? this.prompt : undefined
  }
}

export interface SignInsPorts {
  waitMs: number
  /** Absent if signing in is impossible: the client gets the server's refusals. */
  signIn?: (() => PendingSignIn) | undefined
  /** Returns true if a browser will open it. */
  openBrowser(url: string): boolean
  /** Writes to the user's terminal. */
  say(line: string): void
  /** Called after each successful sign-in. */
  succeeded(): void
  randomId(): string
  runtime: Pick<Runtime, 'now'>
}

const pauseSeconds = 30

/**
 * The sign-ins of this process, at most one at a time. Each opens the browser once and prints the link as well: the browser may be
 * on another computer. A page that is not confirmed is not opened.
 */
export class SignIns {
  /** The failure of the last sign-in, until another one works. */
  lastFailure: unknown
  /** False: refusals are passed on unchanged. */
  readonly canSignIn: boolean
  /** How long requests wait for a sign-in, in milliseconds. */
  readonly waitMs: number
  readonly #ports: SignInsPorts
  #current: { attempt: SignInAttempt; cancel(): void } | undefined
  #failedAt: number | undefined
  #isClosed = false
  #signedIn = createSignal()

  constructor(ports: SignInsPorts) {
    this.#ports = ports
    this.waitMs = ports.waitMs
    this.canSignIn = ports.signIn !== undefined
  }

  get pending(): SignInAttempt | undefined {
    return this.#current?.attempt
  }

  /** Resolves after the next successful sign-in. */
  get success(): Promise<void> {
    return this.#signedIn.given
  }

  /**
   * Returns the pending sign-in, or a new one. Undefined if there is no way to sign in, or if one failed within the last 30
   * seconds and the user did not ask: a client that calls in a loop must not open a tab each time.
   */
  begin(byPerson: boolean): SignInAttempt | undefined {
    if (this.#current !== undefined) return this.#current.attempt
    const { runtime, signIn } = this.#ports
    if (signIn === undefined || this.#isClosed) return undefined
    const isTooSoon = this.#failedAt !== undefined && runtime.now() - this.#failedAt < pauseSeconds
    return isTooSoon && !byPerson ? undefined : this.#start(signIn())
  }

  /** Cancels the pending sign-in. No other one can begin. */
  close(): void {
    this.#isClosed = true
    this.#current?.cancel()
  }

  #start(begun: PendingSignIn): SignInAttempt {
    const { prompt, done } = begun
    const followed = this.#follow(done)
    // Handles a failure that no request waits for; later requests are told.
    followed.catch(() => {})
    const attempt = new SignInAttempt({ prompt, done: followed }, this.#ports.randomId(), this.#ports.waitMs)
    this.#announce(attempt).catch(() => this.#ports.say('The browser could not be opened.'))
    this.#current = { attempt, cancel: () => begun.cancel() }
    return attempt
  }

  async #follow(done: Promise<void>): Promise<void> {
    try {
      await done
      this.lastFailure = undefined
      this.#failedAt = undefined
    } catch (error) {
      this.lastFailure = error
      this.#failedAt = this.#ports.runtime.now()
      throw error
    } finally {
      this.#current = undefined
    }
    this.#signedIn.give()
    this.#signedIn = createSignal()
    if (!this.#isClosed) this.#ports.succeeded()
  }

  async #announce(attempt: SignInAttempt): Promise<void> {
    const where = await attempt.prompt
    if (this.#isClosed) return
    this.#ports.say(signInLine(where))
    if (where.unconfirmed !== undefined) return
    const isOpening = this.#ports.openBrowser(linkOf(where))
    attempt.isInBrowser = isOpening && where.kind === 'browser'
  }
}

/** Returns the link to open, with the code in it if the server offers that. */
export function linkOf(prompt: AuthorizationPrompt): string {
  return prompt.kind === 'device' ? (prompt.completeUrl ?? prompt.url) : prompt.url
}

/** One line for the user: a warning about an unconfirmed page, the link, and the code to enter. */
export function signInLine(prompt: AuthorizationPrompt): string {
  return `${unconfirmedText(prompt)}${prompt.kind === 'browser' ? `Sign in here: ${prompt.url}` : deviceLine(prompt)}`
}

function deviceLine(prompt: Extract<AuthorizationPrompt, { kind: 'device' }>): string {
  const link = linkOf(prompt)
  // A phone cannot reach a page of this computer.
  const isHere = isUrl(link) && isLoopbackHostname(new URL(link).hostname)
  const where = isHere ? 'in a browser on this computer' : 'on any device'
  const what = prompt.completeUrl === undefined ? 'enter' : 'check that it shows'
  return `${prompt.askedBy} asks you to open ${link} ${where} and ${what} the code ${prompt.userCode}`
}

/** Returns a warning about a page that is not confirmed, followed by a space; empty if it is confirmed. */
export function unconfirmedText({ unconfirmed }: Pick<AuthorizationPrompt, 'unconfirmed'>): string {
  if (unconfirmed === undefined) return ''
  const { page, namedBy } = unconfirmed
  return `${namedBy} sends you to ${page} to sign in. Nothing at ${page} confirms that the two belong together, so the page is not opened for you. Go there only if you know that they do. `
}

/** Returns whether only a sign-in helps. The token source and the transports throw errors of the same shape. */
export function isSignInNeeded(error: unknown): boolean {
  return error instanceof Error && 'fault' in error && error.fault === 'sign_in_needed'
}
