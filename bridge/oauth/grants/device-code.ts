import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { ClientIdentity } from '../../credentials/credential.ts'
import { isSafeUrl } from '../discovery/document.ts'
import { type AnnounceSignIn, OAuthFailure } from '../login-port.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import type { OAuthPorts, ServerAnswer } from '../server-exchange.ts'
import { quoteServerText } from '../server-text.ts'
import { type GrantRequest, type GrantedTokens, grantedTokens } from './grant.ts'
import { type RefreshAnswer, isClientRefused, refusal } from '../tokens/token-response.ts'
import { postAsClient, requestTokens } from '../tokens/token-request.ts'
import { type ReplacedClient, chooseClient } from '../client/client-choice.ts'
import { deviceGrantType } from '../discovery/discovery.ts'
import { sendWithQuirks } from '../tokens/issuer-quirks.ts'
import { checkSignInPage } from '../browser/sign-in-page.ts'
import { beforeTimeout } from '../wait.ts'

/** A device authorization response (RFC 8628 section 3.2). */
interface StartedDevice {
  deviceCode: string
  userCode: string
  url: string
  completeUrl: string | undefined
  /** Epoch seconds. */
  expiresAt: number
  intervalSeconds: number
}

/** What servers mean that say nothing: long enough for a person. */
const defaultTtlSeconds = 600
const defaultIntervalSeconds = 5
const maxIntervalSeconds = 60

/** Starts a device (RFC 8628 section 3.1). Rejects with {@link OAuthFailure} or `NetworkError`. */
async function startDevice(
  { server, scope }: GrantRequest,
  client: ClientIdentity,
  config: OAuthConfig,
  ports: OAuthPorts,
  signal: AbortSignal,
): Promise<StartedDevice> {
  const { issuer, device_authorization_endpoint: url = '' } = server.metadata
  const at = ports.runtime.now()
  // With a secret in the header, too, the client has to be named here (RFC 8628 section 3.1).
  const parameters = { client_id: client.clientId, scope, resource: server.resource }
  const answer = await postAsClient({ url, issuer, client, parameters }, config, ports, signal)
  const device = readDevice(answer, at)
  if (device === undefined) throw startFailure(answer, issuer)
  const { allowHttp } = config
  const isUsable = isSafeUrl(device.url, issuer, allowHttp) && isPlainCode(device.userCode)
  if (!isUsable) {
    throw new OAuthFailure(
      'bad_metadata',
      `${quoteServerText(issuer)} names no place to enter the code at.`,
      {
        issuer,
      },
    )
  }
  const { completeUrl } = device
  // Of the host that is shown, or the person would be sent to another one than they are told.
  const isCompleteUsable =
    completeUrl !== undefined &&
    isSafeUrl(completeUrl, issuer, allowHttp) &&
    new URL(completeUrl).origin === new URL(device.url).origin
  return isCompleteUsable ? device : { ...device, completeUrl: undefined }
}

function readDevice({ status, json }: ServerAnswer, at: number): StartedDevice | undefined {
  if (status < 200 || status > 299 || !isJsonObject(json)) return undefined
  const { device_code: deviceCode, user_code: userCode, expires_in: ttl, interval } = json
  // Google still writes `verification_url`.
  const url = json['verification_uri'] ?? json['verification_url']
  const completeUrl = json['verification_uri_complete']
  if (typeof deviceCode !== 'string' || typeof userCode !== 'string' || typeof url !== 'string')
    return undefined
  return {
    deviceCode,
    userCode,
    url: hrefOf(url),
    completeUrl: typeof completeUrl === 'string' ? hrefOf(completeUrl) : undefined,
    expiresAt: at + positive(ttl, defaultTtlSeconds),
    intervalSeconds: Math.min(positive(interval, defaultIntervalSeconds), maxIntervalSeconds),
  }
}

/** As a browser would write it: without line ends, spaces and what else could fool whoever reads it. */
function hrefOf(url: string): string {
  return URL.canParse(url) ? new URL(url).href : ''
}

/** It is shown to a person, in a terminal perhaps. */
function isPlainCode(userCode: string): boolean {
  return /^[\x20-\x7E]{1,64}$/.test(userCode)
}

function positive(value: unknown, otherwise: number): number {
  const number = typeof value === 'string' && value !== '' ? Number(value) : value
  return typeof number === 'number' && number >= 1 && number <= 86_400 ? Math.floor(number) : otherwise
}

