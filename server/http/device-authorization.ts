import { OAuthError, oauthErrorBody } from '@drawbridge/shared/oauth-error.ts'
import { addressBlock } from '../core/address-block.ts'
import type { AttemptStore } from '../core/attempt.ts'
import { deviceGrantType } from '../core/client.ts'
import { type DeviceAuthorizationPorts, startDeviceAuthorization } from '../core/device-authorization.ts'
import { requireGrantType } from '../core/grant-type.ts'
import { hashSecret } from '../core/seal.ts'
import { json } from './answer.ts'
import { type ClientEndpointPorts, createClientEndpoint } from './client-endpoint.ts'
import { everyone } from './cors.ts'
import type { Endpoint } from './endpoint.ts'
import { optionalParameter } from './form-parameter.ts'

/** How many devices one address may start, and in how many seconds. */
const mostStarts = 30
const startWindowSeconds = 600

/** What the device authorization endpoint needs. */
export interface DeviceAuthorizationEndpointPorts extends DeviceAuthorizationPorts, ClientEndpointPorts {
  attempts: AttemptStore
}

/** `POST /oauth/device_authorization` (RFC 8628 section 3.1). A page may start it, as it may ask for tokens. */
export function createDeviceAuthorizationEndpoint(
  basePath: string,
  ports: DeviceAuthorizationEndpointPorts,
): Endpoint {
  const path = `${basePath}/oauth/device_authorization`
  return createClientEndpoint(path, everyone, ports, async (client, form, context) => {
    requireGrantType(client, deviceGrantType)
    const { address } = context
    const retryAfterSeconds = await secondsToWait(address, ports)
    if (retryAfterSeconds > 0) {
      context.report('device_limit_reached', { client_id: client.id })
      return json(oauthErrorBody(tooMany), tooMany.status, { 'retry-after': String(retryAfterSeconds) })
    }
    const request = {
      client,
      scope: optionalParameter(form, 'scope'),
      resources: form.getAll('resource'),
      address,
    }
    const response = await startDeviceAuthorization(request, ports)
    context.report('device_authorization_started', { client_id: client.id })
    return json(response, 200, { pragma: 'no-cache' })
  })
}

const tooMany = new OAuthError(
  'temporarily_unavailable',
  'Too many devices were started from this address. Wait as long as Retry-After says.',
  { status: 429 },
)

/** Counts a start and answers how long this address has to wait; 0: not at all. An unknown address is not limited. */
async function secondsToWait(
  address: string | undefined,
  { attempts, runtime }: DeviceAuthorizationEndpointPorts,
): Promise<number> {
  if (address === undefined) return 0
  const now = runtime.now()
  // Of IPv6 a /64, and no address is in the store as such.
  const key = `device start ${hashSecret(`drawbridge device start ${addressBlock(address)}`)}`
  const { count, windowEndsAt } = await attempts.countAttempt(key, startWindowSeconds, now)
  return count > mostStarts ? Math.max(1, windowEndsAt - now) : 0
}
