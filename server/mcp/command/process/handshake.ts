import type { Implementation } from '@modelcontextprotocol/server'
import { within } from '@drawbridge/shared/async.ts'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import {
  discoveredServerInfo,
  isKnownRevision,
  isModernDiscovery,
  legacyRevisions,
  type McpEra,
  mcpMetaKey,
  modernRevision,
} from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { metaOf } from '@drawbridge/shared/mcp/params.ts'
import type { ProcessConnection } from './process-connection.ts'

/** A process that has completed its handshake. */
export interface GreetedProcess {
  connection: ProcessConnection
  revision: string
  era: McpEra
  serverInfo: Implementation
  /** The result of `server/discover` or of `initialize`. */
  presentation: JsonObject
  /** The `_meta` that makes a request of an earlier revision one of 2026-07-28. */
  envelope: JsonObject
}

export interface GreetingTerms {
  clientInfo: Implementation
  /** The capabilities that the client behind this process declared. */
  capabilities: JsonObject
  /** The first attempt: `modern` sends `server/discover`, `legacy` sends `initialize`. */
  first: McpEra
  /** Maximum silence after `server/discover` before `initialize` is sent. */
  patienceMs: number
}

/**
 * Learns which revision a process speaks. If it offers both eras, the first attempt decides; if it offers no known revision, the
 * promise rejects. The second attempt begins when the first one fails, or has no answer for a while. The first answer counts.
 */
export async function greet(connection: ProcessConnection, terms: GreetingTerms): Promise<GreetedProcess> {
  const [first, second] = terms.first === 'modern' ? [discover, initialize] : [initialize, discover]
  const opening = first(connection, terms)
  const found = await within(
    terms.patienceMs,
    opening.catch(() => undefined),
  )
  if (found) return found
  const attempts = [opening, second(connection, terms)]
  return Promise.any(attempts).catch(() => attempts[first === initialize ? 0 : 1] as Promise<GreetedProcess>)
}

async function discover(connection: ProcessConnection, terms: GreetingTerms): Promise<GreetedProcess> {
  const params = { _meta: envelopeOf(terms) }
  const result = await connection.request('server/discover', params)
  if (!isModernDiscovery(result)) throw new Error('The process does not offer 2026-07-28.')
  return greeted(connection, terms, modernRevision, { serverInfo: discoveredServerInfo(result), result })
}

async function initialize(connection: ProcessConnection, terms: GreetingTerms): Promise<GreetedProcess> {
  const { clientInfo, capabilities } = terms
  const result = await connection.request('initialize', {
    protocolVersion: legacyRevisions[0],
    capabilities,
    clientInfo,
  })
  const revision = isJsonObject(result) ? result['protocolVersion'] : undefined
  if (!isJsonObject(result) || typeof revision !== 'string' || !isKnownRevision(revision))
    throw new Error('The process answered initialize with a protocol version that is not supported.')
  connection.notify('notifications/initialized', {})
  return greeted(connection, terms, revision, { serverInfo: result['serverInfo'], result })
}

function greeted(
  connection: ProcessConnection,
  { clientInfo, capabilities }: GreetingTerms,
  revision: string,
  given: { serverInfo: unknown; result: JsonObject },
): GreetedProcess {
  const info = isJsonObject(given.serverInfo) ? given.serverInfo : {}
  const { name, version } = info
  const serverInfo = {
    ...info,
    name: typeof name === 'string' ? name : 'unknown',
    version: typeof version === 'string' ? version : '0',
  }
  const isModern = revision === modernRevision
  return {
    connection,
    revision,
    era: isModern ? 'modern' : 'legacy',
    serverInfo,
    presentation: isModern
      ? { ...given.result, _meta: { ...metaOf(given.result), [mcpMetaKey.serverInfo]: serverInfo } }
      : { ...given.result, serverInfo },
    envelope: envelopeOf({ clientInfo, capabilities }),
  }
}

/** Returns the `_meta` of a request of 2026-07-28 that describes the client. */
function envelopeOf({
  clientInfo,
  capabilities,
}: Pick<GreetingTerms, 'clientInfo' | 'capabilities'>): JsonObject {
  return {
    [mcpMetaKey.protocolVersion]: modernRevision,
    [mcpMetaKey.clientInfo]: clientInfo,
    [mcpMetaKey.clientCapabilities]: capabilities,
  }
}
