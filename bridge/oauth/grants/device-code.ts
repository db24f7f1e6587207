import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { ClientIdentity } from '../../credentials/credential.ts'
import { checkSignInPage } from '../browser/sign-in-page.ts'
import { chooseClient } from '../client/client-choice.ts'
import { deviceGrantType } from '../discovery/server-use.ts'
import { isSafeUrl, isSameOrigin } from '../discovery/server-url.ts'
import { type AnnounceSignIn, OAuthFailure } from '../login-port.ts'
import { type OAuthContext, type ServerResponse, busyFailure, memberText } from '../server-request.ts'
import { quoteServerText } from '../server-text.ts'
import { postAsClient } from '../tokens/token-request.ts'
import { type TokenAnswer, isClientRefused, refusal } from '../tokens/token-response.ts'
import { beforeTimeout, withLimit } from '../wait.ts'
import { type GrantRequest, type GrantedTokens, grantedTokens, requestGrant } from './grant.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

type StartedDevice = NonNullable<ReturnType<typeof readDevice>>

/** Default for servers that omit it: enough time for the user. */
const defaultTtlSeconds = 600
const defaultIntervalSeconds = 5
const maxIntervalSeconds = 60
/** RFC 8628 section 3.5: added after each `slow_down` and each lost request. */
const slowDownSeconds = 5

/**
 * Signs in on another device (RFC 8628): announces the code, and polls at the server's pace until tokens arrive, the
 * user denies access, or the code expires. Network errors meanwhile end nothing.
 */
export async function signInWithDevice(
  request: GrantRequest,
  context: OAuthContext,
  announce: AnnounceSignIn,
): Promise<GrantedTokens> {
  const { config, signal } = context
  const { metadata } = request.server
  const { client, device } = await start(request, context)
  const { userCode, url, completeUrl, expiresAt } = device
  const foreign = await checkSignInPage({ kind: 'device', url }, metadata, request.previous, context)
  const askedBy = new URL(config.serverUrl).host
  const unconfirmed = foreign?.unconfirmed
  announce({ kind: 'device', url, userCode, expiresAt, askedBy, completeUrl, unconfirmed })
  const answer = await withLimit(config.signInTimeoutMs, signal, (limit) => {
    const polled = poll(request, client, device, { ...context, signal: limit })
    return beforeTimeout(polled, config.signInTimeoutMs, signal)
  })
  const granted = grantedTokens(client, answer, metadata.issuer, config)
  return { ...granted, acceptedPage: foreign?.origin }
}

/** Registers another client where the server has forgotten or refuses the first one; no code has been shown yet. */
async function start(
  request: GrantRequest,
  context: OAuthContext,
): Promise<{ client: ClientIdentity; device: StartedDevice }> {
  const { client, replace } = await chooseClient({ ...request, redirectUri: undefined }, context)
  try {
    return { client, device: await startDevice(request, client, context) }
  } catch (error) {
    if (!isClientRefused(error) || replace === undefined) throw error
    const other = await replace()
    return { client: other, device: await startDevice(request, other, context) }
  }
}

/** Requests a device code (RFC 8628 section 3.1). Rejects with {@link OAuthFailure} or `NetworkError`. */
async function startDevice(
  { server, scope }: GrantRequest,
  client: ClientIdentity,
  context: OAuthContext,
): Promise<StartedDevice> {
  const { config, runtime } = context
  const { issuer, device_authorization_endpoint: url = '' } = server.metadata
  const at = runtime.now()
  const parameters = { scope, resource: server.resource }
  const response = await postAsClient({ url, issuer, client, parameters }, context)
  const device = readDevice(response, at)
  if (device === undefined) throw startFailure(response, issuer, at)
  // The code is displayed in a terminal.
  if (!isSafeUrl(device.url, issuer, config) || !/^[\x20-\x7E]{1,64}$/.test(device.userCode)) {
    const text = `${quoteServerText(issuer)} names no place to enter the code at.`
    throw new OAuthFailure('bad_metadata', text, { issuer })
  }
  const { completeUrl } = device
  // It has to be on the displayed host, or the user would be sent elsewhere than shown.
  const isCompleteUsable =
    completeUrl !== undefined &&
    isSafeUrl(completeUrl, issuer, config) &&
    isSameOrigin(completeUrl, device.url)
  return isCompleteUsable ? device : { ...device, completeUrl: undefined }
}

/** Reads a device authorization response (RFC 8628 section 3.2). Times in epoch seconds. */
function readDevice({ status, json }: ServerResponse, at: number) {
  if (status < 200 || status > 299 || !isJsonObject(json)) return undefined
  const [deviceCode, userCode] = [memberText(json, 'device_code'), memberText(json, 'user_code')]
  // Google still writes `verification_url`.
  const url = memberText(json, 'verification_uri') ?? memberText(json, 'verification_url')
  const completeUrl = memberText(json, 'verification_uri_complete')
  if (deviceCode === undefined || userCode === undefined || url === undefined) return undefined
  return {
    deviceCode,
    userCode,
    url: hrefOf(url),
    completeUrl: completeUrl === undefined ? undefined : hrefOf(completeUrl),
    expiresAt: at + positive(json['expires_in'], defaultTtlSeconds),
    intervalSeconds: Math.min(positive(json['interval'], defaultIntervalSeconds), maxIntervalSeconds),
  }
}

/** Writes a URL as a browser would: without line ends, spaces and other characters that could mislead the reader. */
function hrefOf(url: string): string {
  return isUrl(url) ? new URL(url).href : ''
}

function positive(value: unknown, otherwise: number): number {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value
  return typeof number === 'number' && number >= 1 && number <= 86_400 ? Math.floor(number) : otherwise
}

function startFailure(response: ServerResponse, issuer: string, now: number): OAuthFailure {
  const { json, status } = response
  const error = memberText(json, 'error')
  if (error !== undefined) return refusal(error, memberText(json, 'error_description'), issuer)
  const what = `Starting the sign-in at ${quoteServerText(issuer)}`
  const refused = new OAuthFailure('refused', `${what} answered with status ${status}.`, { issuer })
  return busyFailure(response, what, now, issuer) ?? refused
}

async function poll(
  request: GrantRequest,
  client: ClientIdentity,
  device: StartedDevice,
  context: OAuthContext,
): Promise<TokenAnswer> {
  const { runtime, signal } = context
  const parameters = { grant_type: deviceGrantType, device_code: device.deviceCode }
  let intervalSeconds = device.intervalSeconds
  for (;;) {
    const leftSeconds = Math.max(1, device.expiresAt - runtime.now())
    await runtime.sleep(Math.min(intervalSeconds, leftSeconds) * 1000)
    if (signal.aborted || runtime.now() >= device.expiresAt) {
      const { issuer } = request.server.metadata
      throw new OAuthFailure('expired', 'The code expired before it was entered.', { issuer })
    }
    const answer = await requestGrant(request, client, parameters, context)
    if (answer.kind === 'issued') return answer
    if (answer.kind === 'refused' && answer.error === 'authorization_pending') continue
    if (answer.kind === 'refused' && answer.error !== 'slow_down') return answer
    intervalSeconds = Math.min(intervalSeconds + slowDownSeconds, maxIntervalSeconds)
    if (answer.kind === 'unavailable') {
      intervalSeconds = Math.max(intervalSeconds, answer.retryAfterSeconds ?? 0)
    }
  }
}
