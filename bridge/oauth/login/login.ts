import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type CredentialStore, loginId } from '../../credentials/credential-store.ts'
import type { Credential } from '../../credentials/credential.ts'
import type { Refusal, RefusalOutcome } from '../../http/authorization.ts'
import type { Login, PendingSignIn, SignInFlow, WantedSignIn } from '../login-port.ts'
import { createLoginRenewal } from './login-renewal.ts'
import { beginSignIn, hasTokens, readIfPossible } from './login-sign-in.ts'
import { loginHeader, loginStateOf } from './login-state.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import { unlessAborted, within } from '../wait.ts'
import { hasEnded, isRefreshDue } from '../tokens/refresh-pace.ts'
import { isUnsaved } from '../tokens/refresh.ts'
import type { RefreshAnswer } from '../tokens/token-response.ts'

const lockMs = 20_000
const settleMs = 5000
const signInNeeded: RefusalOutcome = { kind: 'sign_in_needed' }
const retry: RefusalOutcome = { kind: 'retry' }

/** What a login is made of. */
export interface LoginPorts {
  store: CredentialStore
  flow: SignInFlow
  refresh(credential: Credential, signal?: AbortSignal): Promise<RefreshAnswer>
  revoke(credential: Credential): Promise<boolean | undefined>
  runtime: Runtime
  /** Of what goes on, for a person who debugs. */
  note(text: string): void
}

/**
 * The login of one server as one user: all calls, streams and processes of this user get their tokens here, and a refresh
 * token is used once, whatever happens. The store is read when there is reason to: no token yet, one that ends, one refused.
 * Tokens of client credentials are got again the way they were got; no person is needed for that.
 */
