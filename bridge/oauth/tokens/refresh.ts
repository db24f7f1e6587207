import { createHash } from 'node:crypto'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { CredentialStore, LoginId } from '../../credentials/credential-store.ts'
import type { Credential, IssuedTokens } from '../../credentials/credential.ts'
import { OAuthFailure } from '../login-port.ts'
import { hasEnded } from './stored-tokens.ts'
import type { TokenAnswer } from './token-response.ts'

const lockMs = 20_000
/** Shorter than the wait for the lock: waiting processes must not give up while the owner is merely slow. */
const requestMs = 15_000
const replayPauseMs = 250
const writePauseMs = 100

/** Result of a renewal. */
export type RefreshOutcome =
  /** The stored tokens differ from those used: this process or another one has renewed them. */
  | { kind: 'renewed'; credential: Credential }
  /** Unknown outcome, or it was too early. The tokens are unchanged. */
  | { kind: 'unavailable'; retryAfterSeconds: number | undefined; cause: unknown }
  /** The user has to sign in. Undefined: signed out meanwhile, or the stored tokens must not be tried again. */
  | { kind: 'sign_in_needed'; credential: Credential | undefined }

/** Reason for a renewal. While an access token is still valid, a failed renewal changes nothing. */
export type RefreshNeed = 'early' | 'ended' | 'refused'

/** One renewal of a login, with its dependencies. */
export interface RefreshContext {
  id: LoginId
  need: RefreshNeed
  store: CredentialStore
  refresh(credential: Credential, signal: AbortSignal): Promise<TokenAnswer>
  runtime: Runtime
  /** Called before every first request. False: repeatedly refused tokens are left to the user. */
  maySend(): boolean
}

/**
 * Renews the tokens of a login once for all processes. Marks the refresh token as spent before sending it, and stores its
 * successor before anyone uses it, so that after a kill at any point the next process knows what happened. A refusal never
 * removes anything: another process may have stored the successor meanwhile. Never sends without the lock.
 */
export async function refreshUnderLock(used: Credential, context: RefreshContext): Promise<RefreshOutcome> {
  const { id, store, runtime } = context

  async function newer(): Promise<RefreshOutcome | undefined> {
    const stored = await store.read(id)
    if (stored === undefined) return { kind: 'sign_in_needed', credential: undefined }
    if (!isOther(stored, used)) return undefined
    if (stored.signInNeeded !== undefined) return { kind: 'sign_in_needed', credential: stored }
    if (stored.tokens === undefined || hasEnded(stored.tokens, runtime.now())) return undefined
    return { kind: 'renewed', credential: stored }
  }

  return await store.exclusively<RefreshOutcome>(id, { waitMs: lockMs, instead: newer }, async () => {
    const settled = await newer()
    if (settled !== undefined) return settled
    const stored = await store.read(id)
    // Tokens that could not be stored exist only in this process, whose refresh token is the valid one.
    const base = stored === undefined || isUnsaved(used, stored) ? used : stored
    return await refreshHeld(base, context)
  })
}

async function refreshHeld(base: Credential, context: RefreshContext): Promise<RefreshOutcome> {
  const { id, need, store, runtime } = context
  const refreshToken = base.tokens?.refreshToken
  if (base.signInNeeded !== undefined || refreshToken === undefined) {
    return { kind: 'sign_in_needed', credential: base }
  }
  if (!context.maySend()) return { kind: 'sign_in_needed', credential: undefined }
  const refreshHash = createHash('sha256').update(refreshToken).digest('hex')
  // The lock's previous owner was killed or lost the lock: the successor may have been sent to a process that is
  // gone.
  const wasSent = base.pendingRefresh?.refreshHash === refreshHash
  const pendingRefresh = { refreshHash, at: runtime.now() }
  const pending = { ...base, generation: base.generation + 1, pendingRefresh }
  await store.write(id, pending)
  let answer = await ask(pending, context)
  const isSpent = answer.kind === 'refused' && answer.error === 'invalid_grant'
  if (isSpent && wasSent && need !== 'early') {
    await runtime.sleep(replayPauseMs)
    const meanwhile = await store.read(id)
    if (meanwhile !== undefined && !isOther(meanwhile, pending)) answer = await ask(pending, context)
  }
  return await settle(pending, wasSent, answer, context)
}

