import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { DocumentSource, type DocumentSourcePorts } from './client-document-source.ts'
import { isDocumentUrl, looksLikeDocumentUrl } from './client-id-metadata-document.ts'
import { isExpired } from './client-life.ts'
import type { Client, ClientFinder, ClientStore } from './client.ts'

/** Where clients are looked for. */
export interface ClientFinderPorts {
  /** Clients of the operator's file, by id. */
  configured: ReadonlyMap<string, Client>
  store: Pick<ClientStore, 'findClient'>
  runtime: Pick<Runtime, 'now'>
  /** Undefined: a client id is never the URL of a document. */
  documents: (Omit<DocumentSourcePorts, 'runtime'> & { hosts: readonly string[] }) | undefined
}

/**
 * Finds clients of every kind: first the configured ones, then the documents that ids name as URLs, then the ones that
 * registered or were added by command. What is stored of a document counts only while documents of its host are taken, so that
 * refusing a host ends what was allowed before.
 */
export function createClientFinder({
  configured,
  store,
  runtime,
  documents,
}: ClientFinderPorts): ClientFinder {
  const source = documents && new DocumentSource({ ...documents, runtime })
  return {
    async findClient(id, purpose = 'sign_in', requester?) {
      const known = configured.get(id)
      if (known) return known
      if (looksLikeDocumentUrl(id)) {
        if (!source || !isDocumentUrl(id, documents.policy.allowLoopback)) return undefined
        return isAcceptedHost(new URL(id).hostname, documents.hosts)
          ? source.find(id, purpose, requester)
          : undefined
      }
      const client = await store.findClient(id)
      return client && !isExpired(client, runtime.now()) ? client : undefined
    },
  }
}

/**
 * Whether documents of that host are taken. `patterns` are host names, with `*.` in front for all below one, and with `!` for
 * the ones that are refused, which wins. Without any that accepts, every host that is not refused is taken.
 */
export function isAcceptedHost(hostname: string, patterns: readonly string[]): boolean {
  const matches = (pattern: string): boolean =>
    pattern.startsWith('*.') ? hostname.endsWith(pattern.slice(1)) : hostname === pattern
  const refused = patterns.filter((pattern) => pattern.startsWith('!')).map((pattern) => pattern.slice(1))
  const accepted = patterns.filter((pattern) => !pattern.startsWith('!'))
  return !refused.some(matches) && (accepted.length === 0 || accepted.some(matches))
}
