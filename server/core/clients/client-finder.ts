import { parseJsonObject } from '@drawbridge/shared/json-object.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { BoundedMap } from '../bounded-map.ts'
import type { AttemptSource } from '../limits/attempt-limit.ts'
import { type FetchFailure, fetchFailures, type LimitedFetch } from './client-fetch.ts'
import {
  freshnessOf,
  isDocumentUrl,
  looksLikeDocumentUrl,
  readClientDocument,
} from './client-id-metadata-document.ts'
import { isExpired } from './client-life.ts'
import type { ClientMetadataPolicy } from './client-metadata.ts'
import {
  type Client,
  type ClientFinder,
  type ClientProblem,
  type ClientPurpose,
  type ClientStore,
  ClientUnavailableError,
} from './client.ts'

const maxBytes = 5 * 1024
const staleSeconds = 24 * 3600
const failurePauseSeconds = 60
const maxDocuments = 1000

export interface ClientFinderPorts {
  configured: ReadonlyMap<string, Client>
  store: Pick<ClientStore, 'findClient'>
  runtime: Pick<Runtime, 'now'>
  /** Undefined: a client id is never the URL of a document. */
  documents: (Omit<DocumentSourcePorts, 'runtime'> & { hosts: readonly string[] }) | undefined
}

/**
 * Finds clients of every kind: first the configured ones, then documents whose URL is the id, then clients that registered or were
 * added by command. A stored document counts only while documents of its host are accepted, so that refusing a host ends earlier
 * approvals too.
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
 * Returns whether documents of that host are accepted. `patterns` are host names; a leading `*.` matches all subdomains, and a
 * leading `!` refuses the host, which wins. Without an accepting pattern, every host that is not refused is accepted.
 *
 * @internal
 */
export function isAcceptedHost(hostname: string, patterns: readonly string[]): boolean {
  const matches = (pattern: string): boolean =>
    pattern.startsWith('*.') ? hostname.endsWith(pattern.slice(1)) : hostname === pattern
  const refused = patterns.filter((pattern) => pattern.startsWith('!')).map((pattern) => pattern.slice(1))
  const accepted = patterns.filter((pattern) => !pattern.startsWith('!'))
  return !refused.some(matches) && (accepted.length === 0 || accepted.some(matches))
}

interface DocumentSourcePorts {
  store: Pick<ClientStore, 'findClient' | 'replaceClient'>
  fetch: LimitedFetch
  runtime: Pick<Runtime, 'now'>
  policy: ClientMetadataPolicy
  report: (event: string, fields: Record<string, unknown>) => void
  /** Next step when no host can be reached, for a server whose operator is the one who signs in. */
  operatorStep?: string | undefined
}

interface Failure {
  /** `invalid`: the document was fetched, and describes no client. */
  reason: FetchFailure | 'invalid'
  kind: (typeof fetchFailures)[FetchFailure]['kind']
  text: string
  until: number
}

interface Entry {
  client: Client | undefined
  failure: Failure | undefined
  loading: Promise<void> | undefined
}

/**
 * Finds the client that the document at `url` describes (OAuth client id metadata document, section 5).
 *
 * A document is cached as HTTP says (RFC 9111), fetched once for all concurrent requests, and after a failure not again for a
 * minute. It is stored while a connection uses it. If it cannot be fetched or is faulty, the version of the last day is used, or,
 * for a connected client, of any age: an outage at its host ends no connections. A host that responds "not found" has withdrawn
 * the client: it no longer allows sign-ins. Otherwise it rejects with {@link ClientUnavailableError}.
 */
class DocumentSource {
  readonly #ports: DocumentSourcePorts
  readonly #entries = new BoundedMap<Entry>(maxDocuments)

  constructor(ports: DocumentSourcePorts) {
    this.#ports = ports
  }

