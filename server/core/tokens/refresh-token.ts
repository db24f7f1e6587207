import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import {
  accessTokenTtl,
  familyOf,
  type IssuedTokens,
  mintTokens,
  tokenKey,
  type TokenLife,
  type TokenPair,
  tokenResponse,
} from './token-issue.ts'
import { type Client, requireGrantType } from '../clients/client.ts'
import type { GrantRecord, GrantStore, RefreshTokenRecord, ReportGrantEnd } from '../session/grant.ts'
import { refreshesOfGrant } from '../access/limit-table.ts'
import { createRateLimit, type RateLimit } from '../access/rate-limit.ts'
import { areOurResources } from './resource.ts'
import { requireScopeText, type ScopeCatalogue } from './scope.ts'
import { hashSecret, openUnderSecret, sealUnderSecret } from '../seal.ts'

/**
 * How long a used refresh token returns its successor while the successor is unused: the response may have been lost,
 * or the client killed before it could store it.
 */
export const replaySeconds: number = 120

/** The same once the successor is in use: only callers that refreshed at the same time may still come. */
const usedReplaySeconds = 10

/** Grants that are counted at once. One that was forgotten has its whole burst again. */
const maxCountedGrants = 20_000

const successorContext = 'drawbridge refresh token successor'

/** What rotation needs from outside. */
export interface RefreshTokenPorts extends TokenLife {
  store: GrantStore
  runtime: Pick<Runtime, 'now' | 'randomBytes'>
  scopes: ScopeCatalogue
  pace: RefreshPace
  reportGrantEnd: ReportGrantEnd
}

/** Counts refreshes by the id of their grant, and says how long a client beyond the limit should wait. */
export interface RefreshPace extends RateLimit {
  retryAfterSeconds: number
}

/** Creates the {@link RefreshPace} of {@link refreshesOfGrant}. */
export function createRefreshPace(accessTokenTtlSeconds: number): RefreshPace {
  const rate = refreshesOfGrant(accessTokenTtlSeconds)
  return {
    ...createRateLimit(rate, maxCountedGrants),
    retryAfterSeconds: Math.ceil(1 / rate.perSecond),
  }
}

/** Parameters of a token request with grant_type=refresh_token; `client` has already authenticated. */
export interface RefreshRequest {
  client: Client
  refreshToken: string
  scope: string | undefined
  resources: readonly string[]
  /** Where the request came from; undefined: not known. */
  address?: string | undefined
}

/** What a refresh gives, and of a token that was used before, where it was used first. */
export interface RefreshedTokens extends IssuedTokens {
  replayOf?: { address: string | undefined }
}

/**
 * Rotates a refresh token (OAuth 2.1 section 4.3). Throws `invalid_grant`, `invalid_target`,
 * `invalid_scope` or `unauthorized_client`, and `temporarily_unavailable` with status 429 for a grant beyond its pace.
 *
 * A token has exactly one successor. Every caller that presents it within 120 seconds of its first use gets that same
 * successor, so parallel and repeated refreshes all succeed; once the successor itself is used, at `/mcp` or here, 10 seconds
 * are left. Later use ends the grant. The stored successor is sealed under the presented token: the store alone cannot replay
 * it. A token that was used so long ago that its row is collected is recognised by its family and ends the grant as well. The
 * session provider is not involved.
 */
export async function rotateRefreshToken(
  request: RefreshRequest,
  ports: RefreshTokenPorts,
): Promise<RefreshedTokens> {
  const { store, runtime, pace } = ports
  const now = runtime.now()
  const presentedHash = tokenKey(request.refreshToken)
  const record = await store.findRefreshToken(presentedHash)
  if (!record) await refuseCollected(request, ports)
  const { grant, usedAt } = checkRefresh(record, request, now)
  requireScopeText(request.scope)
  const scope = ports.scopes.narrow(grant.scope, request.scope)
  if (usedAt === undefined && pace.isSpent(grant.id, now)) throw tooOften(pace)
  const family = familyOf(request.refreshToken)
  const { pair, minted } = mintTokens(
    grant,
    scope,
    { family },
    accessTokenTtl(request.client, ports),
    runtime,
  )
  const sealedTokens = sealUnderSecret(
    JSON.stringify(pair),
    request.refreshToken,
    successorContext,
    runtime.randomBytes,
  )
  const rotation = await store.rotateRefreshToken(
    presentedHash,
    { ...minted, refreshHash: minted.refreshHash ?? '', sealedTokens },
    { now, replaySeconds, usedReplaySeconds, address: request.address, isOfFamily: family !== undefined },
  )
  switch (rotation.kind) {
    case 'rotated':
      pace.take(grant.id, now)
      return { grant, response: tokenResponse(pair, now) }
    case 'replayed':
      return {
        grant,
        response: tokenResponse(openSuccessor(rotation.sealedTokens, request.refreshToken), now),
        replayOf: { address: rotation.firstUse.address },
      }
    case 'reused':
      ports.reportGrantEnd(grant, 'refresh_token_reuse')
      throw reuse()
    case 'ended':
      throw endedGrant()
  }
}

/**
 * Ends the grant of a token whose row has been deleted, and throws. Does nothing if the token belongs to no stored
 * grant of this client.
 */
async function refuseCollected(
  { refreshToken, client }: RefreshRequest,
  { store, runtime, reportGrantEnd }: RefreshTokenPorts,
): Promise<void> {
  const record = await findByFamily(refreshToken, store)
  if (record?.grant.clientId !== client.id) return
  const { grant, end } = record
  if (end || grant.expiresAt <= runtime.now()) throw endedGrant()
  await store.endGrant(grant.id, 'refresh_token_reuse', runtime.now())
  reportGrantEnd(grant, 'refresh_token_reuse')
  throw reuse()
}

/**
 * The grant of `refreshToken`, found even after the token itself was deleted; undefined if the token names no known
 * family.
 */
export async function findByFamily(
  refreshToken: string,
  store: Pick<GrantStore, 'findGrantByFamily'>,
): Promise<GrantRecord | undefined> {
  const family = familyOf(refreshToken)
  return family === undefined ? undefined : store.findGrantByFamily(hashSecret(family))
}

/** The record when `request` may use it; `invalid_target` comes before anything is rotated. */
function checkRefresh(
  record: RefreshTokenRecord | undefined,
  request: RefreshRequest,
  now: number,
): RefreshTokenRecord {
  if (!record || record.grant.clientId !== request.client.id) {
    // A client that registered without this grant type is refused, unless it was given a refresh token anyway.
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

function tooOften({ retryAfterSeconds }: RefreshPace): OAuthError {
  return new OAuthError(
    'temporarily_unavailable',
    'This connection is refreshed too often. Use the access token it has, and wait as long as Retry-After says.',
    { status: 429, retryAfterSeconds },
  )
}

function reuse(): OAuthError {
  return new OAuthError(
    'invalid_grant',
    'This refresh token was used before, so the connection was ended for safety. Sign in again.',
  )
}

function endedGrant(): OAuthError {
  return new OAuthError('invalid_grant', 'This connection has ended. Sign in again.')
}
