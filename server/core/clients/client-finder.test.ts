import { describe, expect, it } from 'vitest'
import { start } from '../../../tests/support/server/core/grant-sample.ts'
import { publicClient } from '../../../tests/support/server/core/sign-in-sample.ts'
import { createFakeRuntime } from '../../../tests/support/server/fake-runtime.ts'
import { openMemoryStore } from '../../store/sqlite/sqlite.ts'
import type { FetchFailure, FetchOutcome, LimitedFetchQuery } from './client-fetch.ts'
import { createClientFinder, isAcceptedHost } from './client-finder.ts'
import { createClientKeeper } from './client-life.ts'
import type { Client, ClientProblem } from './client.ts'

const url = 'https://client.example/client.json'
const redirect_uris = ['http://127.0.0.1/callback']
const policy = { privateUseRedirectUris: [], allowLoopback: false }
const day = 86_400

const documentText = (name: string, changes: object = {}): string =>
  JSON.stringify({ client_id: url, client_name: name, redirect_uris, ...changes })

const served = (name: string, headers: Record<string, string> = {}): FetchOutcome => ({
  kind: 'fetched',
  text: documentText(name),
  headers: new Headers(headers),
})
const failed = (reason: FetchFailure): FetchOutcome => ({ kind: 'failed', reason })

interface Setup {
  answer?: FetchOutcome
  hosts?: readonly string[]
  documents?: boolean
  configured?: readonly Client[]
  store?: ReturnType<typeof openMemoryStore>
  runtime?: ReturnType<typeof createFakeRuntime>
}

/** Creates a finder, its host with a replaceable response, and a list of requests. */
function createFixture(setup: Setup = {}) {
  const { hosts = [], documents = true, configured = [] } = setup
  const runtime = setup.runtime ?? createFakeRuntime(start)
  const store = setup.store ?? openMemoryStore()
  const host = { answer: setup.answer ?? served('Quill'), queries: [] as LimitedFetchQuery[] }
  const reports: unknown[] = []
  const finder = createClientFinder({
    configured: new Map(configured.map((client) => [client.id, client])),
    store,
    runtime,
    documents: documents
      ? {
          store,
          policy,
          hosts,
          report: (...given) => void reports.push(given),
          async fetch(query) {
            host.queries.push(query)
            return host.answer
          },
        }
      : undefined,
  })
  const name = async (purpose?: 'sign_in' | 'connected'): Promise<string | undefined> =>
    (await finder.findClient(url, purpose))?.name
  /** Signs a user in now, for a grant of 30 days. */
  const keep = createClientKeeper(store)
  const connect = async (): Promise<void> => {
    const client = await finder.findClient(url)
    if (client) await keep(client, runtime.now() + 30 * day)
  }
  return { finder, runtime, store, host, reports, name, connect }
}

const unavailable = { name: 'ClientUnavailableError', problem: 'passing' }

describe('createClientFinder', () => {
  it('the client finder finds configured clients before all others', async () => {
    const configured = [publicClient({ id: url, name: 'Mine', kind: 'configured' })]
    const { name, host } = createFixture({ configured })
    expect(await name()).toBe('Mine')
    expect(host.queries).toEqual([])
  })

  it('the client finder finds registered clients until they expire', async () => {
    const { finder, store, runtime } = createFixture()
    await store.addClient(publicClient({ expiresAt: start + 60 }))
    await store.addClient(publicClient({ id: 'mcpc_kept' }))
    runtime.advance(59)
    expect((await finder.findClient('mcpc_public'))?.id).toBe('mcpc_public')
    runtime.advance(1)
    expect(await finder.findClient('mcpc_public')).toBeUndefined()
    expect((await finder.findClient('mcpc_kept'))?.id).toBe('mcpc_kept')
    expect(await finder.findClient('mcpc_unknown')).toBeUndefined()
    expect(await finder.findClient('')).toBeUndefined()
  })

  it('CIMD 4: the client finder fetches the document that an id names, at most 5 kB', async () => {
    const { finder, host } = createFixture()
    expect(await finder.findClient(url)).toEqual({
      id: url,
      kind: 'metadata_document',
      name: 'Quill',
      uri: undefined,
      redirectUris: redirect_uris,
      grantTypes: ['authorization_code', 'refresh_token'],
      scope: undefined,
      authMethod: 'none',
      secretHash: undefined,
      keys: undefined,
      managementHash: undefined,
      document: { fetchedAt: start, freshUntil: start + 300 },
      introspects: false,
      createdAt: start,
      expiresAt: undefined,
    })
    expect(host.queries).toEqual([{ url, maxBytes: 5120, known: false }])
  })

  it.each(['http://client.example/c', 'https://127.0.0.1/c', 'HTTPS://client.example/c'])(
    'the client finder fetches nothing for %s',
    async (id) => {
      const { finder, host } = createFixture()
      expect(await finder.findClient(id)).toBeUndefined()
      expect(host.queries).toEqual([])
    },
  )

  it('MCP auth Trust-Policies: the client finder takes no documents when they are switched off, and forgets those it took', async () => {
    const { store, connect } = createFixture()
    await connect()
    for (const setup of [
      { documents: false },
      { hosts: ['!client.example'] },
      { hosts: ['other.example'] },
    ]) {
      const { name, host } = createFixture({ ...setup, store })
      expect(await name('connected')).toBeUndefined()
      expect(host.queries).toEqual([])
    }
  })
})

