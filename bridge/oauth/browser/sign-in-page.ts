import {
  type AuthorizationServerMetadata,
  authorizationServerMetadataUrls,
  parseAuthorizationServerMetadata,
} from '@drawbridge/shared/oauth/oauth-metadata.ts'
import type { Credential } from '../../credentials/credential.ts'
import { fetchDocuments } from '../discovery/document.ts'
import { OAuthFailure, type UnconfirmedPage } from '../login-port.ts'
import type { OAuthConfig } from '../oauth-config.ts'
import type { OAuthPorts } from '../server-exchange.ts'
import { quoteServerText } from '../server-text.ts'
import { cancelled } from '../wait.ts'

/** Together, for all documents of the other host: a host that does not answer publishes nothing. */
const limitMs = 5000
/** Bounds how many path segments of the page are taken for the path of an issuer. */
const maxIssuerSegments = 4

/** A page that an authorization server sends a person to. */
interface SignInPage {
  kind: 'authorization' | 'device'
  url: string
}

/** A page on another host that nothing there confirms. */
interface ForeignPage {
  origin: string
  /** What the person has to be told first; undefined when they have signed in there for this issuer before. */
  unconfirmed: UnconfirmedPage | undefined
}

/**
 * Checks that a sign-in page on another host than the issuer's belongs to the issuer. Otherwise a hostile server could name the
 * page of an honest one, and would be given the code that the honest one issues (mix-up, RFC 9700 section 4.4), or have its own
 * device code entered there. Undefined when the page is the issuer's: on its origin, on that of the endpoints that the result is
 * redeemed at, or in metadata of that host which names this issuer.
 *
 * Rejects with {@link OAuthFailure} `issuer_mismatch` when metadata of that host says that the page is another issuer's. Metadata
 * that is missing, slow or faulty says nothing. Not seen: where the page redirects a browser to.
 */
export async function checkSignInPage(
  page: SignInPage,
  {
    server: { metadata },
    previous,
  }: { server: { metadata: AuthorizationServerMetadata }; previous?: Credential | undefined },
  config: OAuthConfig,
  ports: OAuthPorts,
  signal: AbortSignal,
): Promise<ForeignPage | undefined> {
  const { issuer } = metadata
  const { origin, host } = new URL(page.url)
  if (origin === originOf(issuer) || redeemsAt(origin, page, metadata)) return undefined
  const published = await publishedMetadata(page.url, config, ports, signal)
  if (published.some((other) => other.issuer === issuer)) return undefined
  const owner = published.find((other) => isPageOf(other, page))
  if (owner !== undefined) {
    throw new OAuthFailure(
      'issuer_mismatch',
      `The authorization server ${quoteServerText(issuer)} sends people to sign in at ${host}, which is the page of another one, ${quoteServerText(owner.issuer)}.`,
      { issuer },
    )
  }
  const isAccepted = previous?.issuer === issuer && previous.acceptedPage === origin
  return { origin, unconfirmed: isAccepted ? undefined : { page: host, namedBy: new URL(issuer).host } }
}

/** Whether what the page gives out goes back to its own host, so that nobody else can get it. */
function redeemsAt(origin: string, { kind }: SignInPage, metadata: AuthorizationServerMetadata): boolean {
  const { token_endpoint: token, device_authorization_endpoint: device } = metadata
  return originOf(token) === origin && (kind === 'authorization' || originOf(device) === origin)
}

/** An authorization endpoint has to be the same one. A device page is in no metadata: the device grant of its host stands for it. */
function isPageOf(metadata: AuthorizationServerMetadata, page: SignInPage): boolean {
  const { authorization_endpoint: authorization, device_authorization_endpoint: device } = metadata
  if (page.kind === 'device') return originOf(device) === new URL(page.url).origin
  return authorization !== undefined && comparable(authorization) === comparable(page.url)
}

/** Without what servers commonly ignore. */
function comparable(url: string): string {
  const { origin, pathname } = new URL(url)
  return `${origin}${pathname.toLowerCase().replaceAll(/\/+/g, '/').replace(/\/$/, '')}`
}

function originOf(url: string | undefined): string | undefined {
  return url !== undefined && URL.canParse(url) ? new URL(url).origin : undefined
}

/** What the host of a page publishes for itself and for each folder that the page is in, as issuers often have a path. */
async function publishedMetadata(
  pageUrl: string,
  { allowHttp }: OAuthConfig,
  ports: OAuthPorts,
  signal: AbortSignal,
): Promise<AuthorizationServerMetadata[]> {
  const { origin, pathname } = new URL(pageUrl)
  const segments = pathname.split('/').slice(1, -1).slice(0, maxIssuerSegments)
  const folders = segments.map((_segment, index) => `${origin}/${segments.slice(0, index + 1).join('/')}`)
  const places = new Set([origin, ...folders].flatMap(authorizationServerMetadataUrls))
  const limit = new AbortController()
  const stop = (): void => limit.abort()
  const timer = setTimeout(stop, limitMs)
  signal.addEventListener('abort', stop, { once: true })
  try {
    const options = { allowHttp, signal: limit.signal }
    const found = await Promise.all([...places].map((place) => readMetadata(place, options, ports)))
    if (signal.aborted) throw cancelled()
    return found.filter((metadata) => metadata !== undefined)
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
}

async function readMetadata(
  place: string,
  options: { allowHttp: boolean; signal: AbortSignal },
  ports: OAuthPorts,
): Promise<AuthorizationServerMetadata | undefined> {
  try {
    for await (const attempt of fetchDocuments([place], options, ports)) {
      const parsed = 'document' in attempt ? parseAuthorizationServerMetadata(attempt.document) : undefined
      if (parsed?.kind === 'parsed') return parsed.metadata
    }
  } catch {
    // No network, no TLS, out of time: it publishes nothing.
  }
  return undefined
}
