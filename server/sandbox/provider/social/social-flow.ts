import { isLoopbackHostname } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { isUrl } from '@drawbridge/shared/url.ts'
import { randomUUID } from 'node:crypto'
import { isCodeChallenge, matchesCodeChallenge } from '@drawbridge/shared/oauth/pkce.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { AuthError } from '../auth-error.ts'

const flowSeconds = 300

/** The `provider` of a sign-in that goes on from a mailed link. */
export const magicLink = 'magiclink'

/** The `provider` of a request to the OAuth server, which is a flow in the other direction. */
export const oauthServer = 'oauth_server'

/** A sign-in between `/authorize`, or a mail, and the exchange of its code. */
export interface SocialFlow {
  state: string
  provider: string
  redirectTo: string
  codeChallenge: string
  /** Requested in addition to the provider's own. */
  scopes?: string | undefined
  /** The `state` that the client of the OAuth server gets back. */
  clientState?: string | undefined
  createdAt: number
  /** The code of its redirect, and the account behind it, once the social provider has answered. */
  completed?: { code: string; accountId: string }
}

/** Pending social sign-ins, in memory: they take minutes. */
export class SocialFlows {
  readonly #flows = new Map<string, SocialFlow>()
  readonly #rule: RedirectRule
  readonly #runtime: Pick<Runtime, 'now'>

  constructor(rule: RedirectRule, runtime: Pick<Runtime, 'now'>) {
    this.#rule = rule
    this.#runtime = runtime
  }

  /** Requires PKCE. Its `state` goes to the social provider. */
  start(
    request: Pick<SocialFlow, 'provider' | 'redirectTo' | 'codeChallenge' | 'scopes' | 'clientState'>,
  ): SocialFlow {
    if (!isCodeChallenge(request.codeChallenge)) {
      const message = 'This provider signs in with PKCE only: send code_challenge, made with S256'
      throw new AuthError(400, 'validation_failed', message)
    }
    const state = randomUUID()
    const now = this.#runtime.now()
    // Kept for some time after they end, so that a late one gets `expired` rather than `not found`.
    for (const old of this.#flows.values()) {
      if (old.createdAt < now - 12 * flowSeconds) this.#flows.delete(old.state)
    }
    const redirectTo = chooseRedirectTarget(this.#rule, request.redirectTo)
    const flow = { ...request, redirectTo, state, createdAt: now }
    this.#flows.set(state, flow)
    return flow
  }

  /** Returns a flow that has no code yet. */
  find(state: string): SocialFlow | undefined {
    const flow = this.#flows.get(state)
    return flow?.completed ? undefined : flow
  }

  /** Binds the account to the flow and returns its redirect, with a code. A mail may be read late: its time begins now. */
  complete(flow: SocialFlow, accountId: string): string {
    const code = randomUUID()
    if (flow.provider === magicLink) flow.createdAt = this.#runtime.now()
    flow.completed = { code, accountId }
    const url = new URL(flow.redirectTo)
    url.searchParams.set('code', code)
    if (flow.clientState) url.searchParams.set('state', flow.clientState)
    return url.href
  }

  /**
   * Returns the provider and the account behind a code, once; `isOfClient`: one for the client of the OAuth server. A wrong verifier
   * throws `bad_code_verifier` and leaves the code usable.
   */
  async redeem(
    code: string,
    codeVerifier: string,
    isOfClient = false,
  ): Promise<{ provider: string; accountId: string }> {
    const flow = [...this.#flows.values()].find(({ completed }) => completed?.code === code)
    if (!flow?.completed || (flow.provider === oauthServer) !== isOfClient) throw flowNotFound()
    this.refuseExpired(flow)
    if (!(await matchesCodeChallenge(codeVerifier, flow.codeChallenge))) {
      const message = 'code challenge does not match previously saved code verifier'
      throw new AuthError(400, 'bad_code_verifier', message)
    }
    // Two exchanges may have waited above; the one that deletes the flow wins.
    if (!this.#flows.delete(flow.state)) throw flowNotFound()
    return { provider: flow.provider, accountId: flow.completed.accountId }
  }

  /** Throws `flow_state_expired` for a flow of more than five minutes. */
  refuseExpired({ createdAt }: SocialFlow): void {
    if (this.#runtime.now() < createdAt + flowSeconds) return
    throw new AuthError(422, 'flow_state_expired', 'invalid flow state, flow state has expired')
  }
}

function flowNotFound(): AuthError {
  return new AuthError(404, 'flow_state_not_found', 'invalid flow state, no valid flow state found')
}

interface RedirectRule {
  siteUrl: string
  redirectAllowList: readonly string[]
}

/** Chooses where a sign-in ends: the requested URL if it is allowed, else, silently as in the real API, the site. */
export function chooseRedirectTarget(rule: RedirectRule, wanted: string): string {
  return isAllowed(rule, wanted) ? wanted : rule.siteUrl
}

function isAllowed({ siteUrl, redirectAllowList }: RedirectRule, url: string): boolean {
  // oxlint-disable-next-line no-control-regex -- control characters are refused
  if (/[\u0000-\u0020\u007f]/.test(url) || !isUrl(url)) return false
  if (redirectAllowList.includes(url.split('#', 1)[0] ?? '')) return true
  const target = new URL(url)
  const site = new URL(siteUrl)
  const isLoopback = isLoopbackHostname(target.hostname)
  const isSameHost = target.protocol === site.protocol && target.hostname === site.hostname
  // RFC 8252 section 7.3: a native app listens on any free port of a loopback address, which localhost, a name, is not.
  if (isSameHost) return target.port === site.port || isLoopback
  return isLoopback && target.hostname !== 'localhost'
}
