import { isSameIssuer } from '@drawbridge/shared/oauth/oauth-metadata.ts'
import type { ClientIdentity, Credential, IssuedTokens, IssuerQuirks } from '../../credentials/credential.ts'
import type { DiscoveredServer } from '../discovery/discovery.ts'
import { OAuthFailure } from '../login-port.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import type { OAuthContext } from '../server-request.ts'
import { quoteServerText } from '../server-text.ts'
import { requestTokens } from '../tokens/token-request.ts'
import { type TokenAnswer, failureOf } from '../tokens/token-response.ts'

/** Input of a grant. */
export interface GrantRequest {
  server: DiscoveredServer
  scope: string | undefined
  previous: Credential | undefined
  /** The user asked to sign in although a login exists. */
  isForced: boolean
}

/** Result of a grant. */
export interface GrantedTokens {
  client: ClientIdentity
  tokens: IssuedTokens
  quirks: IssuerQuirks | undefined
  /** See `Credential`. */
  acceptedPage?: string | undefined
}

/** Sends a token request with these parameters and `resource`, in the form that its issuer wants. */
export async function requestGrant(
  { server, scope, previous }: GrantRequest,
  client: ClientIdentity,
  parameters: Readonly<Record<string, string | undefined>>,
  context: OAuthContext,
): Promise<TokenAnswer> {
  const { metadata, resource } = server
  const { issuer, token_endpoint: url = '' } = metadata
  const quirks = isSameIssuer(previous?.issuer, issuer) ? previous?.quirks : undefined
  return await requestTokens({ url, issuer, client, parameters, resource, scope, quirks }, context)
}

/** Reads the tokens of a response. Throws {@link OAuthFailure} for any other, and without a required ID token. */
export function grantedTokens(
  client: ClientIdentity,
  answer: TokenAnswer,
  issuer: string,
  { useIdToken }: OAuthConfig,
): GrantedTokens {
  if (answer.kind !== 'issued') throw failureOf(answer, issuer)
  const { tokens, quirks } = answer
  if (useIdToken && tokens.idToken === undefined) {
    throw new OAuthFailure(
      'refused',
      `${quoteServerText(issuer)} issued no ID token. Leave --use-id-token out, or ask for openid with --scope.`,
      { issuer },
    )
  }
  return { client, tokens, quirks }
}
