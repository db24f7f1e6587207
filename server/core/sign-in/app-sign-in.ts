import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import { doOnce, limitKey } from '../limits/attempt-limit.ts'
import { signInsWithProof } from '../limits/limit-table.ts'
import { type AppSignIn, ProviderError } from '../session/session-provider.ts'
import { type BrowserBinding, BrowserSeal, type SealedContent } from './browser-seal.ts'
import { createPendingId, type SignInPorts } from './pending-sign-in.ts'
import { keepSocialSignIn } from './sign-in.ts'
import { countOrRefuse } from './sign-in-limit.ts'
import type { SignInPurpose } from './sign-in-transaction.ts'

const requestSeconds = 600
/** Longer than any proof of a user is valid. */
const proofSeconds = 300

/** A sign-in that the web app is asked for. `id` is the `state` of the return. */
interface AppRequest {
  id: string
  purpose: SignInPurpose
}

const requestSeal = new BrowserSeal<AppRequest>('drawbridge app request')

/** A request as the web app sent it back, and the browser that it began in. */
export type OpenAppRequest = SealedContent<AppRequest>

/** Seals a request for the web app, for ten minutes and for one browser. Nothing is stored until it is answered. */
export function sealAppRequest(purpose: SignInPurpose, binding: BrowserBinding, ports: SignInPorts): string {
  const { runtime } = ports
  const request = { id: createPendingId(runtime), purpose }
  return requestSeal.seal(request, binding, ports, runtime.now() + requestSeconds)
}

const unusable = {
  expired: 'This request is over ten minutes old. Connect again in the client.',
  invalid: 'This request is not one of this server. Send the parameter request of the page as it came.',
}

/**
 * Opens a request that the web app or its page sends. Throws `invalid_request`. Does not check the browser: that is done when it
 * returns.
 */
export function openAppRequest(sealed: string, ports: SignInPorts): OpenAppRequest {
  const opened = requestSeal.read(sealed, ports)
  if (opened.kind === 'open') return opened
  throw new OAuthError('invalid_request', unusable[opened.kind])
}

/** Denies a request, and returns the URL that takes the browser back here. Throws as {@link allowInApp} does. */
export function denyInApp(request: OpenAppRequest, sealed: string, ports: SignInPorts): Promise<string> {
  const url = `${ports.callbackUrl}?error=access_denied&state=${encodeURIComponent(sealed)}`
  return answerOnce(request, async () => url, ports)
}

/** Returns the purpose of a request that was denied in the web app, if this is the browser in which it began. */
export function deniedPurpose(
  parameters: URLSearchParams,
  binding: BrowserBinding | undefined,
  ports: SignInPorts,
): SignInPurpose | undefined {
  if (parameters.get('error') !== 'access_denied') return undefined
  const opened = requestSeal.open(parameters.get('state'), binding, ports)
  return opened.kind === 'open' ? opened.value.purpose : undefined
}

/** Prepares the sign-in of the user who proves to have allowed a request. Rejects with {@link ProviderError}. */
export async function proveInApp(
  { value: { id } }: OpenAppRequest,
  proof: string,
  ports: SignInPorts,
): Promise<AppSignIn> {
  const { provider, callbackUrl } = ports
  if (!provider.appSignIn)
    throw new ProviderError('disabled', 'The provider takes no sign-in of the web app.')
  if (proof === '') throw new ProviderError('invalid_token', 'There is no bearer token.')
  const limit = { key: limitKey('app proof', proof), ...signInsWithProof }
  await countOrRefuse([limit], 'sign-ins with one proof', ports)
  return provider.appSignIn({ proof, callbackUrl, state: id })
}

/**
 * Answers a request with a sign-in of {@link proveInApp}, and returns the URL that takes the browser back here: no code of a client
 * exists before it has returned. One answer counts, over all instances: throws `invalid_request` for a further one, and rejects with
 * `invalid_token` if the proof was used. If it rejects, request and proof can be used again.
 */
export function allowInApp(
  request: OpenAppRequest,
  purpose: SignInPurpose,
  { url, secret, singleUse }: AppSignIn,
  ports: SignInPorts,
): Promise<string> {
  const of = { id: request.value.id, bindingHash: request.bindingHash }
  const keep = async (): Promise<string> => {
    await keepSocialSignIn({ purpose, secret, counted: [] }, of, ports)
    return url
  }
  return answerOnce(
    request,
    async () => {
      if (singleUse === undefined) return keep()
      const kept = await doOnce(limitKey('app proof used', singleUse), proofSeconds, keep, ports)
      if (kept !== undefined) return kept
      throw new ProviderError('invalid_token', 'The proof was used before.')
    },
    ports,
  )
}

async function answerOnce(
  { value: { id } }: OpenAppRequest,
  answer: () => Promise<string>,
  ports: SignInPorts,
): Promise<string> {
  const url = await doOnce(`app answer ${id}`, requestSeconds, answer, ports)
  if (url !== undefined) return url
  throw new OAuthError('invalid_request', 'This request was answered already. Connect again in the client.')
}
