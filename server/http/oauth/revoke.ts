import { type RevocationPorts, revokeToken } from '../../core/tokens/revocation.ts'
import { type ClientEndpointPorts, createClientEndpoint } from './client-endpoint.ts'
import { everyone } from '../middleware/cors.ts'
import type { Endpoint } from '../endpoint.ts'
import { requiredParameter } from './form-parameter.ts'

/**
 * `POST /oauth/revoke` (RFC 7009): 200 without content, also for a token that is of no use already. `token_type_hint` is
 * not needed, so a wrong one does no harm.
 */
export function createRevokeEndpoint(
  basePath: string,
  ports: RevocationPorts & ClientEndpointPorts,
): Endpoint {
  return createClientEndpoint(`${basePath}/oauth/revoke`, everyone, ports, async (client, form, context) => {
    await revokeToken(client, requiredParameter(form, 'token'), ports)
    context.report('token_revoked', { client_id: client.id })
    return new Response(null, { status: 200, headers: { 'cache-control': 'no-store', pragma: 'no-cache' } })
  })
}
