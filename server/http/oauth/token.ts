import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import { signInKey } from '../../core/attempts/attempt-book.ts'
import { isSameSource } from '../../core/address-block.ts'
import { redeemAuthorizationCode } from '../../core/authorization/authorization-code.ts'
import {
  type Client,
  deviceGrantType,
  type GrantType,
  grantTypes,
  requireGrantType,
  serviceGrantType,
} from '../../core/clients/client.ts'
import type { KeepClient } from '../../core/clients/client-life.ts'
import {
  deviceHashOf,
  type DevicePorts,
  redeemDeviceCode,
} from '../../core/authorization/device-authorization.ts'
import { hashSecret } from '../../core/seal.ts'
import type { Grant } from '../../core/session/grant.ts'
import {
  type RefreshedTokens,
  type RefreshLimit,
  rotateRefreshToken,
} from '../../core/tokens/refresh-token.ts'
import { issueServiceToken, type ServiceTokenPorts } from '../../core/tokens/service-token.ts'
import type { SessionKeeper } from '../../core/session/session-keeper.ts'
import { json, noCache } from '../response.ts'
import { type ClientEndpointPorts, createClientEndpoint } from './client-endpoint.ts'
import { everyone } from '../middleware/cors.ts'
import type { Endpoint, RequestContext } from '../endpoint.ts'
import { optionalParameter, requiredParameter } from '../middleware/body.ts'

export interface TokenPorts extends DevicePorts, ServiceTokenPorts, ClientEndpointPorts {
  store: DevicePorts['store'] & ServiceTokenPorts['store']
  refreshLimit: RefreshLimit
  keeper: Pick<SessionKeeper, 'keep'>
  keepClient: KeepClient
}

/** `POST /oauth/token` (RFC 6749 section 3.2) for every {@link GrantType}. */
export function createTokenEndpoint(basePath: string, ports: TokenPorts): Endpoint {
  return createClientEndpoint(`${basePath}/oauth/token`, everyone, ports, async (client, form, context) => {
    const grantType = readGrantType(form, client)
    const { grant, response, replayOf } = await redemptions[grantType](client, form, context, ports)
    await keepClient(client, grant, context, ports)
    if (grantType !== 'refresh_token' && (await isRemoved(client, ports))) await endAtOnce(grant, ports)
    if (grantType === deviceGrantType) await requireLiveSession(grant, ports)
    context.report('token_issued', { client_id: client.id, grant_type: grantType, grant_id: grant.id })
    if (replayOf) {
      const { address: firstAddress } = replayOf
      const source = replaySource(firstAddress, context.address)
      context.report('refresh_token_replayed', {
        client_id: client.id,
        grant_id: grant.id,
        first_address: firstAddress,
        source,
      })
    }
    return json(response, 200, noCache)
  })
}

/** Returns whether the client was removed since it authenticated: its removal did not see this grant, and has not ended it. */
function isRemoved({ id }: Client, { authentication }: TokenPorts): Promise<boolean> {
  return authentication.clients.findClient(id, 'connected').then(
    (client) => client === undefined,
    () => false,
  )
}

async function endAtOnce(grant: Grant, { store, runtime, reportGrantEnd }: TokenPorts): Promise<never> {
  await store.endGrant(grant.id, 'client_removed', runtime.now())
  reportGrantEnd(grant, 'client_removed')
  throw new OAuthError('invalid_client', 'This client was removed. Register it again.')
}

/**
 * Throws if the user has signed out everywhere between approval and redemption. If the provider cannot be reached, the session
 * counts as live, and `/mcp` checks it later.
 */
async function requireLiveSession({ id }: Grant, { store, keeper }: TokenPorts): Promise<void> {
  const session = await store.findProviderSession(id)
  const kept = session && (await keeper.keep(session))
  if (!kept || kept.kind === 'ended') {
    throw new OAuthError('expired_token', 'The sign-in behind this approval has ended. Start again.')
  }
}

/** Classifies whether two requests seem to have the same source; in the log it tells a race from a theft. */
function replaySource(first: string | undefined, again: string | undefined): string {
  if (first === undefined || again === undefined) return 'unknown_address'
  return isSameSource(first, again) ? 'same_address' : 'other_address'
}

/**
 * Keeps the client's record. The tokens are issued and the code is used up: the client must get them even if its record cannot be
 * updated.
 */
async function keepClient(
  client: Client,
  grant: Grant,
  context: RequestContext,
  ports: TokenPorts,
): Promise<void> {
  try {
    await ports.keepClient(client, grant.expiresAt)
  } catch (error) {
    context.report('client_not_kept', { client_id: client.id, error })
  }
}

function readGrantType(form: URLSearchParams, { kind }: Client): GrantType {
  const asked = requiredParameter(form, 'grant_type')
  if (asked === serviceGrantType && kind === 'service') return asked
  const grantType = grantTypes.find((known) => known === asked)
  if (grantType) return grantType
  throw new OAuthError('unsupported_grant_type', `grant_type must be one of ${grantTypes.join(', ')}.`)
}

type Redemption = (
  client: Client,
  form: URLSearchParams,
  context: RequestContext,
  ports: TokenPorts,
) => Promise<RefreshedTokens>

const redemptions: Readonly<Record<GrantType, Redemption>> = {
  async authorization_code(client, form, context, ports) {
    requireGrantType(client, 'authorization_code')
    // The S256 challenge of a verifier is its SHA-256.
    const challenge = hashSecret(optionalParameter(form, 'code_verifier') ?? '')
    context.attempt?.({ signIn: signInKey(challenge) })
    const request = {
      client,
      code: requiredParameter(form, 'code'),
      codeVerifier: optionalParameter(form, 'code_verifier'),
      redirectUri: optionalParameter(form, 'redirect_uri'),
      resources: form.getAll('resource'),
    }
    return redeemAuthorizationCode(request, ports)
  },
  // Whether the client may refresh depends on whether the token was issued to it.
  async refresh_token(client, form, { address }, ports) {
    const request = {
      client,
      refreshToken: requiredParameter(form, 'refresh_token'),
      scope: optionalParameter(form, 'scope'),
      resources: form.getAll('resource'),
      address,
    }
    return rotateRefreshToken(request, ports)
  },
  async [serviceGrantType](client, form, _context, ports) {
    const request = { scope: optionalParameter(form, 'scope'), resources: form.getAll('resource') }
    return issueServiceToken(client, request, ports)
  },
  async [deviceGrantType](client, form, context, ports) {
    requireGrantType(client, deviceGrantType)
    const deviceCode = requiredParameter(form, 'device_code')
    context.attempt?.({ signIn: signInKey(deviceHashOf(deviceCode, client)) })
    return redeemDeviceCode({ client, deviceCode, resources: form.getAll('resource') }, ports)
  },
}
