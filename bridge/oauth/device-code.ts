import type { ClientIdentity } from '../credentials/credential.ts'
import { chooseClient, type ReplacedClient } from './client-choice.ts'
import { startDevice, type StartedDevice } from './device-code-start.ts'
import { deviceGrantType } from './discovery-usable.ts'
import { OAuthFailure } from './login-port.ts'
import type { OAuthConfig } from './oauth-config.ts'
import { sendWithQuirks } from './quirk.ts'
import type { OAuthPorts } from './server-exchange.ts'
import { checkSignInPage } from './sign-in-page.ts'
import { beforeTimeout } from './sign-in-flow-limit.ts'
import { type GrantedTokens, grantedTokens, type GrantRequest } from './sign-in-flow-grant.ts'
import type { AnnounceSignIn } from './sign-in-request.ts'
import type { RefreshAnswer } from './token-answer.ts'
import { isClientRefused } from './token-endpoint-failure.ts'
import { requestTokens } from './token-endpoint-request.ts'

const slowDownSeconds = 5
const maxIntervalSeconds = 60

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
