import { settledWithin } from '../transport/settled-within.ts'
import type { Settled } from '../transport/settled-within.ts'

/**
 * Where a person has to go to sign in. Holds no secret beyond what the link itself needs. `askedBy` is the host of the server;
 * `unconfirmed` the host of a page that does not confirm that it belongs to `namedBy`, which sends people there.
 */
export type AuthorizationPrompt = { unconfirmed?: { page: string; namedBy: string } } & (
  | { kind: 'browser'; url: string }
  | {
      kind: 'device'
      url: string
      completeUrl?: string
      userCode: string
      expiresAt: number
      askedBy: string
    }
)

/** A sign-in as the proxy is given it. */
export interface PendingSignIn {
  prompt: Promise<AuthorizationPrompt>
  done: Promise<void>
  cancel(): void
}

/** One sign-in from its beginning to its end. */
export interface SignInAttempt {
  /** Resolves with where to go; never rejects, but stays open when the sign-in fails before. */
  readonly prompt: Promise<AuthorizationPrompt>
  /** Rejects with what the sign-in failed with. */
  readonly done: Promise<void>
  /**
   * Waits until somebody has signed in, but not longer than a request may be held: `waitMs` from the beginning of the attempt
   * or, if that is earlier, from `askedMs` (monotonic milliseconds), and not at all once a device code is shown, which nobody
   * enters that fast.
   */
  settled(signal: AbortSignal | undefined, askedMs?: number): Promise<Settled>
  /** Random: names the attempt to clients. */
  readonly id: string
  /** Whether some client was asked to open the link by elicitation. */
  isElicited: boolean
  /** Resolves when the client would not open it. */
  readonly declined: Promise<void>
  decline(): void
  /** Whether the link was handed out as text. */
  wasShown: boolean
}

/** The sign-ins of this process: at most one at a time. */
export interface SignIns {
  pending(): SignInAttempt | undefined
  /**
   * The pending sign-in, or a new one. Undefined if there is no way to sign in, or if one failed within the last 30 seconds
   * and no person asked: a host that calls in a loop must not open a tab each time.
   */
  begin(byPerson: boolean): SignInAttempt | undefined
  /** What the last sign-in failed with, until another one works. */
  lastFailure(): unknown
  /** Resolves when somebody has signed in, by whatever sign-in that is. */
  success(): Promise<void>
  /** Ends the pending one, for good. */
  close(): void
}

/** What sign-ins need from outside. */
export interface SignInsPorts {
  /** How long requests wait for a sign-in, in milliseconds. */
  waitMs: number
  signIn: (() => PendingSignIn) | undefined
  openBrowser(url: string): void
  /** For the person at the terminal. */
  say(line: string): void
  /** Called each time somebody has signed in. */
  succeeded(): void
  randomId(): string
  /** Epoch seconds. */
  now(): number
}

const pauseSeconds = 30

/**
 * Each begun sign-in opens the browser once, and says the link too: the browser may be on another computer. A page that is not
 * confirmed is not opened.
 */
export function createSignIns(ports: SignInsPorts): SignIns {
  let current: { attempt: SignInAttempt; cancel(): void } | undefined
  let failure: unknown
  let failedAt: number | undefined
  let isClosed = false
  let signedIn = createSignal()

  async function follow(done: Promise<void>): Promise<void> {
    try {
      await done
    } catch (error) {
      current = undefined
      failure = error
      failedAt = ports.now()
      throw error
    }
    current = undefined
    failure = undefined
    failedAt = undefined
    signedIn.give()
    signedIn = createSignal()
    if (!isClosed) ports.succeeded()
  }

  async function announce(prompt: Promise<AuthorizationPrompt>): Promise<void> {
    const where = await prompt
    if (isClosed) return
    ports.say(signInLine(where))
    if (where.unconfirmed === undefined) ports.openBrowser(linkOf(where))
  }

  function start(signIn: () => PendingSignIn): SignInAttempt {
    const begun = signIn()
    const done = follow(begun.done)
    // Nobody may be waiting when it fails; those who come later are told.
    done.catch(() => {})
    const prompt = begun.prompt.catch(() => new Promise<AuthorizationPrompt>(() => {}))
    announce(prompt).catch(() => ports.say('The browser could not be opened.'))
    const deviceCode = createSignal()
    void prompt.then(({ kind }) => kind === 'device' && deviceCode.give())
    const startedMs = performance.now()
    const refusal = createSignal()
    const attempt: SignInAttempt = {
      prompt,
      done,
      settled(signal, askedMs = startedMs) {
        const endMs = Math.min(startedMs, askedMs) + ports.waitMs
        const leftMs = Math.max(0, endMs - performance.now())
        return settledWithin(done, leftMs, { signal, when: deviceCode.given })
      },
      id: ports.randomId(),
      isElicited: false,
      declined: refusal.given,
      decline: () => refusal.give(),
      wasShown: false,
    }
    current = { attempt, cancel: () => begun.cancel() }
    return attempt
  }

  return {
    pending: () => current?.attempt,
    begin(byPerson) {
      if (current !== undefined) return current.attempt
      if (ports.signIn === undefined || isClosed) return undefined
      const isTooSoon = failedAt !== undefined && ports.now() - failedAt < pauseSeconds
      return isTooSoon && !byPerson ? undefined : start(ports.signIn)
    },
    lastFailure: () => failure,
    success: () => signedIn.given,
    close() {
      isClosed = true
      current?.cancel()
    },
  }
}

/** A promise, and what resolves it. */
export function createSignal(): { given: Promise<void>; give(): void } {
  let give = (): void => {}
  const given = new Promise<void>((resolve) => {
    give = resolve
  })
  return { given, give: () => give() }
}

/** The link to open: with the code in it where the server offers that. */
export function linkOf(prompt: AuthorizationPrompt): string {
  return prompt.kind === 'device' ? (prompt.completeUrl ?? prompt.url) : prompt.url
}

/** One line for a person: where to go, and what to type there; first what they should know about the page. */
export function signInLine(prompt: AuthorizationPrompt): string {
  const line =
    prompt.kind === 'browser'
      ? `Sign in: ${prompt.url}`
      : `${prompt.askedBy} asks you to open ${prompt.url} and enter the code ${prompt.userCode}`
  return `${unconfirmedText(prompt)}${line}`
}

/** What a person should know about a page before they go there, with a space behind it; empty for a page that is confirmed. */
export function unconfirmedText({ unconfirmed }: Pick<AuthorizationPrompt, 'unconfirmed'>): string {
  if (unconfirmed === undefined) return ''
  const { page, namedBy } = unconfirmed
  return `${namedBy} sends you to ${page} to sign in. Nothing at ${page} confirms that the two belong together, so the page is not opened for you. Go there only if you know that they do. `
}

/** Whether the only way on is a person. Errors of the token source look like those of the transports. */
export function isSignInNeeded(error: unknown): boolean {
  return error instanceof Error && 'fault' in error && error.fault === 'sign_in_needed'
}

/** The link of `attempt`, if it is known within `waitMs`. */
export async function promptOf(
  attempt: SignInAttempt,
  waitMs: number,
  signal: AbortSignal | undefined,
): Promise<AuthorizationPrompt | undefined> {
  const end = await settledWithin(attempt.prompt, waitMs, { signal, when: attempt.done })
  return end === 'done' ? attempt.prompt : undefined
}
