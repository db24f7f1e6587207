import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { OAuthError } from '@drawbridge/shared/oauth/oauth-error.ts'
import { isCodeVerifier, matchesCodeChallenge } from '@drawbridge/shared/oauth/pkce.ts'
import { matchRedirectUri } from '@drawbridge/shared/oauth/redirect-uri.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import type { Client } from '../clients/client.ts'
import {
  type AuthorizationCodeRecord,
  type Grant,
  type GrantStore,
  type ReportGrantEnd,
  userOf,
  type Workspace,
} from '../session/grant.ts'
import { isLive } from '../session/grant-pages.ts'
import { StoreUnavailableError } from '../store-unavailable.ts'
import { requireOurResource } from '../tokens/resource.ts'
import type { ScopeCatalogue } from '../tokens/scope.ts'
import { hashSecret, type Sealer } from '../seal.ts'
import type { SignIn } from '../session/session-provider.ts'
import { sealProviderSession } from '../session/session-seal.ts'
import { type IssuedTokens, createFamily, mintTokens, tokenResponse } from '../tokens/token-issue.ts'

const codeTtlSeconds = 60
// A client that sends the same code twice at once (double effects, retries) must not lose its new session.
const reuseGraceSeconds = 10

export interface AuthorizationCodePorts {
  accessTokenTtlSeconds: number
  store: GrantStore
  sealer: Sealer
  runtime: Pick<Runtime, 'now' | 'randomBytes'>
  /** Issuer of the session provider; namespaces user ids. */
  providerIssuer: string
  scopes: ScopeCatalogue
  sessionTtlSeconds: number
  reportGrantEnd: ReportGrantEnd
}

/** Parameters of a token request with grant_type=authorization_code; `client` has already authenticated. */
export interface CodeRedemptionRequest {
  client: Client
  code: string
  codeVerifier: string | undefined
  redirectUri: string | undefined
  resources: readonly string[]
}

/** The contents of a future grant, from any kind of request. */
export interface GrantRequest extends Pick<AuthorizationRequest, 'clientId' | 'resource' | 'scope'> {
  workspace?: Workspace | undefined
  replaces?: AuthorizationCodeRecord['replaces']
}

/** Issues a code of 256 random bits, valid for 60 seconds, single use. The grant's lifetime starts now. */
export async function issueAuthorizationCode(
  request: AuthorizationRequest & GrantRequest,
  signIn: SignIn,
  ports: AuthorizationCodePorts,
): Promise<{ code: string; grantId: string }> {
  const code = encodeBase64url(ports.runtime.randomBytes(32))
  const { redirectUri, codeChallenge, replaces } = request
  const expiresAt = ports.runtime.now() + codeTtlSeconds
  const record = { codeHash: hashSecret(code), redirectUri, codeChallenge, expiresAt, replaces }
  return { code, grantId: await addGrantCode(record, request, signIn, ports) }
}

/** Stores what becomes a grant of `request` once the code of `record` is redeemed. Returns the id of that grant. */
export async function addGrantCode(
  record: Omit<AuthorizationCodeRecord, 'grant'>,
  request: GrantRequest,
  { identity, session }: SignIn,
  ports: AuthorizationCodePorts,
): Promise<string> {
  const { runtime, sealer, providerIssuer } = ports
  const now = runtime.now()
  const grant: Grant = {
    id: createGrantId(runtime),
    user: userOf(identity, providerIssuer),
    clientId: request.clientId,
    resource: request.resource,
    scope: request.scope,
    workspace: request.workspace,
    createdAt: now,
    expiresAt: now + ports.sessionTtlSeconds,
  }
  await ports.store.addAuthorizationCode(
    { ...record, grant },
    sealProviderSession(
      { ...session, issuer: providerIssuer },
      { grantId: grant.id, version: 1, issuedAt: now },
      sealer,
    ),
  )
  return grant.id
}

/** Generates 127 random bits. The first bit is zero, so that the id begins with a letter: a command would read `-` as a flag. */
function createGrantId(runtime: Pick<Runtime, 'randomBytes'>): string {
  const [first = 0, ...rest] = runtime.randomBytes(16)
  return encodeBase64url(Uint8Array.of(first & 0x7f, ...rest))
}

/**
 * Exchanges a code for tokens (OAuth 2.1 section 4.1.3). Throws `invalid_grant`, `invalid_request` or `invalid_target`.
 *
 * A wrong verifier does not consume the code, so guessing cannot take it from its owner. Presenting a code again with the right
 * verifier more than ten seconds after its use ends the resulting grant (RFC 9700 section 2.1.1).
 */
export async function redeemAuthorizationCode(
  request: CodeRedemptionRequest,
  ports: AuthorizationCodePorts,
): Promise<IssuedTokens> {
  const record = await ports.store.findAuthorizationCode(hashSecret(request.code))
  if (!record || record.grant.clientId !== request.client.id)
    throw unusableCode('unknown, expired or already used')
  await checkBinding(record, request)
  return redeemGrantCode(record, request.client, ports)
}

