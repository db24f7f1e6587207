import {
  type ProtectedResourceMetadata,
  parseProtectedResourceMetadata,
  protectedResourceMetadataUrls,
} from '@drawbridge/shared/oauth/oauth-metadata.ts'
import { coversServer, fetchDocuments, isSafeUrl } from './document.ts'
import { OAuthFailure } from '../login-port.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import type { OAuthPorts } from '../server-exchange.ts'
import { quoteServerText } from '../server-text.ts'

/** The protected resource metadata of a server, or what was found in its place. */
export interface FoundResource {
  metadata: ProtectedResourceMetadata | undefined
  /** Why the last document that was no metadata is none. */
  fault: string | undefined
}

/**
 * Finds the protected resource metadata: where the challenge says, else below the path of the server, else at its root, and
 * nowhere twice (MCP 2026-07-28 authorization, protected resource metadata discovery). Rejects with {@link OAuthFailure}
 * `resource_mismatch` for that of another server, because its tokens are not for this one, unless the user named the
 * resource.
 */
export async function findProtectedResource(
  challengeUrl: string | undefined,
  config: OAuthConfig,
  ports: OAuthPorts,
  signal: AbortSignal,
): Promise<FoundResource> {
  const { serverUrl, allowHttp } = config
  const named =
    challengeUrl !== undefined && isSafeUrl(challengeUrl, serverUrl, allowHttp) ? [challengeUrl] : []
  const usual = protectedResourceMetadataUrls(serverUrl)
  const places = new Set([...named.map((place) => new URL(place).href), ...usual])
  let fault: string | undefined
  let failure: OAuthFailure | undefined
  for await (const attempt of fetchDocuments(places, { allowHttp, signal }, ports)) {
    if ('failure' in attempt) {
      failure ??= attempt.failure
      continue
    }
    const at = `the protected resource metadata at ${new URL(attempt.place).pathname}`
    if ('fault' in attempt) {
      fault = `${at}: ${attempt.fault}`
      continue
    }
    const parsed = parseProtectedResourceMetadata(attempt.document)
    if (parsed.kind === 'parsed') {
      if (config.resource === undefined) checkResource(parsed.metadata.resource, serverUrl)
      return { metadata: parsed.metadata, fault: undefined }
    }
    fault = `${at}: ${parsed.reason}`
  }
  if (failure !== undefined) throw failure
  return { metadata: undefined, fault }
}

function checkResource(resource: string, serverUrl: string): void {
  if (coversServer(resource, serverUrl)) return
  const { origin, pathname } = new URL(serverUrl)
  throw new OAuthFailure(
    'resource_mismatch',
    `The metadata of ${origin}${pathname} is for another resource, ${quoteServerText(resource)}.`,
    isTypeable(resource, origin) ? { nextStep: `Did you mean: drawbridge login ${resource}` } : {},
  )
}

/** Whether a URL of the server's own may stand in a command that people copy: of the same origin, without what a shell reads. */
function isTypeable(resource: string, origin: string): boolean {
  return resource.startsWith(`${origin}/`) && /^[\w:/.~-]{1,200}$/.test(resource)
}
