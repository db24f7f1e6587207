import {
  type AuthorizationServerMetadata,
  authorizationServerMetadataUrls,
  isSameIssuer,
  parseAuthorizationServerMetadata,
} from '@drawbridge/shared/oauth/oauth-metadata.ts'
import type { Credential } from '../../credentials/credential.ts'
import { findMetadata } from '../discovery/metadata.ts'
import { isSameOrigin } from '../discovery/server-url.ts'
import { OAuthFailure } from '../login-port.ts'
import type { OAuthContext } from '../server-request.ts'
import { quoteServerText } from '../server-text.ts'
import { cancelled, withLimit } from '../wait.ts'

/** Covers all documents of the other host together; a host that does not respond publishes nothing. */
const limitMs = 5000
/** Bounds how many path segments of the page are tried as the path of an issuer. */
const maxIssuerSegments = 4

/** A page to which an authorization server sends the user. */
interface SignInPage {
  kind: 'authorization' | 'device'
  url: string
}

/**
 * Checks that a sign-in page on another host than the issuer's belongs to the issuer. Otherwise a hostile server
 * could name the page of an honest one and receive the code that the honest one issues (mix-up, RFC 9700 section
 * 4.4), have its own device code entered there, or obtain the token that the honest one issues to a client of its
 * choice.
 *
 * Returns undefined when the page is the issuer's: it is on its origin, or metadata of that host names this issuer,
 * or a manually configured client redeems the result on that host. Rejects with {@link OAuthFailure}
 * `issuer_mismatch` when metadata of that host assigns the page to another issuer. Missing, slow or invalid metadata
 * decides nothing. Does not see where the page redirects the browser.
 *
 * Otherwise returns the origin of the page, and the warning to show first unless the user has signed in there for this issuer before.
 */
export async function checkSignInPage(
  page: SignInPage,
  metadata: AuthorizationServerMetadata,
  previous: Credential | undefined,
  context: OAuthContext,
) {
  const { issuer } = metadata
  const { origin, host } = new URL(page.url)
  const isRedeemedThere = redeemsAt(page, metadata)
  const isOwnClient = context.config.staticClient !== undefined
  if (isSameOrigin(page.url, issuer) || (isOwnClient && isRedeemedThere)) return undefined
  const published = await publishedMetadata(page.url, context)
  if (published.some((other) => isSameIssuer(other.issuer, issuer))) return undefined
  const owner = published.find((other) => isPageOf(other, page))
  if (owner !== undefined) {
    const remedy = isRedeemedThere
      ? ` If that is meant, register a client at ${host} by hand, and give it with --static-oauth-client-info.`
      : ''
    throw new OAuthFailure(
      'issuer_mismatch',
      `The authorization server ${quoteServerText(issuer)} sends users to sign in at ${host}, which belongs to another one, ${quoteServerText(owner.issuer)}.${remedy}`,
      { issuer },
    )
  }
  const isAccepted = isSameIssuer(previous?.issuer, issuer) && previous?.acceptedPage === origin
  return { origin, unconfirmed: isAccepted ? undefined : { page: host, namedBy: new URL(issuer).host } }
}

/** Returns whether the result of the page is redeemed on the page's own host and so is useless to any other. */
function redeemsAt({ kind, url }: SignInPage, metadata: AuthorizationServerMetadata): boolean {
  const { token_endpoint: token, device_authorization_endpoint: device } = metadata
  return isSameOrigin(url, token) && (kind === 'authorization' || isSameOrigin(url, device))
}

/** A device page is not part of metadata, so the device grant of its host stands in. */
function isPageOf(metadata: AuthorizationServerMetadata, page: SignInPage): boolean {
  const { authorization_endpoint: authorization, device_authorization_endpoint: device } = metadata
  if (page.kind === 'device') return isSameOrigin(device, page.url)
  return authorization !== undefined && comparable(authorization) === comparable(page.url)
}

/** Drops parts that servers commonly ignore. */
function comparable(url: string): string {
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname.toLowerCase().replaceAll(/\/+/g, '/').replace(/\/$/, '')}`
}

/** Fetches the metadata of the page's host, for its root and each parent folder of the page: issuers often have a path. */
async function publishedMetadata(
  pageUrl: string,
  context: OAuthContext,
): Promise<AuthorizationServerMetadata[]> {
  const { origin, pathname } = new URL(pageUrl)
  const segments = pathname.split('/').slice(1, -1).slice(0, maxIssuerSegments)
  const folders = segments.map((_segment, index) => `${origin}/${segments.slice(0, index + 1).join('/')}`)
  const places = new Set([origin, ...folders].flatMap(authorizationServerMetadataUrls))
  const found = await withLimit(limitMs, context.signal, (signal) =>
    Promise.all(
      // Network, TLS or timeout error: the host publishes nothing.
      [...places].map((place) =>
        findMetadata('other', [place], parseAuthorizationServerMetadata, { ...context, signal }).catch(
          () => undefined,
        ),
      ),
    ),
  )
  if (context.signal.aborted) throw cancelled()
  return found.flatMap((each) => each?.metadata ?? [])
}
