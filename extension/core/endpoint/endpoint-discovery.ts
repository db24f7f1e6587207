import {
  parseProtectedResourceMetadata,
  protectedResourceMetadataUrls,
} from '@drawbridge/shared/oauth/oauth-metadata.ts'
import { parseJsonObject } from '@drawbridge/shared/json-object.ts'
import { displayText } from '../display-text.ts'
import type { Browser, EndpointResponse } from '../ports.ts'
import { baseUrlOf } from '../server-address.ts'
import { hostOf, isWebPage, originPatterns } from '../site.ts'

/** A server's public metadata, read without credentials (RFC 9728). */
export type Discovery =
  | {
      kind: 'found'
      /** Base URL of the server, for the profile. */
      baseUrl: string
      /** `resource_name`, as text to display. */
      name: string | undefined
    }
  /** A response without a usable document. */
  | { kind: 'not-found'; status: number }
  /** The document belongs to another server: `resource` is not the requested one (RFC 9728 section 3.3). */
  | { kind: 'other-resource'; resource: string }
  /** No response, which permission for the host might change. */
  | { kind: 'no-permission'; host: string }
  | { kind: 'unreachable'; host: string }

const timeoutMs = 10_000

/**
 * Finds the documents of a server at its base URL or the URL of `/mcp`: first for the path, then for the host. Sends
 * no credential. Never rejects; a text that is not a web address is `unreachable`.
 */
export async function discoverEndpoint(browser: Browser, url: string): Promise<Discovery> {
  const host = hostOf(url)
  if (!isWebPage(url)) return { kind: 'unreachable', host }
  const resource = `${baseUrlOf(url)}/mcp`
  let found: Discovery | undefined
  try {
    for (const place of protectedResourceMetadataUrls(resource)) {
      const headers = { Accept: 'application/json' }
      const response = await browser.fetch({ url: place, method: 'GET', headers, timeoutMs })
      const read = readDocument(response, resource)
      if (read.kind === 'found') return read
      if (found?.kind !== 'other-resource') found = read
    }
  } catch {
    const mayRead = await browser.mayRead(originPatterns(url), 'read').catch(() => true)
    return { kind: mayRead ? 'unreachable' : 'no-permission', host }
  }
  return found ?? { kind: 'unreachable', host }
}

function readDocument({ status, body }: EndpointResponse, asked: string): Discovery {
  const parsed = parseProtectedResourceMetadata(status === 200 ? parseJsonObject(body) : undefined)
  if (parsed.kind === 'invalid') return { kind: 'not-found', status }
  const { resource, resource_name } = parsed.metadata
  if (baseUrlOf(resource) !== baseUrlOf(asked))
    return { kind: 'other-resource', resource: displayText(resource) }
  return {
    kind: 'found',
    baseUrl: baseUrlOf(asked),
    name: resource_name === undefined ? undefined : displayText(resource_name, 80),
  }
}
