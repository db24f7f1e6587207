import { setTimeout as sleep } from 'node:timers/promises'
import type { Implementation, ServerCapabilities } from '@modelcontextprotocol/server'
import { isJsonObject, type JsonObject } from '@drawbridge/shared/json-object.ts'
import { mapServerCapabilities } from '@drawbridge/shared/mcp/adapter/capabilities.ts'
import {
  isKnownRevision,
  legacyRevisions,
  type McpEra,
  mcpMetaKey,
  modernRevision,
} from '@drawbridge/shared/mcp/mcp-protocol.ts'
import { metaOf } from '@drawbridge/shared/mcp/params.ts'
import type { ProcessConnection } from './process-connection.ts'

/** A process as it presents itself. */
export interface Presentation {
  revision: string
  era: McpEra
  serverInfo: Implementation
  /** Without tasks, which would not stay with the person who began them. */
  capabilities: ServerCapabilities
  instructions: string | undefined
}

/** How a process is greeted. */
export interface GreetingTerms {
  clientInfo: Implementation
  /** What the client behind this process declared. */
  capabilities: JsonObject
  /** What is tried first: `modern` by `server/discover`, `legacy` by `initialize`. */
  first: McpEra
  /** How long a process may be silent on `server/discover` before it gets `initialize`. */
  patienceMs: number
}

/**
 * Learns what a process is. One that offers both eras is taken by what is tried first; one that offers neither known revision
 * rejects. Servers from before 2026-07-28 answer `server/discover` with an error or not at all.
 */
export async function greet(connection: ProcessConnection, terms: GreetingTerms): Promise<Presentation> {
  if (terms.first === 'legacy') {
    return initialize(connection, terms).catch(async (error: unknown) => {
      const found = await discover(connection, terms).catch(() => undefined)
      if (found) return found
      throw error
    })
  }
  const discovering = discover(connection, terms).catch(() => undefined)
  const patience = new AbortController()
  const silence = sleep(terms.patienceMs, undefined, { signal: patience.signal, ref: false }).catch(
    () => undefined,
  )
  const found = await Promise.race([discovering, silence])
  patience.abort()
  if (found) return found
  return initialize(connection, terms).catch(async (error: unknown) => {
    const late = await discovering
    if (late) return late
    throw error
  })
}

/** What a request of 2026-07-28 says about the client in its `_meta`. */
export function envelopeOf({
  clientInfo,
  capabilities,
}: Pick<GreetingTerms, 'clientInfo' | 'capabilities'>): JsonObject {
  return {
    [mcpMetaKey.protocolVersion]: modernRevision,
    [mcpMetaKey.clientInfo]: clientInfo,
    [mcpMetaKey.clientCapabilities]: capabilities,
  }
}

/** Undefined when the process does not offer 2026-07-28. */
async function discover(
  connection: ProcessConnection,
  terms: GreetingTerms,
): Promise<Presentation | undefined> {
  const result = await connection.request('server/discover', { _meta: envelopeOf(terms) })
  if (!isJsonObject(result)) return undefined
  const { supportedVersions } = result
  if (!Array.isArray(supportedVersions) || !supportedVersions.includes(modernRevision)) return undefined
  return presentation(modernRevision, metaOf(result)[mcpMetaKey.serverInfo], result)
}

async function initialize(connection: ProcessConnection, terms: GreetingTerms): Promise<Presentation> {
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
  return presentation(revision, result['serverInfo'], result)
}

function presentation(revision: string, serverInfo: unknown, result: JsonObject): Presentation {
  const { capabilities, instructions } = result
  const known = isJsonObject(serverInfo) ? serverInfo : {}
  const { name, version } = known
  return {
    revision,
    era: revision === modernRevision ? 'modern' : 'legacy',
    serverInfo: {
      ...known,
      name: typeof name === 'string' ? name : 'unknown',
      version: typeof version === 'string' ? version : '0',
    },
    capabilities: mapServerCapabilities(capabilities),
    instructions: typeof instructions === 'string' ? instructions : undefined,
  }
}
