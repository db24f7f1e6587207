import { encodeBase64url } from '@drawbridge/shared/base64url.ts'
import { OAuthError } from '@drawbridge/shared/oauth-error.ts'
import { isCodeVerifier, matchesCodeChallenge } from '@drawbridge/shared/pkce.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { AuthorizationRequest } from './authorization-request.ts'
import type { Client } from './client.ts'
import {
  type AuthorizationCodeRecord,
  type Grant,
  type GrantStore,
  type ReportGrantEnd,
  userOf,
} from './grant.ts'
import { areOurResources } from './resource.ts'
import { hashSecret, type Sealer } from './seal.ts'
import type { SignIn } from './session-provider.ts'
import { sealProviderSession } from './session-seal.ts'
import { mintTokens, type TokenResponse, tokenResponse } from './token-issue.ts'

const codeTtlSeconds = 60
// A client that sends the same code twice at once (double effects, retries) must not lose the session it just got.
const reuseGraceSeconds = 10

/** What issuing and redeeming codes needs from outside. */
export interface AuthorizationCodePorts {
  store: GrantStore
  sealer: Sealer
  runtime: Pick<Runtime, 'now' | 'randomBytes'>
  /** Issuer of the session provider: namespaces user ids. */
  providerIssuer: string
  sessionTtlSeconds: number
  reportGrantEnd: ReportGrantEnd
  accessTokenTtlSeconds: number
}

/** Parameters of a token request with grant_type=authorization_code; `client` has already authenticated. */
export interface CodeRedemptionRequest {
  client: Client
  code: string
  codeVerifier: string | undefined
  redirectUri: string | undefined
  resources: readonly string[]
}

/**
 * Issues a code for what `request` asked and the user who signed in: 256 random bits, 60 seconds, single use.
 * The provider's tokens are sealed before they are stored; the life of the grant counts from now.
 */
export async function issueAuthorizationCode(
  request: AuthorizationRequest,
  signIn: SignIn,
  ports: AuthorizationCodePorts,
): Promise<string> {
  const { runtime, sealer } = ports
  const now = runtime.now()
  const code = encodeBase64url(runtime.randomBytes(32))
  const { identity, session } = signIn
  const grant: Grant = {
    id: encodeBase64url(runtime.randomBytes(16)),
    user: userOf(identity, ports.providerIssuer),
    clientId: request.clientId,
    resource: request.resource,
    scope: request.scope,
    createdAt: now,
    expiresAt: now + ports.sessionTtlSeconds,
  }
  await ports.store.addAuthorizationCode(
    {
      codeHash: hashSecret(code),
      grant,
      redirectUri: request.redirectUri,
      codeChallenge: request.codeChallenge,
      expiresAt: now + codeTtlSeconds,
    },
    sealProviderSession(
      { ...session, issuer: ports.providerIssuer },
      { grantId: grant.id, version: 1, issuedAt: now },
      sealer,
    ),
  )
  return code
}

/**
 * Exchanges a code for tokens (OAuth 2.1 section 4.1.3). Throws `invalid_grant`, `invalid_request` or `invalid_target`.
 *
 * A wrong verifier does not use the code up: whoever guesses cannot take it from its owner. A code presented again
 * with the right verifier later than ten seconds after its use ends the grant that came of it (RFC 9700 section 2.1.1).
 */
export async function redeemAuthorizationCode(
  request: CodeRedemptionRequest,
  ports: AuthorizationCodePorts,
): Promise<TokenResponse> {
  const { store, runtime } = ports
  const codeHash = hashSecret(request.code)
  const now = runtime.now()
  const record = await store.findAuthorizationCode(codeHash)
  if (!record || record.grant.clientId !== request.client.id)
    throw unusableCode('unknown, expired or already used')
  await checkBinding(record, request)

  const withRefreshToken = request.client.grantTypes.includes('refresh_token')
  const { pair, minted } = mintTokens(
    record.grant,
    record.grant.scope,
    withRefreshToken,
    ports.accessTokenTtlSeconds,
    runtime,
  )
  const redemption = await store.redeemAuthorizationCode(codeHash, minted, now)
  switch (redemption.kind) {
    case 'redeemed':
      return tokenResponse(pair, now)
    case 'used':
      if (now - redemption.redeemedAt > reuseGraceSeconds) {
        await store.endGrant(record.grant.id, 'code_reuse', now)
        ports.reportGrantEnd(record.grant, 'code_reuse')
        throw unusableCode('already used, so the connection was ended for safety')
      }
      throw unusableCode('already used')
    case 'expired':
    case 'unknown':
      throw unusableCode('expired')
  }
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
  if (!areOurResources(request.resources, record.grant.resource)) {
    throw new OAuthError('invalid_target', `This code is for ${record.grant.resource}`)
  }
}

function unusableCode(why: string): OAuthError {
  return new OAuthError('invalid_grant', `This authorization code is ${why}. Start the authorization again.`)
}
