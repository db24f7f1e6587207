import { isJsonObject } from '@drawbridge/shared/json-object.ts'
import type { ClientIdentity } from '../credentials/credential.ts'
import { isSafeUrl } from './discovery-url.ts'
import { OAuthFailure } from './login-port.ts'
import type { OAuthConfig } from './oauth-config.ts'
import type { OAuthPorts, ServerAnswer } from './server-exchange.ts'
import { quoteServerText } from './server-text.ts'
import type { GrantRequest } from './sign-in-flow-grant.ts'
import { refusal } from './token-endpoint-failure.ts'
import { postAsClient } from './token-endpoint-request.ts'

/** A device authorization response (RFC 8628 section 3.2). */
export interface StartedDevice {
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
export async function startDevice(
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