describe('documents are cached as HTTP says (RFC 9111)', () => {
  it('MCP auth Client-ID-Metadata-Documents: a document is used for as long as its host says', async () => {
    const { name, host, runtime } = createFixture({
      answer: served('One', { 'cache-control': 'max-age=600' }),
    })
    expect(await name()).toBe('One')
    host.answer = served('Two')
    runtime.advance(599)
    expect(await name()).toBe('One')
    expect(host.queries).toHaveLength(1)
    runtime.advance(1)
    expect(await name()).toBe('Two')
  })

  it('a document is fetched once for all concurrent requests', async () => {
    const { name, host } = createFixture()
    await Promise.all(Array.from({ length: 20 }, () => name()))
    expect(host.queries).toHaveLength(1)
  })

  it.each<[what: string, answer: FetchOutcome]>([
    ['a failure', failed('unreachable')],
    ['a faulty document', { kind: 'fetched', text: '{}', headers: new Headers() }],
  ])('a document is not requested again for a minute after %s', async (_what, answer) => {
    const { name, host, runtime } = createFixture({ answer })
    await expect(name()).rejects.toMatchObject({ name: 'ClientUnavailableError', retryAfterSeconds: 60 })
    host.answer = served('Quill')
    runtime.advance(59)
    await expect(name()).rejects.toMatchObject({ name: 'ClientUnavailableError', retryAfterSeconds: 1 })
    expect(host.queries).toHaveLength(1)
    runtime.advance(1)
    expect(await name()).toBe('Quill')
  })

  it('our own fetch limit does not count as a failure of the host', async () => {
    const { name, host } = createFixture({ answer: failed('too_many_fetches') })
    await expect(name()).rejects.toMatchObject(unavailable)
    host.answer = served('Quill')
    expect(await name()).toBe('Quill')
  })

  const wait = "Try again in a minute. If this happens again, tell the server's operator."
  const write = 'Contact its developer.'
  const faulty: FetchOutcome = { kind: 'fetched', text: documentText(''), headers: new Headers() }

  // Strangers do not learn which names exist inside: a private address and none read the same.
  it.each<[reason: string, answer: FetchOutcome, text: string, problem: ClientProblem]>([
    ['too_slow', failed('too_slow'), `the host responds too slowly. ${wait}`, 'passing'],
    ['unreachable', failed('unreachable'), `the host cannot be reached. ${wait}`, 'passing'],
    ['redirected', failed('redirected'), `the host redirects to another address. ${write}`, 'faulty'],
    ['not_found', failed('not_found'), `the host has no such document. ${write}`, 'no_client'],
    [
      'faulty: client_name is missing.',
      faulty,
      `it is faulty: client_name is missing. ${write}`,
      'no_client',
    ],
    [
      'too_many_of_address',
      failed('too_many_of_address'),
      `too many documents are being fetched for requests from your address. ${wait}`,
      'limited',
    ],
    [
      'forbidden_address',
      failed('forbidden_address'),
      `its host was not found on the public internet. Is this server online? ${wait}`,
      'passing',
    ],
    [
      'unknown_host',
      failed('unknown_host'),
      `its host was not found on the public internet. Is this server online? ${wait}`,
      'passing',
    ],
  ])(
    'a document that fails as %s: the log has the reason, and people read what to do',
    async (reason, answer, text, problem) => {
      const { name, reports } = createFixture({ answer })
      const { host } = new URL(url)
      await expect(name()).rejects.toMatchObject({
        message: `The document of this client at ${host} could not be used: ${text}`,
        problem,
      })
      expect(reports).toEqual([['client_document_unavailable', { client_id: url, host, reason }]])
    },
  )
})