/**
 * Creates the grant of `record` and its first tokens, once. Presenting the code again is `invalid_grant`, and ends the grant if it
 * is more than ten seconds after the first use. Does not check whether `client` may redeem it, nor what the code is bound to.
 */
export async function redeemGrantCode(
  record: AuthorizationCodeRecord,
  client: Client,
  ports: AuthorizationCodePorts,
): Promise<IssuedTokens> {
  const { store, runtime } = ports
  const { grant } = record
  const now = runtime.now()
  const family = client.grantTypes.includes('refresh_token') ? createFamily(runtime) : undefined
  const { pair, minted } = mintTokens(grant, grant.scope, family, ports.accessTokenTtlSeconds, runtime)
  const tokens = { ...minted, familyHash: family && hashSecret(family) }
  const redemption = await store.redeemAuthorizationCode(record.codeHash, tokens, now)
  switch (redemption.kind) {
    case 'redeemed':
      // The code is used up: the client must get its tokens even if the store fails now. Then both connections stay.
      await endOutgrown(record, ports).catch(ignoreOutage)
      return { grant, response: tokenResponse(pair, now) }
    case 'used':
      if (now - redemption.redeemedAt <= reuseGraceSeconds) throw unusableCode('already used')
      await endReused(grant, ports)
      throw unusableCode('already used, so the connection was ended for safety')
    case 'expired':
    case 'unknown':
      if (!isDeviceCode(record)) throw unusableCode('expired')
      // RFC 8628 section 3.5: the device session is over, whether the device was too late or the user withdrew the approval.
      throw new OAuthError('expired_token', 'The approval of this device has ended. Start again.')
  }
}

function ignoreOutage(error: unknown): void {
  if (!(error instanceof StoreUnavailableError)) throw error
}

/** True when a code stands for a device's approval. Clients cannot redeem such a code, as no verifier matches it. */
export function isDeviceCode({ codeChallenge }: Pick<AuthorizationCodeRecord, 'codeChallenge'>): boolean {
  return codeChallenge === ''
}

/** Ends the grant that a client has stepped up from, if it has nothing that the new one lacks, and less. */
async function endOutgrown(
  { grant, replaces }: AuthorizationCodeRecord,
  { store, runtime, scopes, reportGrantEnd }: AuthorizationCodePorts,
): Promise<void> {
  const older = replaces === undefined ? undefined : await store.findGrant(replaces)
  if (!older || !isLive(older, runtime.now())) return
  const { user, workspace, scope } = older.grant
  const given = scopes.optionalOf(grant.scope)
  const held = scopes.optionalOf(scope)
  const isMore = given.length > held.length && held.every((name) => given.includes(name))
  if (!isMore || user.id !== grant.user.id || workspace?.id !== grant.workspace?.id) return
  await store.endGrant(older.grant.id, 'replaced', runtime.now())
  reportGrantEnd(older.grant, 'replaced')
}

/** Ends a grant whose code was reused. Reports it once: the holder of the code and its verifier could otherwise fill the log. */
async function endReused(
  { id }: Grant,
  { store, runtime, reportGrantEnd }: AuthorizationCodePorts,
): Promise<void> {
  const record = await store.findGrant(id)
  if (!record || record.end !== undefined) return
  await store.endGrant(id, 'code_reuse', runtime.now())
  reportGrantEnd(record.grant, 'code_reuse')
}

async function checkBinding(record: AuthorizationCodeRecord, request: CodeRedemptionRequest): Promise<void> {
  if (request.codeVerifier === undefined) {
    throw new OAuthError('invalid_request', 'code_verifier is missing.')
  }
  const verified =
    isCodeVerifier(request.codeVerifier) &&
    (await matchesCodeChallenge(request.codeVerifier, record.codeChallenge))
  if (!verified) throw new OAuthError('invalid_grant', 'code_verifier does not match the code_challenge.')
  // OAuth 2.1 dropped the parameter here; a client that still sends it must send the one it used (RFC 6749 section 4.1.3).
  if (request.redirectUri !== undefined && request.redirectUri !== record.redirectUri) {
    throw new OAuthError('invalid_grant', 'redirect_uri does not match the authorization request.')
  }
  // The registration may have changed since the request was made, and instances may know a client document in different versions.
  if (
    request.client.kind === 'registered' &&
    !matchRedirectUri(request.client.redirectUris, record.redirectUri)
  ) {
    throw new OAuthError(
      'invalid_grant',
      'The client no longer has this redirect_uri. Start the authorization again.',
    )
  }
  requireOurResource(request.resources, record.grant.resource)
}

function unusableCode(why: string): OAuthError {
  return new OAuthError('invalid_grant', `This code is ${why}. Start the authorization again.`)
}
