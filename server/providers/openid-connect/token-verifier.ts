import type { Runtime } from '@drawbridge/shared/runtime.ts'
import type { JWTPayload, JWTHeaderParameters } from 'jose'
import { type Identity, ProviderError } from '../../core/session/session-provider.ts'
import type { ConnectToOidc } from './connection.ts'
import { identityOfClaims } from './identity.ts'
import { createOidcJwtVerifier } from './jwt-verifier.ts'

const maxIssuedAheadSeconds = 60

/**
 * Creates the check of JWT access tokens that the issuer made for `audience`: signature by ES256 or RS256, issuer,
 * audience, time to the second, and that it is an access token of a person. ID tokens, tokens of a client that acts for
 * itself, and tokens bound to a key that cannot be seen here are refused. Whether the session was signed out meanwhile
 * is not checked, nor which client it was issued to: `audience` has to be one that is meant for this server.
 */
export function createOidcTokenVerifier(
  { issuer, audience }: { issuer: string; audience: string },
  connect: ConnectToOidc,
  runtime: Pick<Runtime, 'now' | 'fetch'>,
): (accessToken: string) => Promise<Identity> {
  const verify = createOidcJwtVerifier({ issuer, audience }, connect, runtime)
  return async (accessToken) => {
    const { payload, protectedHeader } = await verify(accessToken, { requiredClaims: ['exp', 'sub'] })
    refuseUnlessPerson(payload, protectedHeader, runtime.now())
    return identityOfClaims(payload, issuer, Math.floor(payload.exp ?? 0))
  }
}

function refuseUnlessPerson(claims: JWTPayload, header: JWTHeaderParameters, now: number): void {
  const rule = (
    [
      [isAccessToken(claims, header.typ?.toLowerCase()), 'it is not an access token'],
      [typeof claims.sub === 'string' && claims.sub !== '', 'sub is not a string'],
      [!isOfClient(claims), 'it belongs to a client, not to a person'],
      [claims['cnf'] === undefined, 'it is bound to a key'],
      [claims.iat === undefined || claims.iat <= now + maxIssuedAheadSeconds, 'iat lies in the future'],
    ] as const
  ).find(([holds]) => !holds)
  if (rule) throw new ProviderError('invalid_token', `The provider token is refused: ${rule[1]}.`)
}

/**
 * RFC 9068 gives access tokens a type of their own. Those of before have a scope, which an ID token has not; Keycloak
 * names the kind of every token in a claim.
 */
function isAccessToken(claims: JWTPayload, type: string | undefined): boolean {
  if (claims['typ'] !== undefined && claims['typ'] !== 'Bearer') return false
  if (type === 'at+jwt' || type === 'application/at+jwt') return true
  return (type === undefined || type === 'jwt') && (claims['scope'] ?? claims['scp']) !== undefined
}

// The subject of a client credentials grant is the client itself (RFC 9068 section 2.2); Auth0 adds a suffix.
function isOfClient(claims: JWTPayload): boolean {
  const clients = ['client_id', 'azp', 'cid']
    .map((name) => claims[name])
    .filter((id) => typeof id === 'string')
  return clients.some((id) => claims.sub === id || claims.sub === `${id}@clients`)
}
