import { parseJsonObject } from '@drawbridge/shared/json-object.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { createBoundedMap } from '../bounded-map.ts'
import { freshnessOf } from './client-document-life.ts'
import type { AttemptSource } from '../access/attempt-limit.ts'
import {
  type FetchFailure,
  fetchFailureText,
  isFaultyAnswer,
  isNetworkFailure,
  isOwnLimit,
} from './client-fetch.ts'
import type { LimitedFetch } from './client-fetch-limit.ts'
import { type DocumentClient, readClientDocument } from './client-id-metadata-document.ts'
import { isExpired } from './client-life.ts'
import type { ClientMetadataPolicy } from './client-metadata.ts'
import { type Client, type ClientPurpose, type ClientStore, ClientUnavailableError } from './client.ts'

const maxBytes = 5 * 1024
const staleSeconds = 24 * 3600
const failurePauseSeconds = 60
// With a local copy available, nobody should wait for a host that was unreachable a minute ago.
const failurePauseWithCopySeconds = 600
const maxDocuments = 1000

/** What looking up metadata documents needs. */
export interface DocumentSourcePorts {
  store: Pick<ClientStore, 'findClient' | 'replaceClient'>
  fetch: LimitedFetch
  runtime: Pick<Runtime, 'now'>
  policy: ClientMetadataPolicy
  /** Documents that the operator keeps here, for hosts that cannot be reached; by client id. */
  copies: ReadonlyMap<string, DocumentClient>
  report: (event: string, fields: Record<string, unknown>) => void
  /** What to do when hosts cannot be reached at all, for a server whose operator is the one who signs in. */
  operatorStep?: string | undefined
}

/** Why there is no document, and when it may be requested again. */
interface Failure {
  text: string
  /** The document was fetched, or its host says that it does not exist: retrying does not help. */
  permanent: boolean
  /** The host was reached and gives nothing that can be used: only its makers can mend that. */
  faulty: boolean
  /** The host says that the document does not exist. */
  isGone: boolean
  /** The requester exceeded its own limit. */
  limited?: boolean
  operatorStep?: string | undefined
  until: number
}

/** What this process knows of one document. */
interface Entry {
  client: Client | undefined
  failure: Failure | undefined
  loading: Promise<void> | undefined
}

/**
 * Finds the client that the document at `url` describes (OAuth client id metadata document, section 5). Whether
 * documents of that URL are accepted at all is decided by the caller.
 *
 * A document is cached as HTTP says (RFC 9111), revalidated by its entity tag, fetched once for all concurrent
 * requests, and after a failure not again for a minute. It is stored while a connection uses it. While it cannot be
 * fetched, or is faulty, these take its place, in this order: the version fetched within the last day; the operator's
 * copy; and, for a client that is already connected, the last version of any age, so that an outage at its host does
 * not end connections. A host that answers "not found" has withdrawn the client: the cached version no longer allows
 * sign-ins (RFC 5861 section 4 does not cover this). Otherwise it rejects with {@link ClientUnavailableError}.
 */
export class DocumentSource {
  readonly #ports: DocumentSourcePorts
  readonly #entries = createBoundedMap<Entry>(maxDocuments)

  constructor(ports: DocumentSourcePorts) {
    this.#ports = ports
  }

