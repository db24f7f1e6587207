import { parseJsonObject } from '@drawbridge/shared/json-object.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { createBoundedMap } from '../bounded-map.ts'
import { freshnessOf } from './client-document-life.ts'
import type { AttemptSource } from '../access/attempt-limit.ts'
import { type FetchFailure, fetchFailureText, isFaultyAnswer, isOwnLimit } from './client-fetch.ts'
import type { LimitedFetch } from './client-fetch-limit.ts'
import { type DocumentClient, readClientDocument } from './client-id-metadata-document.ts'
import { isExpired } from './client-life.ts'
import type { ClientMetadataPolicy } from './client-metadata.ts'
import { type Client, type ClientPurpose, type ClientStore, ClientUnavailableError } from './client.ts'

const maxBytes = 5 * 1024
const staleSeconds = 24 * 3600
const failurePauseSeconds = 60
// With a copy at hand nobody should wait for a host that was out of reach a minute ago.
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
}

/** Why there is no document, and until when nobody asks again. */
interface Failure {
  text: string
  /** It was fetched, or its host says that there is none: trying again does not help. */
  permanent: boolean
  /** The host was reached and gives nothing that can be used: only its makers can mend that. */
  faulty: boolean
  /** The host says that there is none. */
  isGone: boolean
  /** Whoever asked has asked for too many. */
  limited?: boolean
  until: number
}

/** What this process knows of one document. */
interface Entry {
  client: Client | undefined
  failure: Failure | undefined
  loading: Promise<void> | undefined
}

/**
 * Finds the client that the document at `url` describes (OAuth client id metadata document, section 5). Whether documents of that
 * URL are taken at all is decided before.
 *
 * A document is cached as HTTP says (RFC 9111), asked for again by its entity tag, fetched once for everybody who waits, and
 * after a failure not again for a minute. It is stored for as long as somebody is connected with it. While it cannot be
 * fetched, or is faulty, these take its place, in this order: what was fetched within the last day; the copy of the
 * operator; and for a client that is already connected whatever was fetched last, as an outage at its host must not end
 * anybody's connection. A host that says that there is no such document has withdrawn the client: nobody signs in with what
 * was fetched before (RFC 5861 section 4 has no such error). Else it rejects with {@link ClientUnavailableError}.
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
    this.#ports.report('client_document_unavailable', { client_id: url, reason })
  }

  async #storeDocument(entry: Entry, client: Client, stored: Client | undefined): Promise<void> {
    entry.failure = undefined
    entry.client = { ...client, expiresAt: stored?.expiresAt }
    // What nobody is connected with is not stored, or anybody could fill the store; what was removed meanwhile stays so.
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
    throw unavailable(failure, now)
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

function unavailable(failure: Failure | undefined, now: number): ClientUnavailableError {
  const { text = '', permanent = false, faulty = false, limited = false, until = now } = failure ?? {}
  const nextStep = faulty
    ? 'Tell the people who make it.'
    : 'Try again in a minute; if it stays, tell whoever runs this server.'
  return new ClientUnavailableError(`The document of this client could not be used: ${text} ${nextStep}`, {
    permanent,
    faulty,
    limited,
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
