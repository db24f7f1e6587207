import { signInKey } from '../../core/attempts/attempt-book.ts'
import { type AttemptStore, countWithin, limitsOf } from '../../core/limits/attempt-limit.ts'
import { isInUse } from '../../core/clients/client-life.ts'
import { deviceGrantType, requireGrantType } from '../../core/clients/client.ts'
import {
  deviceHashOf,
  type DeviceAuthorizationPorts,
  startDeviceAuthorization,
} from '../../core/authorization/device-authorization.ts'
import { deviceStarts } from '../../core/limits/limit-table.ts'
import { json, noCache, tooManyRequests } from '../response.ts'
import { type ClientEndpointPorts, createClientEndpoint } from './client-endpoint.ts'
import { everyone } from '../middleware/cors.ts'
import type { Endpoint } from '../endpoint.ts'
import { optionalParameter } from '../middleware/body.ts'

/** `POST /oauth/device_authorization` (RFC 8628 section 3.1). Web pages may call it, like the token endpoint. */
export function createDeviceAuthorizationEndpoint(
  basePath: string,
  ports: DeviceAuthorizationPorts & ClientEndpointPorts & { attempts: AttemptStore },
): Endpoint {
  const path = `${basePath}/oauth/device_authorization`
  return createClientEndpoint(path, everyone, ports, async (client, form, context) => {
    requireGrantType(client, deviceGrantType)
    const { address } = context
    const limits = limitsOf(deviceStarts, { address, known: isInUse(client) })
    const { waitSeconds } = await countWithin(limits, { store: ports.attempts, runtime: ports.runtime })
    if (waitSeconds > 0) {
      context.report('device_limit_reached', { client_id: client.id })
      return tooManyRequests(
        'Too many device sign-ins were started. Try again after as many seconds as Retry-After says.',
        waitSeconds,
      )
    }
    const request = {
      client,
      scope: optionalParameter(form, 'scope'),
      resources: form.getAll('resource'),
      address,
    }
    const response = await startDeviceAuthorization(request, ports)
    context.attempt?.({ signIn: signInKey(deviceHashOf(response.device_code, client)) })
    context.report('device_authorization_started', { client_id: client.id })
    return json(response, 200, noCache)
  })
}
