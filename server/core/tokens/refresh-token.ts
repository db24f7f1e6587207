import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import {
  familyOf,
  type IssuedTokens,
  mintTokens,
  tokenKey,
  type TokenPair,
  tokenResponse,
} from './token-issue.ts'
import { type Client, requireGrantType } from '../clients/client.ts'
import type { Grant, GrantRecord, GrantStore, RefreshTokenRecord, ReportGrantEnd } from '../session/grant.ts'
import { refreshesOfGrant } from '../limits/limit-table.ts'
import { RateLimit } from '../limits/rate-limit.ts'
import { requireOurResource } from './resource.ts'
import { heldScope, requireScopeText, type ScopeCatalogue } from './scope.ts'
import { hashSecret, openUnderSecret, sealUnderSecret } from '../seal.ts'

/** How long a used token still returns its unused successor: the response may be lost, or the client killed before it stored it. */
export const replaySeconds: number = 120

/** The same once the successor is in use: only concurrent refreshes may still arrive. */
const usedReplaySeconds = 10

/** Maximum number of tracked grants. A forgotten grant has its full burst again. */
const maxCountedGrants = 20_000

const successorContext = 'drawbridge refresh token successor'

export interface RefreshTokenPorts {
  accessTokenTtlSeconds: number
  store: GrantStore
  runtime: Pick<Runtime, 'now' | 'randomBytes'>
  scopes: ScopeCatalogue
  refreshLimit: RefreshLimit
  reportGrantEnd: ReportGrantEnd
}

/** Counts refreshes by grant id within {@link refreshesOfGrant}, and tells how long a client over the limit should wait. */
export class RefreshLimit extends RateLimit {
  readonly retryAfterSeconds: number

  constructor(accessTokenTtlSeconds: number) {
    const rate = refreshesOfGrant(accessTokenTtlSeconds)
    super(rate, maxCountedGrants)
    this.retryAfterSeconds = Math.ceil(1 / rate.perSecond)
  }
}

/** Parameters of a token request with grant_type=refresh_token; `client` has already authenticated. */
export interface RefreshRequest {
  client: Client
  refreshToken: string
  scope: string | undefined
  resources: readonly string[]
  address?: string | undefined
}

/** The result of a refresh; for a used token, also where it was first used. */
export interface RefreshedTokens extends IssuedTokens {
  replayOf?: { address: string | undefined }
}

/**
 * Rotates a refresh token (OAuth 2.1 section 4.3). Throws `invalid_grant`, `invalid_target`, `invalid_scope` or
 * `unauthorized_client`, and `temporarily_unavailable` with status 429 for a grant over its rate.
 *
 * A token has exactly one successor. Presented again within 120 seconds, it returns that successor, or what follows it once its
 * access token has ended, so parallel and repeated refreshes all succeed; once the successor is used, at `/mcp` or here, 10
 * seconds are left. Later use ends the grant, also when the token's row is purged: its family is known. The successor is sealed
 * under the presented token: the store alone cannot replay it.
 */