export function createLogin(config: OAuthConfig, ports: LoginPorts): Login {
  const { store, runtime } = ports
  const { serverUrl, resource, profile } = config
  const id = loginId({ serverUrl, resource, profile, client: config.staticClient?.clientId })
  const renewal = createLoginRenewal(id, ports)
  const jitter = (runtime.randomBytes(1)[0] ?? 0) / 255
  const isAlone = config.grant === 'client_credentials'
  let current: Credential | undefined
  let wanted: WantedSignIn = {}
  let refusedSignIn: { signInId: string | undefined } | undefined
  let signingIn: PendingSignIn | undefined
  let alone: Promise<boolean> | undefined
  let lastSignIn: Promise<void> = Promise.resolve()
  const leaving = new Set<Promise<void>>()

  /** What to call with; undefined when a server that wants more has to say so first. */
  async function usable(): Promise<Credential | undefined> {
    if (hasTokens(current) && !isRefreshDue(current.tokens, runtime.now(), jitter)) return current
    current = await look()
    if (!hasTokens(current)) return undefined
    const { tokens } = current
    const isOver = hasEnded(tokens, runtime.now())
    if (tokens.refreshToken === undefined) {
      if (isOver && isAlone) await signInAlone(current, false)
      // Our clock may be wrong: whether a token has ended that cannot be renewed is for its server to say.
      return current
    }
    if (isOver) current = await renewal.renew(current, 'ended')
    else if (isRefreshDue(tokens, runtime.now(), jitter)) current = await renewal.renewEarly(current)
    return hasTokens(current) ? current : undefined
  }

  /** What is stored, unless this process holds what could not be stored. */
  async function look(): Promise<Credential | undefined> {
    const stored = await store.read(id)
    const isBehind = stored !== undefined && current !== undefined && isUnsaved(current, stored)
    return isBehind ? current : stored
  }

  /** Without a person, once for all who ask. False: refusal after refusal, which no other token ends. */
  function signInAlone(replaced: Credential | undefined, isRefused: boolean): Promise<boolean> {
    alone ??= getTokensAlone(replaced, isRefused).finally(() => {
      alone = undefined
    })
    return alone
  }

  async function getTokensAlone(replaced: Credential | undefined, isRefused: boolean): Promise<boolean> {
    if (isRefused && !renewal.mayFollowRefusal()) return false
    await renewal.pause(replaced?.issuer)
    refusedSignIn = { signInId: replaced?.signInId }
    try {
      await signIn().done
      if (isRefused) renewal.followedRefusal()
      return true
    } catch (error) {
      renewal.failed()
      throw error
    }
  }

  function signIn({ isForced = false }: { isForced?: boolean } = {}): PendingSignIn {
    if (signingIn !== undefined) return signingIn
    const request = { ...wanted, ...(isForced ? { isForced } : {}) }
    const begun = beginSignIn(
      id,
      { request, refused: refusedSignIn, timeoutMs: config.signInTimeoutMs, after: lastSignIn },
      { ...ports, signedIn },
    )
    lastSignIn = begun.finished
    const forget = (): void => {
      if (signingIn === pending) signingIn = undefined
    }
    const pending = {
      ...begun,
      cancel() {
        forget()
        begun.cancel()
        track(begun.finished)
      },
    }
    signingIn = pending
    begun.done.then(forget, forget)
    return pending
  }

  function signedIn(credential: Credential): void {
    current = credential
    wanted = {}
    refusedSignIn = undefined
  }

  function track(work: Promise<void>): void {
    leaving.add(work)
    void work.then(() => leaving.delete(work))
  }

  async function refused(refusal: Refusal): Promise<RefusalOutcome> {
    wanted = challengeOf(refusal) ?? wanted
    const stored = await look()
    refusedSignIn = { signInId: stored?.signInId }
    if (!hasTokens(stored)) return await refusedForGood(refusal, stored)
    const isRenewed = loginHeader(stored, config.useIdToken) !== refusal.used?.header
    if (isRenewed && !hasEnded(stored.tokens, runtime.now())) {
      current = stored
      return retry
    }
    if (refusal.status === 403 || stored.tokens.refreshToken === undefined) {
      return await refusedForGood(refusal, stored)
    }
    current = await renewal.renew(stored, 'refused')
    return hasTokens(current) ? retry : signInNeeded
  }

  /** No renewal helps. */
  async function refusedForGood(refusal: Refusal, stored: Credential | undefined): Promise<RefusalOutcome> {
    current = stored
    if (!isAlone || refusal.status === 403) return signInNeeded
    return (await signInAlone(stored, true)) ? retry : signInNeeded
  }

  return {
    async authorization(signal) {
      const credential = await unlessAborted(usable(), signal)
      const header = credential && loginHeader(credential, config.useIdToken)
      return header === undefined ? undefined : { header }
    },
    refused,
    signIn,
    async signOut() {
      return await store.exclusively(id, { waitMs: lockMs }, async () => {
        const { credential, isUnreadable } = await readIfPossible(store, id)
        const asked = credential && (await ports.revoke(credential).catch(() => false))
        const found = await store.remove(id)
        current = undefined
        return { found, readable: !isUnreadable, revoked: isUnreadable ? false : asked }
      })
    },
    async state() {
      if (isAlone) return { kind: 'configured', how: 'client_credentials' }
      return loginStateOf(await store.read(id), runtime.now())
    },
    async settle() {
      await within(settleMs, Promise.allSettled([renewal.underway(), ...leaving]))
    },
  }
}

/** What the last bearer challenge asks for (RFC 9728 section 5.1, RFC 6750 section 3). */
function challengeOf(refusal: Refusal): WantedSignIn | undefined {
  const bearer = refusal.challenges.findLast(({ scheme }) => scheme === 'bearer')
  if (bearer === undefined) return undefined
  const resourceMetadata = bearer.params.get('resource_metadata')
  const challengeScope = bearer.params.get('scope')
  return {
    ...(resourceMetadata === undefined ? {} : { resourceMetadata }),
    ...(challengeScope === undefined ? {} : { challengeScope }),
  }
}
