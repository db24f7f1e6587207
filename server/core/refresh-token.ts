import { OAuthError } from '@drawbridge/shared/oauth-error.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { IssuedTokens } from './authorization-code.ts'
import type { Client } from './client.ts'
import type { GrantStore, RefreshTokenRecord, ReportGrantEnd } from './grant.ts'
import { requireGrantType } from './grant-type.ts'
import { areOurResources } from './resource.ts'
import type { ScopeCatalogue } from './scope.ts'
import { requireScopeText } from './scope-text.ts'
import { openUnderSecret, sealUnderSecret } from './seal.ts'
import { mintTokens, tokenKey, type TokenPair, tokenResponse } from './token-issue.ts'
import { accessTokenTtl, type TokenLife } from './token-life.ts'

/** How long a used refresh token is answered with the successor it already has. */
const replaySeconds = 120

const successorContext = 'drawbridge refresh token successor'

/** What rotation needs from outside. */
export interface RefreshTokenPorts extends TokenLife {
  store: GrantStore
  runtime: Pick<Runtime, 'now' | 'randomBytes'>
  scopes: ScopeCatalogue
  reportGrantEnd: ReportGrantEnd
}

/** Parameters of a token request with grant_type=refresh_token; `client` has already authenticated. */
export interface RefreshRequest {
  client: Client
  refreshToken: string
  scope: string | undefined
  resources: readonly string[]
}

/**
 * Rotates a refresh token (OAuth 2.1 section 4.3). Throws `invalid_grant`, `invalid_target`,
 * `invalid_scope` or `unauthorized_client`.
 *
 * A token has exactly one successor. Every caller that presents it within 120 seconds of its first use gets that same
 * successor, so parallel and repeated refreshes all succeed; later use ends the grant. The stored successor is sealed
 * under the presented token: the store alone cannot replay it. The session provider is not involved.
 */
export async function rotateRefreshToken(
  request: RefreshRequest,
  ports: RefreshTokenPorts,
): Promise<IssuedTokens> {
  const { store, runtime } = ports
  const now = runtime.now()
  const presentedHash = tokenKey(request.refreshToken)
  const { grant } = checkRefresh(await store.findRefreshToken(presentedHash), request, now)
  requireScopeText(request.scope)
  const scope = ports.scopes.narrow(grant.scope, request.scope)
  const { pair, minted } = mintTokens(grant, scope, true, accessTokenTtl(request.client, ports), runtime)
  const sealedTokens = sealUnderSecret(
    JSON.stringify(pair),
    request.refreshToken,
    successorContext,
    runtime.randomBytes,
  )
  const rotation = await store.rotateRefreshToken(
    presentedHash,
    { ...minted, refreshHash: minted.refreshHash ?? '', sealedTokens },
    { now, replaySeconds },
  )
  switch (rotation.kind) {
    case 'rotated':
      return { grant, response: tokenResponse(pair, now) }
    case 'replayed':
      return {
        grant,
        response: tokenResponse(openSuccessor(rotation.sealedTokens, request.refreshToken), now),
      }
    case 'reused':
      ports.reportGrantEnd(grant, 'refresh_token_reuse')
      throw new OAuthError(
        'invalid_grant',
        'This refresh token was used before, so the connection was ended for safety. Sign in again.',
      )
    case 'ended':
      throw endedGrant()
  }
}

/** The record when `request` may use it; `invalid_target` comes before anything is rotated. */
function checkRefresh(
  record: RefreshTokenRecord | undefined,
  request: RefreshRequest,
  now: number,
): RefreshTokenRecord {
  if (!record || record.grant.clientId !== request.client.id) {
    // A client that registered without this grant type has no business here, unless it was given a token all the same.
    requireGrantType(request.client, 'refresh_token')
    throw new OAuthError('invalid_grant', 'This refresh token is unknown here. Sign in again.')
  }
  if (record.endReason !== undefined || record.grant.expiresAt <= now) throw endedGrant()
  if (!areOurResources(request.resources, record.grant.resource)) {
    throw new OAuthError('invalid_target', `This refresh token is for ${record.grant.resource}`)
  }
  return record
}

function openSuccessor(sealed: string, presented: string): TokenPair {
  const opened = openUnderSecret(sealed, presented, successorContext)
  if (opened === undefined) throw new TypeError('A stored successor does not open under its predecessor.')
  return JSON.parse(opened) as TokenPair
}

function endedGrant(): OAuthError {
  return new OAuthError('invalid_grant', 'This connection has ended. Sign in again.')
}
