import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { createSignal, settledWithin, type Settled } from '@drawbridge/shared/async.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { AuthorizationPrompt } from '../http/http-client.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

/** A sign-in as the proxy is given it. */
export interface PendingSignIn {
  prompt: Promise<AuthorizationPrompt>
  done: Promise<void>
  cancel(): void
}

/** One sign-in from its beginning to its end. */
export class SignInAttempt {
  /** Resolves with where to go; never rejects, but stays open when the sign-in fails before. */
  readonly prompt: Promise<AuthorizationPrompt>
  /** Rejects with what the sign-in failed with. */
  readonly done: Promise<void>
  /** Random: names the attempt to clients. */
  readonly id: string
  /** Given when the client would not open the link. */
  readonly declined = createSignal()
  /** Some client was asked to open the link by elicitation. */
  isElicited = false
  /** The link was handed out as text. */
  wasShown = false
  /** The link is in a browser in front of the person. Not so a device code, which is seen in answers only. */
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
   * Waits for the sign-in, but not longer than a request may be held: `waitMs` from the beginning of the attempt or, if that is
   * earlier, from `askedMs` (monotonic milliseconds), and not at all once a device code is shown, which nobody enters that fast.
   */
  settled(signal: AbortSignal | undefined, askedMs: number = this.#startedMs): Promise<Settled> {
    const endMs = Math.min(this.#startedMs, askedMs) + this.#waitMs
    const leftMs = Math.max(0, endMs - performance.now())
    return settledWithin(this.done, leftMs, { signal, when: this.#deviceCode.given })
  }

  /** Returns the link, if it is known within that time. */
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
  /** Left out where nobody can sign in: refusals are told to the client then. */
  signIn?: (() => PendingSignIn) | undefined
  /** Returns whether a browser is going to show it. */
  openBrowser(url: string): boolean
  /** For the person at the terminal. */
  say(line: string): void
  /** Called each time somebody has signed in. */
  succeeded(): void
  randomId(): string
  runtime: Pick<Runtime, 'now'>
}

const pauseSeconds = 30

/**
 * The sign-ins of this process: at most one at a time. Each opens the browser once, and says the link too: the browser may be on
 * another computer. A page that is not confirmed is not opened.
 */
export class SignIns {
  /** The failure of the last sign-in, until another one works. */
  lastFailure: unknown
  /** False: refusals go through as they are. */
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

  /** Resolves when somebody has signed in, by whatever sign-in that is. */
  get success(): Promise<void> {
    return this.#signedIn.given
  }

  /**
   * Returns the pending sign-in, or a new one. Undefined if there is no way to sign in, or if one failed within the last 30
   * seconds and no person asked: a host that calls in a loop must not open a tab each time.
   */
  begin(byPerson: boolean): SignInAttempt | undefined {
    if (this.#current !== undefined) return this.#current.attempt
    const { runtime, signIn } = this.#ports
    if (signIn === undefined || this.#isClosed) return undefined
    const isTooSoon = this.#failedAt !== undefined && runtime.now() - this.#failedAt < pauseSeconds
    return isTooSoon && !byPerson ? undefined : this.#start(signIn())
  }

  /** Ends the pending one, for good. */
  close(): void {
    this.#isClosed = true
    this.#current?.cancel()
  }

  #start(begun: PendingSignIn): SignInAttempt {
    const { prompt, done } = begun
    const followed = this.#follow(done)
    // Nobody may be waiting when it fails; those who come later are told.
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

/** Returns the link to open: with the code in it where the server offers that. */
export function linkOf(prompt: AuthorizationPrompt): string {
  return prompt.kind === 'device' ? (prompt.completeUrl ?? prompt.url) : prompt.url
}

/** Tells a person in one line where to go, and what to type there; first what they should know about the page. */
export function signInLine(prompt: AuthorizationPrompt): string {
  return `${unconfirmedText(prompt)}${prompt.kind === 'browser' ? `Sign in here: ${prompt.url}` : deviceLine(prompt)}`
}

function deviceLine(prompt: Extract<AuthorizationPrompt, { kind: 'device' }>): string {
  const link = linkOf(prompt)
  // A page of this computer is out of reach for a phone.
  const isHere = isUrl(link) && isLoopbackHostname(new URL(link).hostname)
  const where = isHere ? 'in a browser on this computer' : 'on any device'
  const what = prompt.completeUrl === undefined ? 'enter' : 'check that it shows'
  return `${prompt.askedBy} asks you to open ${link} ${where} and ${what} the code ${prompt.userCode}`
}

/** Warns of a page that is not confirmed, with a space behind it; empty for one that is. */
export function unconfirmedText({ unconfirmed }: Pick<AuthorizationPrompt, 'unconfirmed'>): string {
  if (unconfirmed === undefined) return ''
  const { page, namedBy } = unconfirmed
  return `${namedBy} sends you to ${page} to sign in. Nothing at ${page} confirms that the two belong together, so the page is not opened for you. Go there only if you know that they do. `
}

/** Returns whether the only way on is a person. Errors of the token source look like those of the transports. */
export function isSignInNeeded(error: unknown): boolean {
  return error instanceof Error && 'fault' in error && error.fault === 'sign_in_needed'
}
