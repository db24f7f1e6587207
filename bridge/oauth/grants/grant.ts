import type { ClientIdentity, Credential, IssuedTokens, IssuerQuirks } from '../../credentials/credential.ts'
import type { DiscoveredServer } from '../discovery/discovery.ts'
import { OAuthFailure } from '../login-port.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import { quoteServerText } from '../server-text.ts'
import { type RefreshAnswer, failureOf } from '../tokens/token-response.ts'

/** What a grant is asked for. */
export interface GrantRequest {
  server: DiscoveredServer
  scope: string | undefined
  previous: Credential | undefined
  /** A person asks for it although there is a login. */
  isForced: boolean
}

/** What a grant brought. */
export interface GrantedTokens {
  client: ClientIdentity
  tokens: IssuedTokens
  quirks: IssuerQuirks
  /** See `Credential`. */
  acceptedPage?: string
}

/**
 * What the answer of a token endpoint brought, with what was learned about its issuer on the way. Throws {@link OAuthFailure} for any other answer, and when the ID token is
 * wanted and there is none.
 */
export function grantedTokens(
  { client, quirks: learned }: { client: ClientIdentity; quirks: IssuerQuirks },
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