  async #load(
    url: string,
    entry: Entry,
    stored: Client | undefined,
    source: AttemptSource | undefined,
  ): Promise<void> {
    const { fetch, runtime, policy, store } = this.#ports
    const outcome = await fetch({ url, maxBytes, known: stored !== undefined, source })
    const now = runtime.now()
    if (outcome.kind === 'failed') return this.#failFetch(url, entry, outcome.reason, now)
    const reading = readClientDocument(url, parseJsonObject(outcome.text), policy)
    if (reading.kind === 'invalid') {
      const text = `it is faulty: ${reading.reason}`
      this.#report(url, `faulty: ${reading.reason}`, undefined)
      entry.failure = { reason: 'invalid', kind: 'faulty_response', text, until: now + failurePauseSeconds }
      return
    }
    entry.failure = undefined
    entry.client = {
      ...reading.client,
      kind: 'metadata_document',
      secretHash: undefined,
      managementHash: undefined,
      introspects: false,
      document: freshnessOf(outcome.headers, now),
      createdAt: stored?.createdAt ?? now,
      expiresAt: stored?.expiresAt,
    }
    // Only documents of connected clients are stored, or strangers could fill the store; a removed client stays removed.
    if (stored) await store.replaceClient(entry.client)
  }

  #failFetch(url: string, entry: Entry, reason: FetchFailure, now: number): void {
    const { kind, text } = fetchFailures[reason]
    this.#report(url, reason, this.#operatorStepFor(kind))
    const failure = { reason, kind, text, until: now + failurePauseSeconds }
    // Our own limit says nothing about the host: keep the host's failure, and let the next requester try.
    entry.failure = kind === 'own_limit' ? { ...(entry.failure ?? failure), until: now } : failure
  }

  #operatorStepFor(kind: Failure['kind'] | undefined): string | undefined {
    return kind === 'network' ? this.#ports.operatorStep : undefined
  }

  #report(url: string, reason: string, nextStep: string | undefined): void {
    this.#ports.report('client_document_unavailable', {
      client_id: url,
      host: new URL(url).host,
      reason,
      ...(nextStep !== undefined && { next_step: nextStep }),
    })
  }

  /** Returns the best version available without a request to the host. */
  #fallback(url: string, entry: Entry, purpose: ClientPurpose): Client {
    const { client, failure } = entry
    const now = this.#ports.runtime.now()
    const isWithdrawn = failure?.reason === 'not_found' && purpose === 'sign_in'
    if (client?.document && !isWithdrawn && now - client.document.fetchedAt < staleSeconds) return client
    if (client && purpose === 'connected') return client
    throw this.#unavailable(url, failure, now)
  }

  #unavailable(url: string, failure: Failure | undefined, now: number): ClientUnavailableError {
    const { reason, kind, text = '', until = now } = failure ?? {}
    const faulty = kind === 'faulty_response'
    const operatorStep = this.#operatorStepFor(kind)
    const problem = `The document of this client at ${new URL(url).host} could not be used: ${text}`
    const nextStep = faulty
      ? 'Contact its developer.'
      : "Try again in a minute. If this happens again, tell the server's operator."
    // The operator's step is shown on its own; advice to try again would contradict it.
    const message = operatorStep === undefined ? `${problem} ${nextStep}` : problem
    const retryAfterSeconds = until > now ? until - now : undefined
    return new ClientUnavailableError(message, problemOf(reason, faulty), { operatorStep, retryAfterSeconds })
  }

  async #findStored(url: string): Promise<Client | undefined> {
    const { store, runtime } = this.#ports
    const client = await store.findClient(url)
    return client?.kind === 'metadata_document' && !isExpired(client, runtime.now()) ? client : undefined
  }

  async find(url: string, purpose: ClientPurpose, source?: AttemptSource): Promise<Client> {
    const { runtime } = this.#ports
    const entry = this.#entries.get(url) ?? { client: undefined, failure: undefined, loading: undefined }
    this.#entries.set(url, entry)
    if (isFresh(entry.client, runtime.now())) return entry.client
    const stored = await this.#findStored(url)
    entry.client = newest(entry.client, stored)
    if (isFresh(entry.client, runtime.now())) return entry.client
    if (entry.loading !== undefined || runtime.now() >= (entry.failure?.until ?? 0)) {
      entry.loading ??= this.#load(url, entry, stored, source).finally(() => (entry.loading = undefined))
      await entry.loading
      if (isFresh(entry.client, runtime.now())) return entry.client
    }
    return this.#fallback(url, entry, purpose)
  }
}

function problemOf(reason: Failure['reason'] | undefined, isFaulty: boolean): ClientProblem {
  if (reason === 'invalid' || reason === 'not_found') return 'no_client'
  if (reason === 'too_many_of_address') return 'limited'
  return isFaulty ? 'faulty' : 'passing'
}

function isFresh(client: Client | undefined, now: number): client is Client {
  return client?.document !== undefined && now < client.document.freshUntil
}

function newest(one: Client | undefined, other: Client | undefined): Client | undefined {
  if (!one || !other) return one ?? other
  return (one.document?.fetchedAt ?? 0) >= (other.document?.fetchedAt ?? 0) ? one : other
}
