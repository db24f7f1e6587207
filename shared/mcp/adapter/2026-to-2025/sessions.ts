import { createSignal } from '../../../async.ts'
import { canonicalJson, type JsonObject } from '../../../json-object.ts'
import { jsonRpcCode, type JsonRpcMessage } from '../../json-rpc.ts'
import { legacyRevisions } from '../../mcp-protocol.ts'
import { metaOf } from '../../params.ts'
import { mapServerCapabilities } from '../capabilities.ts'
import { CallError, resultOf, toError2026 } from '../call-error.ts'
import type { Claims } from './claims.ts'
import type { RequestOptions, Server2025, Session2025 } from '../ports.ts'

/** A client has one set of capabilities, rarely two. The limit keeps a faulty client from opening sessions without end. */
const maxSessions = 8

export type OnSessionMessage = (session: UpstreamSession, message: JsonRpcMessage) => void | Promise<void>

interface Entry {
  opened: Promise<UpstreamSession>
  isOpen: boolean
  users: number
  usedAt: number
}

/** The sessions with a 2025 server, each shared by the requests that declare the same capabilities. */
export class UpstreamSessions {
  readonly #server: Server2025
  readonly #onMessage: OnSessionMessage
  readonly #entries = new Map<string, Entry>()
  #uses = 0
  #isClosed = false

  constructor(server: Server2025, onMessage: OnSessionMessage) {
    this.#server = server
    this.#onMessage = onMessage
  }

