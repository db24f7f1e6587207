import { parseJsonObject } from '@drawbridge/shared/json-object.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { createBoundedMap } from './bounded-map.ts'
import { freshnessOf } from './client-document-life.ts'
import { fetchFailureText } from './client-fetch.ts'
import type { LimitedFetch } from './client-fetch-limit.ts'
import { type DocumentClient, readClientDocument } from './client-id-metadata-document.ts'
import type { ClientMetadataPolicy } from './client-metadata.ts'
import { type Client, type ClientPurpose, type ClientStore, ClientUnavailableError } from './client.ts'

const maxBytes = 5 * 1024
const staleSeconds = 24 * 3600
const failurePauseSeconds = 60
// With a copy at hand nobody should wait for a host that was out of reach a minute ago.
const failurePauseWithCopySeconds = 600
const mostDocuments = 1000

/** What looking up metadata documents needs. */
export interface DocumentSourcePorts {
  store: Pick<ClientStore, 'findClient' | 'putClient'>
  fetch: LimitedFetch
  runtime: Pick<Runtime, 'now'>
  policy: ClientMetadataPolicy
  /** Documents that the operator keeps here, for hosts that cannot be reached; by client id. */
  copies: ReadonlyMap<string, DocumentClient>
  report: (event: string, fields: Record<string, unknown>) => void
}

/** Why there is no document right now; `permanent` when it was fetched, or its host says that there is none. */
interface Failure {
  text: string
  permanent: boolean
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
 * anybody's connection. Else it rejects with {@link ClientUnavailableError}.
 */
export function createDocumentSource(
  ports: DocumentSourcePorts,
): (url: string, purpose: ClientPurpose) => Promise<Client> {
  const { store, fetch, runtime, policy, copies, report } = ports
  const entries = createBoundedMap<Entry>(mostDocuments)

  async function load(url: string, entry: Entry, stored: Client | undefined): Promise<void> {
    const { client: last } = entry
    const outcome = await fetch({
      url,
      maxBytes,
      etag: last?.document?.etag,
      known: stored !== undefined || copies.has(url),
    })
    switch (outcome.kind) {
      case 'failed':
        fail(url, entry, fetchFailureText[outcome.reason], outcome.reason === 'not_found')
        // Our own limit says nothing about the host: the next one who asks may have more luck.
        if (outcome.reason === 'too_many_fetches' && entry.failure) entry.failure.until = runtime.now()
        return
      case 'not_modified':
        if (last)
          await accept(entry, { ...last, document: freshnessOf(outcome.headers, runtime.now()) }, stored)
        return
      case 'fetched':
        return take(url, entry, outcome, stored)
    }
  }

  async function take(
    url: string,
    entry: Entry,
    { text, headers }: { text: string; headers: Headers },
    stored: Client | undefined,
  ): Promise<void> {
    const now = runtime.now()
    const reading = readClientDocument(url, parseJsonObject(text), policy)
    if (reading.kind === 'invalid') return fail(url, entry, `it is faulty: ${reading.reason}`, true)
    const document = freshnessOf(headers, now)
    await accept(entry, documentClient(reading.client, document, stored?.createdAt ?? now), stored)
  }

  function fail(url: string, entry: Entry, text: string, permanent: boolean): void {
    const pause = copies.has(url) ? failurePauseWithCopySeconds : failurePauseSeconds
    entry.failure = { text, permanent, until: runtime.now() + pause }
    report('client_document_unavailable', { client_id: url, reason: text })
  }

  async function accept(entry: Entry, client: Client, stored: Client | undefined): Promise<void> {
    entry.failure = undefined
    entry.client = { ...client, expiresAt: stored?.expiresAt }
    // What nobody is connected with is not stored: anybody could fill the store with it.
    if (stored) await store.putClient(entry.client)
  }

  function entryOf(url: string): Entry {
    const entry = entries.get(url) ?? { client: undefined, failure: undefined, loading: undefined }
    entries.set(url, entry)
    return entry
  }

  /** The best of what there is without asking the host. */
  function fallback(url: string, entry: Entry, purpose: ClientPurpose): Client {
    const { client, failure } = entry
    const now = runtime.now()
    if (client?.document && now - client.document.fetchedAt < staleSeconds) return client
    const copy = copies.get(url)
    if (copy) return documentClient(copy, undefined, now)
    if (client && purpose === 'connected') return client
    throw new ClientUnavailableError(
      `The document of this client could not be used: ${failure?.text ?? ''} ${
        failure?.permanent === true
          ? 'Tell the people who make it.'
          : 'Try again in a minute; if it stays, tell whoever runs this server.'
      }`,
      { permanent: failure?.permanent === true },
    )
  }

  return async (url, purpose) => {
    const entry = entryOf(url)
    if (isFresh(entry.client, runtime.now())) return entry.client
    const stored = await findStored(store, url, runtime.now())
    entry.client = newest(entry.client, stored)
    if (isFresh(entry.client, runtime.now())) return entry.client
    if (entry.loading !== undefined || runtime.now() >= (entry.failure?.until ?? 0)) {
      entry.loading ??= load(url, entry, stored).finally(() => (entry.loading = undefined))
      await entry.loading
      if (isFresh(entry.client, runtime.now())) return entry.client
    }
    return fallback(url, entry, purpose)
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

async function findStored(
  store: Pick<ClientStore, 'findClient'>,
  url: string,
  now: number,
): Promise<Client | undefined> {
  const client = await store.findClient(url)
  const isAlive = client?.kind === 'metadata_document' && (client.expiresAt ?? Infinity) > now
  return isAlive ? client : undefined
}

function isFresh(client: Client | undefined, now: number): client is Client {
  return client?.document !== undefined && now < client.document.freshUntil
}

function newest(one: Client | undefined, other: Client | undefined): Client | undefined {
  if (!one || !other) return one ?? other
  return (one.document?.fetchedAt ?? 0) >= (other.document?.fetchedAt ?? 0) ? one : other
}
