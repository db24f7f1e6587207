import type { JsonObject } from '../../../json-object.ts'
import { jsonRpcCode } from '../../json-rpc.ts'
import type { JsonRpcId, JsonRpcMessage, JsonRpcResponse } from '../../json-rpc.ts'
import { legacyRevisions } from '../../mcp-protocol.ts'
import { mapServerCapabilities } from '../capabilities.ts'
import { CallError, toError2026 } from '../call-error.ts'
import { canonicalJson } from '../params.ts'
import type { Claim } from './claims.ts'
import type { RequestOptions, Server2025, Session2025 } from '../ports.ts'

/** A session with a 2025 server, shared by requests that declare the same capabilities. */
export interface UpstreamSession {
  readonly remote: Session2025
  readonly serverCapabilities: JsonObject
  /** Releases one `acquire`. A session in use is never closed to make room. */
  release(): void
  /** Has the server send log messages from this level on, if it logs. Never rejects, and never asks for fewer than before. */
  wantLogs(level: string, severity: number): Promise<void>
  /** An id that no other request of this session has. */
  nextId(): number
  /** Asks under such an id. An error that came as the body of a 4xx is a response too. */
  request(
    id: JsonRpcId,
    method: string,
    params: JsonObject | undefined,
    options?: RequestOptions,
  ): Promise<JsonRpcResponse>
}

/** The sessions of one connection. */
export interface UpstreamSessions {
  /** The session for these capabilities, held by the caller; opened if there is none. Rejects as {@link Server2025} does, or with {@link CallError}. */
  acquire(claim: Claim): Promise<UpstreamSession>
  /** Ends all of them. Never rejects. */
  close(): Promise<void>
}

type OpenParameters = [Server2025, ...Parameters<Server2025['open']>]

interface Entry {
  opened: Promise<UpstreamSession>
  isOpen: boolean
  holders: number
  usedAt: number
}

/** A client has one set of capabilities, rarely two. More is a fault that must not open sessions without end. */
const maxSessions = 8

/** `onMessage` takes what arrives on the GET stream of a session. */
export function createUpstreamSessions(
  server: Server2025,
  onMessage: (session: UpstreamSession, message: JsonRpcMessage) => void | Promise<void>,
): UpstreamSessions {
  const entries = new Map<string, Entry>()
  let uses = 0
  let closed = false

  function open(key: string, claim: Claim): Entry {
    const entry: Entry = { opened: openSession(claim, () => entry), isOpen: false, holders: 0, usedAt: 0 }
    void watch(key, entry)
    entries.set(key, entry)
    return entry
  }

  async function watch(key: string, entry: Entry): Promise<void> {
    try {
      await entry.opened
      entry.isOpen = true
    } catch {
      if (entries.get(key) === entry) entries.delete(key)
    }
  }

  async function openSession(claim: Claim, entry: () => Entry): Promise<UpstreamSession> {
    let announce: (session: UpstreamSession) => void = () => {}
    const ready = new Promise<UpstreamSession>((resolve) => {
      announce = resolve
    })
    let session: UpstreamSession | undefined
    const params = {
      protocolVersion: legacyRevisions[0],
      capabilities: claim.capabilities,
      clientInfo: claim.clientInfo ?? { name: 'drawbridge', version: '0' },
    }
    const remote = await open2025(server, params, (message) => {
      if (session !== undefined) return onMessage(session, message)
      // The stream was faster than the promise. Awaiting it here could deadlock.
      void ready.then((late) => onMessage(late, message))
    })
    session = createSession(server, remote, entry)
    announce(session)
    return session
  }

  function makeRoom(): void {
    if (entries.size < maxSessions) return
    const idle = [...entries].filter(([, { holders }]) => holders === 0)
    const [oldest] = idle.sort(([, a], [, b]) => a.usedAt - b.usedAt)
    if (oldest === undefined)
      throw new CallError(
        jsonRpcCode.internalError,
        'Too many sessions with different capabilities are in use.',
      )
    entries.delete(oldest[0])
    void closeEntry(oldest[1])
  }

  return {
    async acquire(claim) {
      const key = canonicalJson(claim.capabilities)
      if (!entries.has(key)) makeRoom()
      if (closed) throw new CallError(jsonRpcCode.internalError, 'The connection is closed.')
      const entry = entries.get(key) ?? open(key, claim)
      uses += 1
      entry.usedAt = uses
      entry.holders += 1
      try {
        return await entry.opened
      } catch (error) {
        entry.holders -= 1
        throw error
      }
    },
    async close() {
      closed = true
      const all = [...entries.values()]
      entries.clear()
      // A session still opening may wait for a sign-in: close it once it is open, without waiting here.
      const closing = all.map((entry) => ({ entry, done: closeEntry(entry) }))
      await Promise.all(closing.filter(({ entry }) => entry.isOpen).map(({ done }) => done))
    },
  }
}

/** Maps the error of a refused `initialize`, too. */
async function open2025(...[server, ...parameters]: OpenParameters): Promise<Session2025> {
  try {
    return await server.open(...parameters)
  } catch (error) {
    const response = server.errorResponse(error)
    if (response === undefined || !('error' in response)) throw error
    const { code, message, data } = toError2026(response.error)
    throw new CallError(code, message, data)
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

function createSession(server: Server2025, remote: Session2025, entry: () => Entry): UpstreamSession {
  const serverCapabilities = mapServerCapabilities(remote.initialized['capabilities'])
  let lastId = 0
  let logs = { severity: Number.POSITIVE_INFINITY, set: Promise.resolve() }

  function nextId(): number {
    lastId += 1
    return lastId
  }

  async function request(
    id: JsonRpcId,
    method: string,
    params: JsonObject | undefined,
    options?: RequestOptions,
  ): Promise<JsonRpcResponse> {
    try {
      return await remote.request({ jsonrpc: '2.0', id, method, ...(params && { params }) }, options)
    } catch (error) {
      const response = server.errorResponse(error)
      if (response === undefined) throw error
      return response
    }
  }

  async function setLevel(level: string): Promise<void> {
    try {
      await request(nextId(), 'logging/setLevel', { level })
    } catch {
      // Then the server logs as it likes: no reason to refuse the call.
    }
  }

  return {
    remote,
    serverCapabilities,
    release() {
      entry().holders -= 1
    },
    wantLogs(level, severity) {
      // One level for all calls of the session: what a call did not ask for is filtered on its way to the client.
      if (serverCapabilities['logging'] === undefined || severity >= logs.severity) return logs.set
      const set = setLevel(level)
      logs = { severity, set }
      return set
    },
    nextId,
    request,
  }
}
