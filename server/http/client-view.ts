import { isLoopbackHostname, redirectHost } from '@drawbridge/shared/redirect-uri.ts'
import { type Client, deviceGrantType } from '../core/client.ts'
import { documentHost } from '../core/connection.ts'
import { clientDisplayName } from './authorization-response.ts'
import type { ClientView } from './pages/client-facts.ts'
import type { ConnectedClient } from './pages/connections-page.ts'

/**
 * A client as the pages of a sign-in show it. What its id names is proven when the browser returns to an https address that
 * its document lists, or when the client has to authenticate at the token endpoint. On a loopback address, behind an app's
 * own scheme and on a device, any program can present the id of a public client (MCP security best practices, localhost
 * redirects).
 */
export function clientView(client: Client, redirectUri: string | undefined): ClientView {
  const host = documentHost(client)
  const isProven = provesItself(client) || (redirectUri !== undefined && returnsToWeb(redirectUri))
  return {
    name: clientDisplayName(client),
    ...(client.uri !== undefined && { uri: client.uri }),
    ...(host !== undefined && (isProven ? { verifiedHost: host } : { describedBy: host })),
    ...(client.kind === 'configured' && isProven && { vouched: true }),
  }
}

/** Whether a redirect URI leads back to this computer, where any program may listen. */
export function isLoopbackUri(uri: string): boolean {
  return URL.canParse(uri) && isLoopbackHostname(new URL(uri).hostname)
}

function provesItself({ authMethod }: Pick<Client, 'authMethod'>): boolean {
  return authMethod !== 'none'
}

function returnsToWeb(uri: string): boolean {
  return /^https:/i.test(uri) && !isLoopbackUri(uri)
}

/**
 * A client as a list shows it, where nobody knows any more which of its ways was taken: its host is proven when it is on all of
 * them. Of a client that is not there any more only the id is left.
 */
export function connectedClient(id: string, client: Client | undefined): ConnectedClient {
  const host = documentHost(client ?? { id })
  const name = client ? clientDisplayName(client) : 'An app that is not registered any more'
  if (host === undefined) return { name }
  return client && isProvenAlways(client) ? { name, host } : { name, describedBy: host }
}

function isProvenAlways(client: Client): boolean {
  if (provesItself(client)) return true
  return !client.grantTypes.includes(deviceGrantType) && client.redirectUris.every(returnsToWeb)
}

/** Hosts or schemes that browsers return to for a client, each once; none for a client of devices only. */
export function returnHosts({ redirectUris }: Pick<Client, 'redirectUris'>): string[] {
  return [...new Set(redirectUris.map((uri) => redirectHost(uri).replace(/:$/, '')))]
}
