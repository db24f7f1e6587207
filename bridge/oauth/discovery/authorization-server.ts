import {
  type AuthorizationServerMetadata,
  authorizationServerMetadataUrls,
  parseAuthorizationServerMetadata,
} from '@drawbridge/shared/oauth/oauth-metadata.ts'
import { fetchDocuments } from './document.ts'
import { OAuthFailure } from '../login-port.ts'
import type { OAuthPorts } from '../server-exchange.ts'
import { quoteServerText } from '../server-text.ts'

/** The metadata of an authorization server, or what was found in its place. */
interface FoundServer {
  metadata: AuthorizationServerMetadata | undefined
  fault: string | undefined
}

/**
 * Finds the metadata of `issuer` (RFC 8414 section 3, OpenID Connect Discovery 1.0 section 4). Rejects with
 * {@link OAuthFailure} `issuer_mismatch` when the document names another issuer: to the letter, because whoever may name an
 * issuer that is not theirs may have the codes of it (RFC 9207 section 1). `otherwise` is the one other spelling that is
 * taken, where no document said how the issuer is written.
 */
export async function findAuthorizationServer(
  issuer: string,
  options: { allowHttp: boolean; signal: AbortSignal; otherwise?: string },
  ports: OAuthPorts,
): Promise<FoundServer> {
  let fault: string | undefined
  let failure: OAuthFailure | undefined
  for await (const attempt of fetchDocuments(authorizationServerMetadataUrls(issuer), options, ports)) {
    if ('failure' in attempt) {
      failure ??= attempt.failure
      continue
    }
    const at = `the authorization server metadata at ${new URL(attempt.place).pathname}`
    if ('fault' in attempt) {
      fault = `${at}: ${attempt.fault}`
      continue
    }
    const parsed = parseAuthorizationServerMetadata(attempt.document)
    if (parsed.kind === 'parsed') {
      const { metadata } = parsed
      if (metadata.issuer === issuer || metadata.issuer === options.otherwise) {
        return { metadata, fault: undefined }
      }
      throw new OAuthFailure(
        'issuer_mismatch',
        `The metadata of ${quoteServerText(issuer)} names another issuer, ${quoteServerText(metadata.issuer)}.`,
        { issuer },
      )
    }
    fault = `${at}: ${parsed.reason}`
  }
  if (failure !== undefined) throw failure
  return { metadata: undefined, fault }
}
