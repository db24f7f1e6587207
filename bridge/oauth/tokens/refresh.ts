import { createHash } from 'node:crypto'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { CredentialStore, LoginId } from '../../credentials/credential-store.ts'
import type { Credential, IssuedTokens } from '../../credentials/credential.ts'
import { hasEnded } from './refresh-pace.ts'
import type { RefreshAnswer, TokenAnswer } from './token-response.ts'

const lockMs = 20_000
/** Below the wait for the lock: who waits must not give up while the holder is merely slow. */
const requestMs = 15_000
const replayPauseMs = 250
const writePauseMs = 100

/** What became of a renewal. */
export type RefreshOutcome =
  /** There are other tokens than those that were used: ours or those of another process, and they are stored. */
  | { kind: 'renewed'; credential: Credential }
  /** Nobody can tell, or it was too early. What there was is still there. */
  | { kind: 'unavailable'; retryAfterSeconds: number | undefined; cause: unknown }
  /** Only a person can go on. Undefined: signed out meanwhile, or the stored tokens are not to be tried again. */
  | { kind: 'sign_in_needed'; credential: Credential | undefined }

/** What a renewal works with. */
export interface RefreshTurnPorts {
  store: CredentialStore
  refresh(credential: Credential, signal: AbortSignal): Promise<RefreshAnswer>
  runtime: Runtime
  /** Asked before every first request. False: tokens that the server refuses one after the other are for a person to end. */
  maySend(need: RefreshNeed): boolean
}

/** Why tokens are renewed. While an access token is still good, a failure to renew it changes nothing. */
export type RefreshNeed = 'early' | 'ended' | 'refused'

/**
 * Renews the tokens of a login once for all processes that ask for it. The refresh token is written down as spent before it
 * is sent, and its successor is stored before anybody uses it: whatever is killed when, the next one knows what happened.
 * A refusal never removes anything: another process may have stored the successor meanwhile.
 *
 * Rejects with `CredentialError`, `busy` among others. Never sends without the lock.
 */
export async function refreshUnderLock(
  id: LoginId,
  used: Credential,
  need: RefreshNeed,
  ports: RefreshTurnPorts,
): Promise<RefreshOutcome> {
  const { store, runtime } = ports

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
    // What could not be stored lives on in this process only: its refresh token is the one that still works.
    const base = stored === undefined || isUnsaved(used, stored) ? used : stored
    return await refreshHeld(id, base, need, ports)
  })
}

async function refreshHeld(
  id: LoginId,
  base: Credential,
  need: RefreshNeed,
  ports: RefreshTurnPorts,
): Promise<RefreshOutcome> {
  const refreshToken = base.tokens?.refreshToken
  if (base.signInNeeded !== undefined || refreshToken === undefined) {
    return { kind: 'sign_in_needed', credential: base }
  }
  if (!ports.maySend(need)) return { kind: 'sign_in_needed', credential: undefined }
  const refreshHash = createHash('sha256').update(refreshToken).digest('hex')
  // Its holder was killed, or is so slow that its lock was given up: the successor may be on its way back to nobody.
  const wasSent = base.pendingRefresh?.refreshHash === refreshHash
  const pending = {
    ...base,
    generation: base.generation + 1,
    pendingRefresh: { refreshHash, at: ports.runtime.now() },
  }
  await ports.store.write(id, pending)
  let answered = await ask(pending, ports)
  if (isInvalidGrant(answered.answer) && wasSent && need !== 'early') {
    await ports.runtime.sleep(replayPauseMs)
    const meanwhile = await ports.store.read(id)
    if (meanwhile !== undefined && !isOther(meanwhile, pending)) answered = await ask(pending, ports)
  }
  return await settle(id, { pending, wasSent }, answered, need, ports)
}

