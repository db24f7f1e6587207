import { type JsonObject, isJsonObject, parseJsonObject } from '@drawbridge/shared/json-object.ts'
import {
  type AnnounceSignIn,
  OAuthFailure,
  type OAuthFault,
  type PendingSignIn,
  type SignInPrompt,
  type UnconfirmedPage,
  oauthFaults,
} from '../login-port.ts'
import {
  CredentialError,
  type CredentialStore,
  type Lease,
  type LoginId,
} from '../../credentials/credential-store.ts'

/**
 * What the process that signs in tells those who follow. `owner` is random and names one sign-in, `lease` the lock that it
 * is under: a link is worth nothing when that is held by nobody, or by somebody else.
 */
type SignInNotice =
  | { owner: string; lease: string; kind: 'prompt'; prompt: SignInPrompt }
  /** The person said no, or what there is cannot work: nobody else is to try the same again. */
  | { owner: string; kind: 'failed'; fault: OAuthFault; message: string }

/** Text of a notice. */
export function writeSignInNotice(notice: SignInNotice): string {
  return JSON.stringify(notice)
}

/** Undefined when it is none, or of a Drawbridge that writes others. */
export function parseSignInNotice(text: string): SignInNotice | undefined {
  const value = parseJsonObject(text)
  const { owner, lease, kind, fault, message, prompt } = value ?? {}
  if (typeof owner !== 'string') return undefined
  if (kind === 'failed' && typeof message === 'string') {
    // Of another version: it may know others.
    return { owner, kind, fault: oauthFaults.find((known) => known === fault) ?? 'refused', message }
  }
  if (kind !== 'prompt' || typeof lease !== 'string' || !isJsonObject(prompt)) return undefined
  const read = parsePrompt(prompt)
  return read === undefined ? undefined : { owner, lease, kind, prompt: read }
}

function parsePrompt(value: JsonObject): SignInPrompt | undefined {
  const { kind, url, completeUrl, userCode, expiresAt, askedBy } = value
  if (typeof url !== 'string') return undefined
  const unconfirmed = parseUnconfirmed(value['unconfirmed'])
  const more = unconfirmed === undefined ? {} : { unconfirmed }
  if (kind === 'browser') return { kind, url, ...more }
  if (kind !== 'device' || typeof userCode !== 'string' || typeof expiresAt !== 'number') return undefined
  return {
    kind,
    url,
    userCode,
    expiresAt,
    // Of another version: it may not say.
    askedBy: typeof askedBy === 'string' ? askedBy : 'This server',
    ...(typeof completeUrl === 'string' ? { completeUrl } : {}),
    ...more,
  }
}

function parseUnconfirmed(value: unknown): UnconfirmedPage | undefined {
  if (!isJsonObject(value)) return undefined
  const { page, namedBy } = value
  return typeof page === 'string' && typeof namedBy === 'string' ? { page, namedBy } : undefined
}

/** One sign-in that several processes may want at once. */
interface SharedSignIn {
  id: LoginId
  store: CredentialStore
  /** What has to be over before: a sign-in that was cancelled still holds its lock for a moment. */
  after: Promise<void>
  /** How long to follow another process. */
  waitMs: number
  /** Whether what was wanted is stored by now, whoever did it. */
  isDone(): Promise<boolean>
  /** Signs in and stores the login. Only one process at a time does. */
  signIn(announce: AnnounceSignIn, signal: AbortSignal): Promise<void>
  randomId(): string
  note(text: string): void
}

/**
 * Signs in, or follows the process that already does: its prompt is shown here too, and the login it stores is the login of
 * all. When it is gone one of those who follow goes on; when it failed for good, all fail with it.
 *
 * `finished` resolves when nothing is left to do, also after a cancellation; it never rejects.
 */
export function shareSignIn(shared: SharedSignIn): PendingSignIn & { finished: Promise<void> } {
  const stop = new AbortController()
  const prompts = createPrompts()
  const running = run(shared, prompts, stop.signal)
  const cancelled = new Promise<never>((_resolve, reject) => {
    stop.signal.addEventListener('abort', () => reject(gaveUp()), { once: true })
  })
  const done = Promise.race([running, cancelled])
  done.then(
    () => prompts.close(new OAuthFailure('cancelled', 'Somebody has signed in already.')),
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

async function run(shared: SharedSignIn, prompts: Prompts, signal: AbortSignal): Promise<void> {
  const { id, store, isDone } = shared
  const name = `signin-${id}`
  let followed: string | undefined

  async function readNotice(): Promise<SignInNotice | undefined> {
    const text = await store.notices.read(name)
    return text === undefined ? undefined : parseSignInNotice(text)
  }

  function failLike(notice: SignInNotice | undefined): void {
    if (notice?.kind === 'failed' && notice.owner === followed) {
      throw new OAuthFailure(notice.fault, notice.message)
    }
  }

  /** A link is shown while the process lives that listens for whoever opens it; a notice outlives a kill. */
  async function follow(heldBy: string | undefined): Promise<true | undefined> {
    if (signal.aborted) throw gaveUp()
    if (await isDone()) return true
    const notice = await readNotice()
    failLike(notice)
    if (notice?.kind === 'prompt' && notice.lease === heldBy && notice.owner !== followed) {
      followed = notice.owner
      prompts.show({ ...notice.prompt, followed: true })
    }
    return undefined
  }

  async function own(lease: Lease): Promise<true> {
    if (await isDone()) return true
    if (followed !== undefined) {
      failLike(await readNotice())
      if (!prompts.canShowAnother()) {
        throw new OAuthFailure('cancelled', 'The process that was signing in is gone. Sign in again.')
      }
    }
    const owner = shared.randomId()
    const post = (notice: SignInNotice): Promise<void> =>
      // Those who follow can still wait for the login itself.
      store.notices.post(name, writeSignInNotice(notice)).catch(() => shared.note('sign-in cannot be shared'))
    let posted: Promise<void> = Promise.resolve()
    try {
      await shared.signIn((prompt) => {
        posted = post({ owner, lease: lease.id, kind: 'prompt', prompt })
        void posted.then(() => prompts.show(prompt))
      }, signal)
    } catch (error) {
      await posted
      if (error instanceof OAuthFailure && error.fault !== 'cancelled' && !signal.aborted) {
        await post({ owner, kind: 'failed', fault: error.fault, message: error.message })
      } else {
        await store.notices.remove(name).catch(() => undefined)
      }
      throw error
    }
    await posted
    await store.notices.remove(name).catch(() => undefined)
    return true
  }

  await shared.after
  try {
    await store.exclusively<true>(name, { waitMs: shared.waitMs, instead: follow }, own)
  } catch (error) {
    if (!(error instanceof CredentialError && error.fault === 'busy')) throw error
    throw new OAuthFailure('timeout', 'Nobody has signed in within the time that was given.', {
      cause: error,
    })
  }
}

interface Prompts {
  first: Promise<SignInPrompt>
  show(prompt: SignInPrompt): void
  listen(listener: (prompt: SignInPrompt) => void): void
  /** Whether a person would see one more. */
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
  // Nobody has to look at it.
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

function gaveUp(): OAuthFailure {
  return new OAuthFailure('cancelled', 'The sign-in was given up.')
}
