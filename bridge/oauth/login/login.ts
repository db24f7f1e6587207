import { unlessAborted, within } from '@drawbridge/shared/async.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { type CredentialStore, type LoginId, loginId } from '../../credentials/credential-store.ts'
import type { Credential } from '../../credentials/credential.ts'
import type { Refusal, RefusalOutcome } from '../../http/http-client.ts'
import type { PendingSignIn, SignInFlow, SignInRequest, TokenSource } from '../login-port.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import { isUnsaved } from '../tokens/refresh.ts'
import {
  type LoginView,
  hasEnded,
  hasTokens,
  isRefreshDue,
  loginHeader,
  loginView,
} from '../tokens/stored-tokens.ts'
import type { TokenAnswer } from '../tokens/token-response.ts'
import { LoginRenewal } from './login-renewal.ts'
import { SharedSignIn } from './shared-sign-in.ts'

const settleMs = 5000

/** Dependencies of a login. */
export interface LoginPorts {
  store: CredentialStore
  flow: SignInFlow
  refresh(credential: Credential, signal: AbortSignal): Promise<TokenAnswer>
  runtime: Runtime
  /** Receives debug messages. */
  note(text: string): void
}

/**
 * The login of one user at one server. Reads the store only when needed: without a token, when one expires, or after a
 * refusal. Client credentials are requested again the same way, without the user.
 */
export class Login implements TokenSource {
  readonly #config: OAuthConfig
  readonly #ports: LoginPorts
  readonly #id: LoginId
  readonly #renewal: LoginRenewal
  /** Needs no user: client credentials. */
  readonly #isAlone: boolean
  #current: Credential | undefined
  #wanted: SignInRequest = {}
  #refusedSignIn: { signInId: string | undefined } | undefined
  #signingIn: SharedSignIn | undefined
  #signingInAlone: Promise<boolean> | undefined
  /** When nothing is left of the latest sign-in, and of the one before: each begins after the one before. */
  #latestEnd: Promise<void> = Promise.resolve()
  #earlierEnd: Promise<void> = Promise.resolve()

  constructor(config: OAuthConfig, ports: LoginPorts) {
    this.#config = config
    this.#ports = ports
    this.#id = loginId(config)
    this.#renewal = new LoginRenewal({ ...ports, id: this.#id })
    this.#isAlone = config.grant === 'client_credentials'
  }