async function ask(pending: Credential, ports: RefreshTurnPorts): Promise<RefreshAnswer> {
  try {
    return await ports.refresh(pending, AbortSignal.timeout(requestMs))
  } catch (error) {
    // What was thrown may quote anything.
    const cause = new Error('something unexpected happened', { cause: error })
    return { answer: { kind: 'unavailable', retryAfterSeconds: undefined, cause, sent: true }, quirks: {} }
  }
}

async function settle(
  id: LoginId,
  { pending, wasSent }: { pending: Credential; wasSent: boolean },
  { answer, quirks }: RefreshAnswer,
  need: RefreshNeed,
  ports: RefreshTurnPorts,
): Promise<RefreshOutcome> {
  const { store } = ports
  const stored = await store.read(id)
  if (stored === undefined) return { kind: 'sign_in_needed', credential: undefined }
  // Moved: nobody can have spent our refresh token after us, so this is a new sign-in, or its successor came another way.
  if (isOther(stored, pending)) {
    return stored.signInNeeded === undefined && stored.tokens !== undefined
      ? { kind: 'renewed', credential: stored }
      : { kind: 'sign_in_needed', credential: stored }
  }
  const { pendingRefresh: _answered, ...rest } = stored
  const next = { ...rest, generation: stored.generation + 1, quirks: { ...stored.quirks, ...quirks } }
  if (answer.kind === 'issued') {
    const credential = { ...next, tokens: succeed(stored.tokens, answer.tokens) }
    await writeSurely(id, credential, ports)
    return { kind: 'renewed', credential }
  }
  if (answer.kind === 'unavailable') {
    // What was sent may have been done: the mark stays for whoever tries next.
    if (!answer.sent && !wasSent) await store.write(id, next)
    return { kind: 'unavailable', retryAfterSeconds: answer.retryAfterSeconds, cause: answer.cause }
  }
  if (need === 'early' || isTransient(answer)) {
    await store.write(id, next)
    return { kind: 'unavailable', retryAfterSeconds: undefined, cause: answer }
  }
  const credential = { ...next, signInNeeded: answer.error }
  await store.write(id, credential)
  return { kind: 'sign_in_needed', credential }
}

/** Whether `stored` holds other tokens than `used`, or says that these are no good any more. */
function isOther(stored: Credential, used: Credential): boolean {
  if (stored.signInId !== used.signInId) return true
  if (isUnsaved(used, stored)) return false
  return (
    stored.tokens?.accessToken !== used.tokens?.accessToken ||
    stored.tokens?.refreshToken !== used.tokens?.refreshToken ||
    (stored.signInNeeded !== undefined && used.signInNeeded === undefined)
  )
}

/** Whether what is used could not be stored when it came: then the store holds what it replaces. */
export function isUnsaved(used: Credential, stored: Credential): boolean {
  return used.generation > stored.generation && used.signInId === stored.signInId
}

/** A server that does not rotate sends no refresh token, and one that grants the same scope need not name it. */
function succeed(before: IssuedTokens | undefined, issued: IssuedTokens): IssuedTokens {
  const kept = {
    ...(before?.refreshToken === undefined ? {} : { refreshToken: before.refreshToken }),
    ...(before?.scope === undefined ? {} : { scope: before.scope }),
    ...(before?.idToken === undefined ? {} : { idToken: before.idToken }),
  }
  return { ...kept, ...issued }
}

/** The successor exists nowhere else. */
async function writeSurely(id: LoginId, credential: Credential, ports: RefreshTurnPorts): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await ports.store.write(id, credential)
      return
    } catch {
      // With what cannot be stored this process can at least go on.
      if (attempt === 3) return
      await ports.runtime.sleep(writePauseMs)
    }
  }
}

function isInvalidGrant(answer: TokenAnswer): boolean {
  return answer.kind === 'refused' && answer.error === 'invalid_grant'
}

function isTransient(answer: TokenAnswer): boolean {
  if (answer.kind !== 'refused') return false
  if (answer.status === 429 || answer.status >= 500) return true
  return ['temporarily_unavailable', 'server_error', 'slow_down'].includes(answer.error)
}