async function ask(pending: Credential, context: RefreshContext): Promise<TokenAnswer> {
  try {
    return await context.refresh(pending, AbortSignal.timeout(requestMs))
  } catch (error) {
    // The settings lack what authenticates the client, so nothing was sent.
    const isUnsent = error instanceof OAuthFailure
    // Any other value may quote anything.
    const cause = isUnsent ? error : new Error('something unexpected happened', { cause: error })
    return { kind: 'unavailable', retryAfterSeconds: undefined, cause, sent: !isUnsent }
  }
}

async function settle(
  pending: Credential,
  wasSent: boolean,
  answer: TokenAnswer,
  context: RefreshContext,
): Promise<RefreshOutcome> {
  const { id, need, store } = context
  const stored = await store.read(id)
  if (stored === undefined) return { kind: 'sign_in_needed', credential: undefined }
  // The stored login has changed. No other process can have spent our refresh token since, so this is a new sign-in,
  // or its successor came another way.
  if (isOther(stored, pending)) {
    return stored.signInNeeded === undefined && stored.tokens !== undefined
      ? { kind: 'renewed', credential: stored }
      : { kind: 'sign_in_needed', credential: stored }
  }
  const { pendingRefresh: _answered, ...rest } = stored
  const next = { ...rest, generation: stored.generation + 1 }
  if (answer.kind === 'issued') {
    const quirks = { ...stored.quirks, ...answer.quirks }
    const credential = { ...next, quirks, tokens: succeed(stored.tokens, answer.tokens) }
    await writeSurely(credential, context)
    return { kind: 'renewed', credential }
  }
  if (answer.kind === 'unavailable') {
    // A request that was sent may have taken effect: keep the mark for the next process.
    if (!answer.sent && !wasSent) await store.write(id, next)
    return { kind: 'unavailable', retryAfterSeconds: answer.retryAfterSeconds, cause: answer.cause }
  }
  if (need === 'early' || answer.error === 'slow_down') {
    await store.write(id, next)
    return { kind: 'unavailable', retryAfterSeconds: undefined, cause: answer }
  }
  const credential = { ...next, signInNeeded: answer.error }
  await store.write(id, credential)
  return { kind: 'sign_in_needed', credential }
}

/** Returns whether `stored` holds other tokens than `used`, or marks these as unusable. */
function isOther(stored: Credential, used: Credential): boolean {
  if (stored.signInId !== used.signInId) return true
  if (isUnsaved(used, stored)) return false
  return (
    stored.tokens?.accessToken !== used.tokens?.accessToken ||
    stored.tokens?.refreshToken !== used.tokens?.refreshToken ||
    (stored.signInNeeded !== undefined && used.signInNeeded === undefined)
  )
}

/** Returns whether the credential in use could not be stored, so that the store still holds its predecessor. */
export function isUnsaved(used: Credential, stored: Credential): boolean {
  return used.generation > stored.generation && used.signInId === stored.signInId
}

/** Keeps the members that the response omits: servers need not rotate, nor name an unchanged scope. */
function succeed(before: IssuedTokens | undefined, issued: IssuedTokens): IssuedTokens {
  return {
    ...issued,
    refreshToken: issued.refreshToken ?? before?.refreshToken,
    scope: issued.scope ?? before?.scope,
    idToken: issued.idToken ?? before?.idToken,
  }
}

/** Retries, because the successor exists nowhere else. */
async function writeSurely(credential: Credential, { id, store, runtime }: RefreshContext): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await store.write(id, credential)
    } catch {
      // This process can continue even if it cannot store them.
      if (attempt === 3) return
      await runtime.sleep(writePauseMs)
    }
  }
}
