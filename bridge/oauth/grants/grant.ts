import type { ClientIdentity, Credential, IssuedTokens, IssuerQuirks } from '../../credentials/credential.ts'
import type { ReplacedClient } from '../client/client-choice.ts'
import type { DiscoveredServer } from '../discovery/discovery.ts'
import { OAuthFailure } from '../login-port.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import type { OAuthContext } from '../server-request.ts'
import { quoteServerText } from '../server-text.ts'
import { sendWithQuirks } from '../tokens/issuer-quirks.ts'
import { requestTokens } from '../tokens/token-request.ts'
import { type RefreshAnswer, failureOf } from '../tokens/token-response.ts'

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
  quirks: IssuerQuirks
  /** See `Credential`. */
  acceptedPage?: string | undefined
}

/** Sends a token request with these parameters and `resource`, in the form that its issuer wants. */
export async function requestGrant(
  { server, scope, previous }: GrantRequest,
  client: ClientIdentity,
  parameters: Readonly<Record<string, string | undefined>>,
  context: OAuthContext,
): Promise<RefreshAnswer> {
  const { issuer, token_endpoint: url = '' } = server.metadata
  const known = previous?.issuer === issuer ? previous.quirks : undefined
  const optional = { resource: server.resource, scope: undefined }
  return await sendWithQuirks(optional, known, ({ resource }) =>
    requestTokens({ url, issuer, client, parameters: { ...parameters, resource }, scope }, context),
  )
}

/**
 * Reads the tokens of a token response, with what was learned about its issuer. Throws {@link OAuthFailure} for any
 * other response, and when an ID token is required but missing.
 */
export function grantedTokens(
  { client, quirks: learned }: ReplacedClient,
  { answer, quirks }: RefreshAnswer,
  issuer: string,
  { useIdToken }: OAuthConfig,
): GrantedTokens {
  if (answer.kind !== 'issued') throw failureOf(answer, issuer)
  const { tokens } = answer
  if (useIdToken && tokens.idToken === undefined) {
    throw new OAuthFailure(
      'refused',
      `${quoteServerText(issuer)} issued no ID token. Leave --use-id-token out, or ask for openid with --scope.`,
      { issuer },
    )
  }
  return { client, tokens, quirks: { ...quirks, ...learned } }
}