  /**
   * The session for these capabilities, opened if there is none. The caller must `release` it. Rejects as {@link Server2025}
   * does, or with {@link CallError}.
   */
  async acquire(claims: Claims): Promise<UpstreamSession> {
    const key = canonicalJson(claims.capabilities)
    if (!this.#entries.has(key)) this.#makeRoom()
    if (this.#isClosed) throw new CallError(jsonRpcCode.internalError, 'The connection is closed.')
    const entry = this.#entries.get(key) ?? this.#open(key, claims)
    this.#uses += 1
    entry.usedAt = this.#uses
    entry.users += 1
    try {
      return await entry.opened
    } catch (error) {
      entry.users -= 1
      throw error
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const entries = [...this.#entries.values()]
    this.#entries.clear()
    // A session still opening may wait for a sign-in: close it once it is open, without waiting here.
    const closing = entries.map((entry) => ({ entry, done: closeEntry(entry) }))
    await Promise.all(closing.filter(({ entry }) => entry.isOpen).map(({ done }) => done))
  }

  /** Closes the session that was unused for longest, if there are too many. */
  #makeRoom(): void {
    if (this.#entries.size < maxSessions) return
    const idle = [...this.#entries].filter(([, { users }]) => users === 0)
    const [oldest] = idle.sort(([, a], [, b]) => a.usedAt - b.usedAt)
    if (oldest === undefined)
      throw new CallError(
        jsonRpcCode.internalError,
        'Too many sessions with different capabilities are in use.',
      )
    this.#entries.delete(oldest[0])
    void closeEntry(oldest[1])
  }

  #open(key: string, claims: Claims): Entry {
    const release = (): void => void (entry.users -= 1)
    const entry: Entry = { opened: this.#openSession(claims, release), isOpen: false, users: 0, usedAt: 0 }
    void this.#watchOpening(key, entry)
    this.#entries.set(key, entry)
    return entry
  }

  async #watchOpening(key: string, entry: Entry): Promise<void> {
    try {
      await entry.opened
      entry.isOpen = true
    } catch {
      if (this.#entries.get(key) === entry) this.#entries.delete(key)
    }
  }

  async #openSession(claims: Claims, release: () => void): Promise<UpstreamSession> {
    const ready = createSignal<UpstreamSession>()
    let session: UpstreamSession | undefined
    const params = {
      protocolVersion: legacyRevisions[0],
      capabilities: claims.capabilities,
      clientInfo: claims.clientInfo ?? { name: 'drawbridge', version: '0' },
    }
    const remote = await openRemote(this.#server, params, (message) => {
      if (session !== undefined) return this.#onMessage(session, message)
      // The stream was faster than the promise. Awaiting it here could deadlock.
      void ready.given.then((late) => this.#onMessage(late, message))
    })
    session = new UpstreamSession(this.#server, remote, release)
    ready.give(session)
    return session
  }
}

/** Like `open` of the server; a refused `initialize` rejects with {@link CallError}. */
async function openRemote(
  server: Server2025,
  ...parameters: Parameters<Server2025['open']>
): Promise<Session2025> {
  try {
    return await server.open(...parameters)
  } catch (error) {
    const response = server.errorResponse(error)
    if (response === undefined || !('error' in response)) throw error
    throw toError2026(response.error)
  }
}

async function closeEntry({ opened }: Entry): Promise<void> {
  try {
    const { remote } = await opened
    await remote.close()
  } catch {
    // It never opened, or is closed already.
  }
}

/** A session with a 2025 server, as the calls that share it see it. */
export class UpstreamSession {
  readonly remote: Session2025
  readonly serverCapabilities: JsonObject
  /** Undoes one `acquire`. A session in use is never closed to make room. */
  readonly release: () => void
  readonly #server: Server2025
  #lastId = 0
  #logs = { severity: Number.POSITIVE_INFINITY, isSet: Promise.resolve() }

  constructor(server: Server2025, remote: Session2025, release: () => void) {
    this.#server = server
    this.remote = remote
    this.release = release
    this.serverCapabilities = mapServerCapabilities(remote.initialized['capabilities'])
  }

  get serverInfo(): unknown {
    return this.remote.initialized['serverInfo']
  }

  /** An id that no other request of this session has. */
  nextId(): number {
    this.#lastId += 1
    return this.#lastId
  }

  /** Sends a request, under a new id if none is given. Throws as {@link resultOf} does. */
  request(
    method: string,
    params: JsonObject,
    { id = this.nextId(), ...options }: RequestOptions & { id?: number } = {},
  ): Promise<JsonObject> {
    const sent = this.remote.request({ jsonrpc: '2.0', id, method, params }, options)
    return resultOf(sent, this.#server, toError2026)
  }

  /**
   * Makes the server send log messages from this level on, if it can log at all. Never rejects. There is one level for all
   * calls of the session, the lowest that one has asked for: each call filters its messages on their way to the client.
   */
  async lowerLogLevel(level: string, severity: number): Promise<void> {
    const canLog = this.serverCapabilities['logging'] !== undefined
    if (canLog && severity < this.#logs.severity) this.#logs = { severity, isSet: this.#setLogLevel(level) }
    return this.#logs.isSet
  }

  async #setLogLevel(level: string): Promise<void> {
    try {
      await this.request('logging/setLevel', { level })
    } catch {
      // Then the server logs as it likes: no reason to refuse the call.
    }
  }
}

/** The request to the server, which is sent again after a -32042. */
export class UpstreamRequest {
  readonly method: string
  readonly #params: JsonObject
  readonly #session: UpstreamSession
  readonly #controller = new AbortController()
  /** 0 before it is sent. */
  #id = 0

  constructor(method: string, params: JsonObject, session: UpstreamSession) {
    this.method = method
    this.#params = params
    this.#session = session
  }

  get id(): number {
    return this.#id
  }

  isSame(method: string, params: JsonObject): boolean {
    return (
      this.method === method &&
      canonicalJson(withoutAllMeta(this.#params)) === canonicalJson(withoutAllMeta(params))
    )
  }

  send(onMessage: (message: JsonRpcMessage) => void | Promise<void>): Promise<JsonObject> {
    this.#id = this.#session.nextId()
    const params = withProgressToken(this.#params, this.#id)
    const { signal } = this.#controller
    return this.#session.request(this.method, params, { id: this.#id, signal, onMessage })
  }

  cancel(reason: string): void {
    if (this.#id === 0) return
    const params = { requestId: this.#id, reason }
    this.#session.remote
      .notify({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
      .catch(() => {})
      .finally(() => this.#controller.abort())
  }
}

/** Progress is reported under the id of the call: a retry of the client may have another token, or none. */
function withProgressToken(params: JsonObject, progressToken: number): JsonObject {
  const meta = metaOf(params)
  if (meta['progressToken'] === undefined) return params
  return { ...params, _meta: { ...meta, progressToken } }
}

function withoutAllMeta(params: JsonObject): JsonObject {
  const { _meta: _, ...rest } = params
  return rest
}
