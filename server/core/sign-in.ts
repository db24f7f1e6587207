import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { constantTimeEqual } from '@drawbridge/shared/pkce.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import { hashSecret, type Sealer } from './seal.ts'
import { ProviderError, type SessionProvider, type SignIn } from './session-provider.ts'
import type { SocialSignInStore } from './social-sign-in.ts'

/** How long an open login page stays usable. Nothing is stored for it, so this may be generous. */
const pageTtlSeconds = 3600
const socialTtlSeconds = 600
/** Open tabs of one browser that may be at the social provider at the same time. */
const mostSocialSignIns = 5

const transactionContext = 'drawbridge login transaction'
const socialContext = 'drawbridge social sign-in'

/** What signing in needs from outside. */
export interface SignInPorts {
  store: SocialSignInStore
  provider: SessionProvider
  sealer: Sealer
  runtime: Pick<Runtime, 'now' | 'randomBytes'>
  callbackUrl: string
}

/** Random value kept in a cookie: ties a login page, and what follows from it, to the browser that opened it. */
export type BrowserBinding = string

/** A binding of 256 random bits. */
export function createBrowserBinding(randomBytes: Runtime['randomBytes']): BrowserBinding {
  return encodeBase64url(randomBytes(32))
}

/**
 * The authorization request as the login page carries it: sealed, so the browser can neither read nor change it, and
 * bound to `binding`, so a page made for one browser is useless in another (login CSRF, RFC 9700 section 4.7).
 */
export function sealTransaction(
  request: AuthorizationRequest,
  binding: BrowserBinding,
  ports: Pick<SignInPorts, 'sealer' | 'runtime'>,
): string {
  const payload = {
    request,
    bindingHash: hashSecret(binding),
    expiresAt: ports.runtime.now() + pageTtlSeconds,
  }
  return ports.sealer.seal(JSON.stringify(payload), transactionContext)
}

/** What opening a login transaction found. */
export type TransactionResult =
  | { kind: 'open'; request: AuthorizationRequest }
  | { kind: 'invalid' }
  | { kind: 'expired' }
  | { kind: 'foreign_browser' }

/** Inverse of {@link sealTransaction}, refusing another browser and a page that was open for more than an hour. */
export function openTransaction(
  sealed: string,
  binding: BrowserBinding | undefined,
  ports: Pick<SignInPorts, 'sealer' | 'runtime'>,
): TransactionResult {
  const opened = ports.sealer.open(sealed, transactionContext)
  if (opened === undefined) return { kind: 'invalid' }
  const payload = JSON.parse(opened) as {
    request: AuthorizationRequest
    bindingHash: string
    expiresAt: number
  }
  if (binding === undefined || !constantTimeEqual(hashSecret(binding), payload.bindingHash)) {
    return { kind: 'foreign_browser' }
  }
  return payload.expiresAt > ports.runtime.now()
    ? { kind: 'open', request: payload.request }
    : { kind: 'expired' }
}

/**
 * Begins a social sign-in and answers the URL that the browser goes to. Only called after the user's click on the
 * login page, so nothing reaches the provider before consent (MCP security best practices, confused deputy).
 */
export async function startSocialSignIn(
  request: AuthorizationRequest,
  method: string,
  binding: BrowserBinding,
  ports: SignInPorts,
): Promise<string> {
  const { provider, store, sealer, runtime, callbackUrl } = ports
  const { url, secret } = await provider.socialStart({ method, callbackUrl })
  const pending = {
    id: encodeBase64url(runtime.randomBytes(16)),
    bindingHash: hashSecret(binding),
    sealed: sealer.seal(JSON.stringify({ request, secret }), socialContext),
    expiresAt: runtime.now() + socialTtlSeconds,
  }
  await store.addSocialSignIn(pending, mostSocialSignIns)
  return url
}

/** How a return from the social provider ended; `request` is the authorization request it belongs to, if known. */
export type SocialReturn =
  | { kind: 'signed_in'; signIn: SignIn; request: AuthorizationRequest }
  | { kind: 'refused'; failure: ProviderError; request: AuthorizationRequest | undefined }
  | { kind: 'expired' }

interface SocialPayload {
  request: AuthorizationRequest
  secret: string
}

/**
 * Completes a social sign-in from the parameters of the callback.
 *
 * The provider sends no state of ours back, so which of the browser's pending sign-ins this is comes out of their
 * secrets: the one whose verifier fits. A wrong one does not use the provider's code up.
 */
export async function finishSocialSignIn(
  parameters: URLSearchParams,
  binding: BrowserBinding | undefined,
  ports: SignInPorts,
): Promise<SocialReturn> {
  const { store, provider, sealer, runtime } = ports
  if (binding === undefined) return { kind: 'expired' }
  const candidates = await store.listSocialSignIns(hashSecret(binding), runtime.now())
  for (const pending of candidates) {
    const opened = sealer.open(pending.sealed, socialContext)
    if (opened === undefined) continue
    const { request, secret } = JSON.parse(opened) as SocialPayload
    try {
      const signIn = await provider.socialFinish({ params: parameters, secret })
      const first = await store.removeSocialSignIn(pending.id)
      return first ? { kind: 'signed_in', signIn, request } : { kind: 'expired' }
    } catch (error) {
      if (!(error instanceof ProviderError)) throw error
      // Not this one's code: try the next of the browser's tabs.
      if (error.failure === 'expired') continue
      // Without a code nothing says which tab this is about. It stays pending in any case: a link of another site can
      // come here with an error, and must not cancel what goes on.
      const certain = parameters.has('code') || candidates.length === 1
      return { kind: 'refused', failure: error, request: certain ? request : undefined }
    }
  }
  return { kind: 'expired' }
}