  async #load(
    url: string,
    entry: Entry,
    stored: Client | undefined,
    source: AttemptSource | undefined,
  ): Promise<void> {
    const { client: last } = entry
    const outcome = await this.#ports.fetch({
      url,
      maxBytes,
      etag: last?.document?.etag,
      known: stored !== undefined || this.#ports.copies.has(url),
      source,
    })
    switch (outcome.kind) {
      case 'failed':
        return this.#failFetch(url, entry, outcome.reason)
      case 'not_modified': {
        const fresh = freshnessOf(outcome.headers, this.#ports.runtime.now())
        const document = { ...fresh, etag: fresh.etag ?? last?.document?.etag }
        if (last) await this.#storeDocument(entry, { ...last, document }, stored)
        return
      }
      case 'fetched':
        return this.#readDocument(url, entry, outcome, stored)
    }
  }

  async #readDocument(
    url: string,
    entry: Entry,
    { text, headers }: { text: string; headers: Headers },
    stored: Client | undefined,
  ): Promise<void> {
    const now = this.#ports.runtime.now()
    const reading = readClientDocument(url, parseJsonObject(text), this.#ports.policy)
    if (reading.kind === 'invalid') {
      const failure = {
        text: `it is faulty: ${reading.reason}`,
        permanent: true,
        faulty: true,
        isGone: false,
      }
      return this.#fail(url, entry, failure, `faulty: ${reading.reason}`)
    }
    const document = freshnessOf(headers, now)
    await this.#storeDocument(
      entry,
      documentClient(reading.client, document, stored?.createdAt ?? now),
      stored,
    )
  }

  #failFetch(url: string, entry: Entry, reason: FetchFailure): void {
    const isGone = reason === 'not_found'
    const { failure: before } = entry
    const failure = {
      text: fetchFailureText[reason],
      operatorStep: isNetworkFailure(reason) ? this.#ports.operatorStep : undefined,
      faulty: isFaultyAnswer(reason),
      permanent: isGone,
      isGone,
      limited: reason === 'too_many_of_address',
    }
    this.#fail(url, entry, failure, reason)
    // Our own limit says nothing about the host: what it said stays, and the next one who asks may have more luck.
    if (isOwnLimit(reason) && entry.failure) {
      entry.failure = { ...(before ?? entry.failure), until: this.#ports.runtime.now() }
    }
  }

  #fail(url: string, entry: Entry, failure: Omit<Failure, 'until'>, reason: string): void {
    const pause = this.#ports.copies.has(url) ? failurePauseWithCopySeconds : failurePauseSeconds
    entry.failure = { ...failure, until: this.#ports.runtime.now() + pause }
    const { operatorStep } = failure
    this.#ports.report('client_document_unavailable', {
      client_id: url,
      host: new URL(url).host,
      reason,
      ...(operatorStep !== undefined && { next_step: operatorStep }),
    })
  }

  async #storeDocument(entry: Entry, client: Client, stored: Client | undefined): Promise<void> {
    entry.failure = undefined
    entry.client = { ...client, expiresAt: stored?.expiresAt }
    // Only documents of connected clients are stored, or strangers could fill the store; a removed client stays
    // removed.
    if (stored) await this.#ports.store.replaceClient(entry.client)
  }

  #entryOf(url: string): Entry {
    const entry = this.#entries.get(url) ?? { client: undefined, failure: undefined, loading: undefined }
    this.#entries.set(url, entry)
    return entry
  }

  /** The best of what there is without asking the host. */
  #fallback(url: string, entry: Entry, purpose: ClientPurpose): Client {
    const { client, failure } = entry
    const now = this.#ports.runtime.now()
    const isWithdrawn = failure?.isGone === true && purpose === 'sign_in'
    if (client?.document && !isWithdrawn && now - client.document.fetchedAt < staleSeconds) return client
    const copy = this.#ports.copies.get(url)
    if (copy) return documentClient(copy, undefined, now)
    if (client && purpose === 'connected') return client
    throw unavailable(url, failure, now)
  }

  async find(url: string, purpose: ClientPurpose, source?: AttemptSource): Promise<Client> {
    const entry = this.#entryOf(url)
    if (isFresh(entry.client, this.#ports.runtime.now())) return entry.client
    const stored = await findStored(this.#ports.store, url, this.#ports.runtime.now())
    entry.client = newest(entry.client, stored)
    if (isFresh(entry.client, this.#ports.runtime.now())) return entry.client
    if (entry.loading !== undefined || this.#ports.runtime.now() >= (entry.failure?.until ?? 0)) {
      entry.loading ??= this.#load(url, entry, stored, source).finally(() => (entry.loading = undefined))
      await entry.loading
      if (isFresh(entry.client, this.#ports.runtime.now())) return entry.client
    }
    return this.#fallback(url, entry, purpose)
  }
}

function documentClient(described: DocumentClient, document: Client['document'], createdAt: number): Client {
  return {
    ...described,
    kind: 'metadata_document',
    secretHash: undefined,
    managementHash: undefined,
    introspects: false,
    document,
    createdAt,
    expiresAt: undefined,
  }
}

function unavailable(url: string, failure: Failure | undefined, now: number): ClientUnavailableError {
  const { text = '', permanent = false, faulty = false, limited = false, until = now } = failure ?? {}
  const operatorStep = failure?.operatorStep
  const problem = `The document of this client at ${new URL(url).host} could not be used: ${text}`
  const nextStep = faulty
    ? 'Tell the people who make it.'
    : 'Try again in a minute; if it stays, tell whoever runs this server.'
  // The operator's step is shown by itself, and trying again would contradict it.
  return new ClientUnavailableError(operatorStep === undefined ? `${problem} ${nextStep}` : problem, {
    permanent,
    faulty,
    limited,
    operatorStep,
    retryAfterSeconds: until > now ? until - now : undefined,
  })
}

async function findStored(
  store: Pick<ClientStore, 'findClient'>,
  url: string,
  now: number,
): Promise<Client | undefined> {
  const client = await store.findClient(url)
  return client?.kind === 'metadata_document' && !isExpired(client, now) ? client : undefined
}

function isFresh(client: Client | undefined, now: number): client is Client {
  return client?.document !== undefined && now < client.document.freshUntil
}

function newest(one: Client | undefined, other: Client | undefined): Client | undefined {
  if (!one || !other) return one ?? other
  return (one.document?.fetchedAt ?? 0) >= (other.document?.fetchedAt ?? 0) ? one : other
}