function startFailure({ status, json }: ServerAnswer, issuer: string): OAuthFailure {
  const { error, error_description: description } = isJsonObject(json) ? json : {}
  if (typeof error === 'string' && error !== '') {
    return refusal(error, typeof description === 'string' ? description : undefined, { issuer })
  }
  const fault = status === 429 || status >= 500 ? 'unavailable' : 'refused'
  return new OAuthFailure(
    fault,
    `Starting the sign-in at ${quoteServerText(issuer)} answered with status ${status}.`,
    { issuer },
  )
}

const slowDownSeconds = 5

/**
 * Signs in on another device (RFC 8628): announces the code, and asks for the tokens at the pace of the server until they
 * are there, a person says no, or the code ends. What the network does meanwhile ends nothing.
 */
export async function signInWithDevice(
  request: GrantRequest,
  config: OAuthConfig,
  ports: OAuthPorts,
  announce: AnnounceSignIn,
  signal: AbortSignal,
): Promise<GrantedTokens> {
  const { client, quirks, device } = await start(request, config, ports, signal)
  const { userCode, url, completeUrl, expiresAt } = device
  const foreign = await checkSignInPage({ kind: 'device', url }, request, config, ports, signal)
  const unconfirmed = foreign?.unconfirmed
  announce({
    kind: 'device',
    url,
    userCode,
    expiresAt,
    askedBy: new URL(config.serverUrl).host,
    ...(completeUrl && { completeUrl }),
    ...(unconfirmed && { unconfirmed }),
  })
  const asking = new AbortController()
  const stop = (): void => asking.abort()
  signal.addEventListener('abort', stop, { once: true })
  try {
    const polled = poll(request, { client, device }, config, ports, asking.signal)
    const answered = await beforeTimeout(polled, config.signInTimeoutMs, signal)
    const granted = grantedTokens({ client, quirks }, answered, request.server.metadata.issuer, config)
    return { ...granted, ...(foreign && { acceptedPage: foreign.origin }) }
  } finally {
    signal.removeEventListener('abort', stop)
    stop()
  }
}

/** Where the server has forgotten the client, or refuses it, another one is registered: nobody was told of a code yet. */
async function start(
  request: GrantRequest,
  config: OAuthConfig,
  ports: OAuthPorts,
  signal: AbortSignal,
): Promise<ReplacedClient & { device: StartedDevice }> {
  const { client, replace } = await chooseClient(
    { ...request, redirectUri: undefined },
    config,
    ports,
    signal,
  )
  try {
    return { client, quirks: {}, device: await startDevice(request, client, config, ports, signal) }
  } catch (error) {
    if (!isClientRefused(error) || replace === undefined) throw error
    const replaced = await replace()
    return { ...replaced, device: await startDevice(request, replaced.client, config, ports, signal) }
  }
}

async function poll(
  { server, scope, previous }: GrantRequest,
  { client, device }: { client: ClientIdentity; device: StartedDevice },
  config: OAuthConfig,
  ports: OAuthPorts,
  signal: AbortSignal,
): Promise<RefreshAnswer> {
  const { issuer, token_endpoint: url = '' } = server.metadata
  const { runtime } = ports
  const optional = { resource: server.resource, scope: undefined }
  const known = previous?.issuer === issuer ? previous.quirks : undefined
  let intervalSeconds = device.intervalSeconds
  for (;;) {
    const leftSeconds = Math.max(1, device.expiresAt - runtime.now())
    await runtime.sleep(Math.min(intervalSeconds, leftSeconds) * 1000)
    if (signal.aborted || runtime.now() >= device.expiresAt) {
      throw new OAuthFailure('expired', 'The code has ended before anybody entered it.', { issuer })
    }
    const polled = await sendWithQuirks(optional, known, ({ resource }) => {
      const parameters = { grant_type: deviceGrantType, device_code: device.deviceCode, resource }
      return requestTokens({ url, issuer, client, parameters, scope }, config, ports, signal)
    })
    const { answer } = polled
    if (answer.kind === 'issued') return polled
    if (answer.kind === 'unavailable') {
      intervalSeconds = Math.max(slower(intervalSeconds), answer.retryAfterSeconds ?? 0)
    } else if (answer.error === 'slow_down') {
      intervalSeconds = slower(intervalSeconds)
    } else if (answer.error !== 'authorization_pending') {
      return polled
    }
  }
}

/** RFC 8628 section 3.5: five seconds more, after each `slow_down` and after what did not arrive. */
function slower(intervalSeconds: number): number {
  return Math.min(intervalSeconds + slowDownSeconds, maxIntervalSeconds)
}
