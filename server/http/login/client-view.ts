import { isLoopbackHostname, redirectHost } from '@drawbridge/shared/oauth/redirect-uri.ts'
import { type Client, deviceGrantType } from '../../core/clients/client.ts'
import { documentHost } from '../../core/clients/client-id-metadata-document.ts'
import { tokenNameOf } from '../../core/tokens/personal-token.ts'
import type { Language } from '../../texts/language.ts'
import type { ClientView } from '../pages/client-facts.ts'
import type { ConnectionView } from '../pages/connections-page.ts'
import { isUrl } from '@drawbridge/shared/url.ts'

/**
 * Describes a client for the pages of a sign-in. The host of its id is proven when the browser returns to an https address of the
 * same host, or when the client must authenticate at the token endpoint. With a loopback address, an app's own scheme or a device,
 * any program can present the id of a public client (MCP security best practices, localhost redirects).
 *
 * A document that sends the browser to another host proves nothing: anyone who can put one file on a well-known host would have
 * that host named on this page, and would get the code.
 */
export function clientView(client: Client, redirectUri: string | undefined, language: Language): ClientView {
  const host = documentHost(client)
  const isProven = provesItself(client) || (redirectUri !== undefined && returnsToWeb(redirectUri))
  const returnsElsewhere = redirectUri !== undefined && returnsToOther(redirectUri, host)
  return {
    name: clientDisplayName(client, language),
    ...(client.uri !== undefined && { uri: client.uri }),
    ...(host !== undefined &&
      (isProven && !returnsElsewhere ? { verifiedHost: host } : { describedBy: host })),
    ...(host !== undefined && returnsElsewhere && { returnsElsewhere }),
    ...(client.kind === 'configured' && isProven && { vouched: true }),
  }
}

/** Returns whether a redirect URI leads to this computer, where any program may listen. */
export function isLoopbackUri(uri: string): boolean {
  return isUrl(uri) && isLoopbackHostname(new URL(uri).hostname)
}

function provesItself({ authMethod }: Pick<Client, 'authMethod'>): boolean {
  return authMethod !== 'none'
}

/** Returns whether a redirect URI leads to a website, neither to this computer nor to an app by its own scheme. */
function returnsToWeb(uri: string): boolean {
  return /^https:/i.test(uri) && !isLoopbackUri(uri)
}

function returnsToOther(uri: string, host: string | undefined): boolean {
  return returnsToWeb(uri) && redirectHost(uri) !== host
}

export type ListedClient = Pick<ConnectionView, 'client' | 'returnsTo' | 'runsOnWeb' | 'isToken'>

/**
 * Describes a client for a list. Which of its redirect URIs was used is unknown there, so its host counts as proven only when all
 * of them prove it. A removed client has only its id.
 */
export function listedClient(id: string, client: Client | undefined, language: Language): ListedClient {
  const token = tokenNameOf(id)
  const host = documentHost(client ?? { id })
  const name = client ? clientDisplayName(client, language) : (token ?? language.texts.common.removedApp)
  const isProven = client !== undefined && isProvenAlways(client, host)
  const uris = client?.redirectUris ?? []
  return {
    client: {
      name,
      ...(host !== undefined && (isProven ? { verifiedHost: host } : { describedBy: host })),
    },
    returnsTo: [...new Set(uris.map(returnAddress))],
    runsOnWeb: uris.length > 0 && uris.every(returnsToWeb),
    ...(token !== undefined && { isToken: true }),
  }
}

function isProvenAlways(client: Client, host: string | undefined): boolean {
  if (client.redirectUris.some((uri) => returnsToOther(uri, host))) return false
  if (provesItself(client)) return true
  return !client.grantTypes.includes(deviceGrantType) && client.redirectUris.every(returnsToWeb)
}

/** Returns a client's display name: its own, unverified one. */
export function clientDisplayName(client: Pick<Client, 'id' | 'name'>, { texts }: Language): string {
  return client.name ?? texts.common.unnamedApp
}

/** Returns the target of a redirect URI for display: the host, or the scheme of an app without its colon. */
export function returnAddress(redirectUri: string): string {
  return redirectHost(redirectUri).replace(/:$/, '')
}