export async function rotateRefreshToken(
  request: RefreshRequest,
  ports: RefreshTokenPorts,
): Promise<RefreshedTokens> {
  const { store, runtime, refreshLimit } = ports
  const now = runtime.now()
  const presentedHash = tokenKey(request.refreshToken)
  const record = await store.findRefreshToken(presentedHash)
  if (!record) await refuseCollected(request, ports)
  const { grant, usedAt } = checkRefresh(record, request, now)
  requireScopeText(request.scope)
  const asked = ports.scopes.narrow(grant.scope, request.scope)
  if (usedAt === undefined && refreshLimit.isSpent(grant.id, now)) throw tooOften(grant, refreshLimit)
  const family = familyOf(request.refreshToken)
  const { pair, minted } = mintTokens(grant, asked, family, ports.accessTokenTtlSeconds, runtime)
  const sealedTokens = sealUnderSecret(
    JSON.stringify(pair),
    request.refreshToken,
    successorContext,
    runtime.randomBytes,
  )
  const rotation = await store.rotateRefreshToken(
    presentedHash,
    { ...minted, refreshHash: minted.refreshHash ?? '', sealedTokens },
    { now, replaySeconds, usedReplaySeconds, address: request.address },
  )
  switch (rotation.kind) {
    case 'rotated':
      refreshLimit.take(grant.id, now)
      return { grant, response: tokenResponse(pair, now) }
    case 'replayed': {
      const replayOf = { address: rotation.firstUse.address }
      const successor = openSuccessor(rotation.sealedTokens, request.refreshToken)
      const scope = heldScope(grant, successor.scope)
      if (successor.expiresAt > now || successor.refreshToken === undefined)
        return { grant, response: tokenResponse({ ...successor, scope }, now), replayOf }
      // That pair no longer works. Do what its holder would do next: refresh it.
      const next = await rotateRefreshToken({ ...request, refreshToken: successor.refreshToken }, ports)
      return { ...next, replayOf }
    }
    case 'reused':
      ports.reportGrantEnd(grant, 'refresh_token_reuse')
      throw endedGrant(grant, reused)
    case 'ended':
      throw endedGrant(grant)
  }
}

/** Ends the grant and throws, unless the token belongs to no stored grant of this client. */
async function refuseCollected(
  { refreshToken, client }: RefreshRequest,
  { store, runtime, reportGrantEnd }: RefreshTokenPorts,
): Promise<void> {
  const record = await findByFamily(refreshToken, store)
  if (record?.grant.clientId !== client.id) return
  const { grant, end } = record
  if (end || grant.expiresAt <= runtime.now()) throw endedGrant(grant)
  await store.endGrant(grant.id, 'refresh_token_reuse', runtime.now())
  reportGrantEnd(grant, 'refresh_token_reuse')
  throw endedGrant(grant, reused)
}

/** Finds the grant of `refreshToken`, even after the token itself was deleted; undefined if its family is unknown. */
export async function findByFamily(
  refreshToken: string,
  store: Pick<GrantStore, 'findGrantByFamily'>,
): Promise<GrantRecord | undefined> {
  const family = familyOf(refreshToken)
  return family === undefined ? undefined : store.findGrantByFamily(hashSecret(family))
}

/** Returns the record if `request` may use it; throws `invalid_target` before anything is rotated. */
function checkRefresh(
  record: RefreshTokenRecord | undefined,
  request: RefreshRequest,
  now: number,
): RefreshTokenRecord {
  if (!record || record.grant.clientId !== request.client.id) {
    // Refuses a client that registered without this grant type, unless it was issued a refresh token anyway.
    requireGrantType(request.client, 'refresh_token')
    throw new OAuthError('invalid_grant', 'This refresh token is unknown here. Sign in again.')
  }
  if (record.endReason !== undefined || record.grant.expiresAt <= now) throw endedGrant(record.grant)
  requireOurResource(request.resources, record.grant.resource)
  return record
}

function openSuccessor(sealed: string, presented: string): TokenPair {
  const opened = openUnderSecret(sealed, presented, successorContext)
  if (opened === undefined) throw new TypeError('A stored successor does not open under its predecessor.')
  return JSON.parse(opened) as TokenPair
}

function tooOften(grant: Grant, { retryAfterSeconds }: RefreshLimit): OAuthError {
  return new OAuthError(
    'temporarily_unavailable',
    'This connection is refreshed too often. Use the access token it has, and wait as long as Retry-After says.',
    { status: 429, retryAfterSeconds, logFields: logFieldsOf(grant) },
  )
}

function endedGrant(grant: Grant, description = 'This connection has ended. Sign in again.'): OAuthError {
  return new OAuthError('invalid_grant', description, { logFields: logFieldsOf(grant) })
}

const reused = 'This refresh token was used before, so the connection was ended for safety. Sign in again.'

/** The client's error does not identify the grant, so the operator needs these fields. */
function logFieldsOf({ id, clientId }: Grant): Readonly<Record<string, string>> {
  return { client_id: clientId, grant_id: id }
}
