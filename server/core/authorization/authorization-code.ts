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
} from '../session/grant.ts'
import { areOurResources } from '../tokens/resource.ts'
import type { ScopeCatalogue } from '../tokens/scope.ts'
import { hashSecret, type Sealer } from '../seal.ts'
import type { SignIn } from '../session/session-provider.ts'
import { sealProviderSession } from '../session/session-seal.ts'
import {
  type IssuedTokens,
  accessTokenTtl,
  createFamily,
  mintTokens,
  type TokenLife,
  tokenResponse,
} from '../tokens/token-issue.ts'

const codeTtlSeconds = 60
// A client that sends the same code twice at once (double effects, retries) must not lose the session it just got.
const reuseGraceSeconds = 10

/** What issuing and redeeming codes needs from outside. */
export interface AuthorizationCodePorts extends TokenLife {
  store: GrantStore
  sealer: Sealer
  runtime: Pick<Runtime, 'now' | 'randomBytes'>
  /** Issuer of the session provider: namespaces user ids. */
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

/** What a grant is about, whichever way it was asked for. */
export type GrantRequest = Pick<AuthorizationRequest, 'clientId' | 'resource' | 'scope'>

/**
 * Issues a code for what `request` asked and the user who signed in: 256 random bits, 60 seconds, single use.
 * The provider's tokens are sealed before they are stored; the life of the grant counts from now.
 */
export async function issueAuthorizationCode(
  request: AuthorizationRequest,
  signIn: SignIn,
  ports: AuthorizationCodePorts,
): Promise<string> {
  const code = encodeBase64url(ports.runtime.randomBytes(32))
  const { redirectUri, codeChallenge } = request
  const expiresAt = ports.runtime.now() + codeTtlSeconds
  const record = { codeHash: hashSecret(code), redirectUri, codeChallenge, expiresAt }
  await addGrantCode(record, request, signIn, ports)
  return code
}

/** Stores what becomes a grant of `request` as soon as the code of `record` is redeemed. */
export async function addGrantCode(
  record: Omit<AuthorizationCodeRecord, 'grant'>,
  request: GrantRequest,
  { identity, session }: SignIn,
  ports: AuthorizationCodePorts,
): Promise<void> {
  const { runtime, sealer, providerIssuer } = ports
  const now = runtime.now()
  const grant: Grant = {
    id: createGrantId(runtime),
    user: userOf(identity, providerIssuer),
    clientId: request.clientId,
    resource: request.resource,
    scope: request.scope,
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
}

/** 127 random bits. The first is zero, so that it begins with a letter: a command would take `-` for a flag. */
function createGrantId(runtime: Pick<Runtime, 'randomBytes'>): string {
  const [first = 0, ...rest] = runtime.randomBytes(16)
  return encodeBase64url(Uint8Array.of(first & 0x7f, ...rest))
}

/**
 * Exchanges a code for tokens (OAuth 2.1 section 4.1.3). Throws `invalid_grant`, `invalid_request` or
 * `invalid_target`.
 *
 * A wrong verifier does not consume the code: guessing cannot take it from its owner. Presenting a code again with
 * the right verifier more than ten seconds after its use ends the resulting grant (RFC 9700 section 2.1.1).
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
 * Makes the grant of `record` and its first tokens, once: presented again it is `invalid_grant`, and later than ten seconds
 * after its use that ends the grant. Not checked: whether `client` may redeem it, and what the code is bound to.
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
  const { pair, minted } = mintTokens(
    grant,
    grant.scope,
    family === undefined ? 'none' : { family },
    accessTokenTtl(client, ports),
    runtime,
  )
  const tokens = { ...minted, familyHash: family && hashSecret(family) }
  const redemption = await store.redeemAuthorizationCode(record.codeHash, tokens, now)
  switch (redemption.kind) {
    case 'redeemed':
      return { grant, response: tokenResponse(pair, now) }
    case 'used':
      if (now - redemption.redeemedAt <= reuseGraceSeconds) throw unusableCode('already used')
      await endReused(grant, ports)
      throw unusableCode('already used, so the connection was ended for safety')
    case 'expired':
    case 'unknown':
      throw isDeviceCode(record) ? expiredApproval() : unusableCode('expired')
  }
}

/** Whether a code stands for the approval of a device: no client can redeem such a code, as no verifier fits it. */
export function isDeviceCode({ codeChallenge }: Pick<AuthorizationCodeRecord, 'codeChallenge'>): boolean {
  return codeChallenge === ''
}

/** Reported once: the holder of the code and its verifier could otherwise fill the log with the end of one grant. */
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
    throw new OAuthError('invalid_grant', 'redirect_uri is not the one of the authorization request.')
  }
  // A registration may have been changed since the request was made. Of documents, instances know different ages.
  if (
    request.client.kind === 'registered' &&
    !matchRedirectUri(request.client.redirectUris, record.redirectUri)
  ) {
    throw new OAuthError(
      'invalid_grant',
      'This client took the redirect_uri back. Start the authorization again.',
    )
  }
  if (!areOurResources(request.resources, record.grant.resource)) {
    throw new OAuthError('invalid_target', `This code is for ${record.grant.resource}`)
  }
}

// RFC 8628 section 3.5: the session with the device is over, whether it came too late or the user took the approval back.
function expiredApproval(): OAuthError {
  return new OAuthError('expired_token', 'The approval of this device has ended. Start again.')
}

function unusableCode(why: string): OAuthError {
  return new OAuthError('invalid_grant', `This code is ${why}. Start the authorization again.`)
}