describe('an outage at the host of a document (stale on error)', () => {
  it('sign-ins work with a document fetched within the last day while its host is down', async () => {
    const { name, host, runtime } = createFixture()
    await name()
    host.answer = failed('unreachable')
    runtime.advance(day - 1)
    expect(await name()).toBe('Quill')
    runtime.advance(1)
    await expect(name()).rejects.toMatchObject(unavailable)
  })

  it('RFC 5861 4: a host that says that there is no document any more is not an outage: new sign-ins are refused', async () => {
    const { name, host, runtime } = createFixture()
    await name()
    host.answer = failed('not_found')
    runtime.advance(300)
    await expect(name()).rejects.toMatchObject({ name: 'ClientUnavailableError', problem: 'no_client' })
    expect(await name('connected')).toBe('Quill')
    host.answer = failed('too_many_fetches')
    runtime.advance(60)
    await expect(name()).rejects.toMatchObject({ problem: 'no_client' })
    host.answer = served('Back')
    expect(await name()).toBe('Back')
  })

  it('a client that was removed during the fetch is not restored', async () => {
    const { store, connect, host, runtime, name } = createFixture()
    await connect()
    runtime.advance(300)
    const { findClient } = store
    // The document is read from the store, and removed before the fetched one is stored.
    store.findClient = async (id) => {
      const found = await findClient(id)
      await store.removeClient(id)
      return found
    }
    host.answer = served('Renamed')
    expect(await name()).toBe('Renamed')
    expect(await findClient(url)).toBeUndefined()
  })

  it('CIMD 4.4: a document that became faulty counts as an outage', async () => {
    const { name, host, runtime } = createFixture()
    await name()
    host.answer = { kind: 'fetched', text: '{}', headers: new Headers() }
    runtime.advance(300)
    expect(await name()).toBe('Quill')
  })

  it('connected clients are served from the stored document, after a restart too', async () => {
    const { store, connect, runtime } = createFixture()
    await connect()
    runtime.advance(29 * day)
    const after = createFixture({ store, runtime, answer: failed('unreachable') })
    expect(await after.name('connected')).toBe('Quill')
    await expect(after.name('sign_in')).rejects.toMatchObject(unavailable)
    expect(after.host.queries[0]?.known).toBe(true)
  })

  it('a document is stored only while a connection uses it', async () => {
    const { store, name, connect } = createFixture()
    await name()
    expect(await store.findClient(url)).toBeUndefined()
    await connect()
    expect(await store.findClient(url)).toMatchObject({
      kind: 'metadata_document',
      expiresAt: start + 120 * day,
    })
  })

  it('a stored document is updated with its age and its expiry', async () => {
    const { store, connect, host, runtime, name } = createFixture()
    await connect()
    runtime.advance(300)
    host.answer = served('Renamed')
    expect(await name('connected')).toBe('Renamed')
    expect(await store.findClient(url)).toMatchObject({
      name: 'Renamed',
      createdAt: start,
      expiresAt: start + 120 * day,
      document: { fetchedAt: start + 300 },
    })
  })

  it('a fresh document that another instance stored is used without a fetch', async () => {
    const { store, connect, runtime } = createFixture()
    await connect()
    const other = createFixture({ store, runtime })
    expect(await other.name()).toBe('Quill')
    expect(other.host.queries).toEqual([])
  })

  it('an expired document in the store is ignored', async () => {
    const { store, connect, runtime } = createFixture()
    await connect()
    runtime.advance(120 * day)
    const after = createFixture({ store, runtime, answer: failed('unreachable') })
    await expect(after.name('connected')).rejects.toMatchObject(unavailable)
  })

  it('a registered client with a URL as its id is not taken for a document', async () => {
    const { store, name } = createFixture({ answer: failed('unreachable') })
    await store.addClient(publicClient({ id: url, name: 'Impostor' }))
    await expect(name()).rejects.toMatchObject(unavailable)
  })
})

it.each<[hostname: string, patterns: string[], expected: boolean]>([
  ['claude.ai', [], true],
  ['claude.ai', ['claude.ai'], true],
  ['evil.example', ['claude.ai'], false],
  ['a.claude.ai', ['claude.ai'], false],
  ['a.claude.ai', ['*.claude.ai'], true],
  ['claude.ai', ['*.claude.ai'], false],
  ['evilclaude.ai', ['*.claude.ai'], false],
  ['claude.ai.evil.example', ['claude.ai', '*.claude.ai'], false],
  ['evil.example', ['!evil.example'], false],
  ['a.example', ['*.example', '!a.example'], false],
  ['b.example', ['!a.example', '*.example'], true],
  ['a.b.example', ['!*.b.example', '*.example'], false],
])('isAcceptedHost: %s with %j: %s', (hostname, patterns, expected) => {
  expect(isAcceptedHost(hostname, patterns)).toBe(expected)
})