  async authorization(signal?: AbortSignal): Promise<string | undefined> {
    const credential = this.#fresh() ?? (await unlessAborted(this.#renewed(), signal))
    return credential && loginHeader(credential, this.#config.useIdToken)
  }

  async refused(refusal: Refusal): Promise<RefusalOutcome> {
    this.#wanted = challengeOf(refusal) ?? this.#wanted
    const stored = await this.#look()
    this.#refusedSignIn = { signInId: stored?.signInId }
    if (!hasTokens(stored)) return await this.#refusedForGood(refusal, stored)
    const isRenewed = loginHeader(stored, this.#config.useIdToken) !== refusal.used
    if (isRenewed && !hasEnded(stored.tokens, this.#ports.runtime.now())) {
      this.#current = stored
      return 'retry'
    }
    if (refusal.status === 403 || stored.tokens.refreshToken === undefined) {
      return await this.#refusedForGood(refusal, stored)
    }
    this.#current = await this.#renewal.renew(stored, 'refused')
    return hasTokens(this.#current) ? 'retry' : 'sign_in_needed'
  }

  /**
   * Starts a sign-in, or joins a pending one of this or another process. Requests the scope and resource that the refusals named. `isForced`: the
   * user asked to sign in although a login exists.
   */
  signIn({ isForced = false }: { isForced?: boolean } = {}): PendingSignIn {
    if (this.#signingIn?.isCancelled === false) return this.#signingIn
    const pending = new SharedSignIn(
      {
        request: { ...this.#wanted, isForced },
        refused: this.#refusedSignIn,
        timeoutMs: this.#config.signInTimeoutMs,
        after: this.#latestEnd,
      },
      { ...this.#ports, id: this.#id, signedIn: (credential) => this.#signedIn(credential) },
    )
    this.#signingIn = pending
    this.#earlierEnd = this.#latestEnd
    this.#latestEnd = pending.finished
    const forget = (): void => {
      if (this.#signingIn === pending) this.#signingIn = undefined
    }
    pending.done.then(forget, forget)
    return pending
  }

  /** Reads the stored login without a network request. */
  async state(): Promise<LoginView | undefined> {
    const stored = await this.#ports.store.read(this.#id)
    const view = stored && loginView(stored, this.#ports.runtime.now())
    return view && { ...view, renews: view.renews || (this.#isAlone && view.state === 'signed_in') }
  }

  /** Resolves once no response with tokens could be lost, after 5 seconds at the latest. Does not wait for the user. */
  async settle(): Promise<void> {
    const left = this.#signingIn?.isCancelled === false ? this.#earlierEnd : this.#latestEnd
    await within(settleMs, Promise.allSettled([this.#renewal.underway(), left]))
  }

  /** Returns the credential of this process while it needs no renewal. */
  #fresh(): Credential | undefined {
    const current = this.#current
    const isFresh = hasTokens(current) && !isRefreshDue(current.tokens, this.#ports.runtime.now())
    return isFresh ? current : undefined
  }

  /** Returns the credential to send, or undefined when the server has to state its requirements first. */
  async #renewed(): Promise<Credential | undefined> {
    const now = this.#ports.runtime.now()
    const stored = await this.#look()
    this.#current = stored
    if (!hasTokens(stored)) return undefined
    const isOver = hasEnded(stored.tokens, now)
    if (stored.tokens.refreshToken === undefined) {
      if (isOver && this.#isAlone) await this.#signInAlone(stored, false)
      // Our clock may be wrong, so the server decides whether a token that cannot be renewed has expired.
      return this.#current
    }
    if (isOver) this.#current = await this.#renewal.renew(stored, 'ended')
    else if (isRefreshDue(stored.tokens, now)) {
      this.#current = await this.#renewal.renewEarly(stored)
    }
    return hasTokens(this.#current) ? this.#current : undefined
  }

  /** Returns the stored credential, unless this process holds one that could not be stored. */
  async #look(): Promise<Credential | undefined> {
    const stored = await this.#ports.store.read(this.#id)
    const current = this.#current
    return stored && current && isUnsaved(current, stored) ? current : stored
  }

  /** Handles a refusal that a renewal cannot fix. */
  async #refusedForGood(refusal: Refusal, stored: Credential | undefined): Promise<RefusalOutcome> {
    this.#current = stored
    if (!this.#isAlone || refusal.status === 403) return 'sign_in_needed'
    return (await this.#signInAlone(stored, true)) ? 'retry' : 'sign_in_needed'
  }

  /** Signs in without the user, once for all callers. False after repeated refusals that no new token resolves. */
  #signInAlone(replaced: Credential | undefined, isRefused: boolean): Promise<boolean> {
    this.#signingInAlone ??= this.#getTokensAlone(replaced, isRefused).finally(() => {
      this.#signingInAlone = undefined
    })
    return this.#signingInAlone
  }

  async #getTokensAlone(replaced: Credential | undefined, isRefused: boolean): Promise<boolean> {
    const { pace } = this.#renewal
    if (isRefused && !pace.mayFollowRefusal()) return false
    await this.#renewal.pause(replaced?.issuer)
    this.#refusedSignIn = { signInId: replaced?.signInId }
    try {
      await this.signIn().done
      if (isRefused) pace.followedRefusal()
      return true
    } catch (error) {
      pace.failed(undefined)
      throw error
    }
  }

  #signedIn(credential: Credential): void {
    this.#current = credential
    this.#wanted = {}
    this.#refusedSignIn = undefined
  }
}

/**
 * Returns the demands of the last bearer challenge (RFC 9728 section 5.1, RFC 6750 section 3), or else which other schemes the
 * server wants; undefined without a challenge.
 */
export function challengeOf({ challenges }: Pick<Refusal, 'challenges'>): SignInRequest | undefined {
  const bearer = challenges.findLast(({ scheme }) => scheme === 'bearer')
  if (bearer === undefined) {
    return challenges.length === 0 ? undefined : { otherSchemes: challenges.map(({ scheme }) => scheme) }
  }
  return {
    resourceMetadata: bearer.params.get('resource_metadata'),
    challengeScope: bearer.params.get('scope'),
  }
}
