import type { JsonObject } from '../../../json-object.ts'
import { jsonRpcCode } from '../../json-rpc.ts'
import type { JsonRpcId, JsonRpcMessage, JsonRpcResponse } from '../../json-rpc.ts'
import { legacyRevisions } from '../../mcp-protocol.ts'
import { mapServerCapabilities } from '../capabilities.ts'
import { CallError, toModernError } from '../call-error.ts'
import { canonicalJson } from '../params.ts'
import type { Claim } from './claims.ts'
import type { AskOptions, LegacyServer, LegacySession } from '../ports.ts'

/** A session with a server of the 2025 era, opened in the name of clients that declare the same capabilities. */
export interface UpstreamSession {
  readonly legacy: LegacySession
  readonly serverCapabilities: JsonObject
  /** Ends one hold that `acquire` gave; the session stays open while there is any. */
  release(): void
  /** Has the server send log messages from this level on, if it logs. Never rejects, and never asks for fewer than before. */
  wantLogs(level: string, severity: number): Promise<void>
  /** An id that no other request of this session has. */
  nextId(): number
  /** Asks under such an id. An error that came as the body of a 4xx is a response too. */
  ask(
    id: JsonRpcId,
    method: string,
    params: JsonObject | undefined,
    options?: AskOptions,
  ): Promise<JsonRpcResponse>
}

/** The sessions of one connection. */
export interface UpstreamSessions {
  /** The session for these capabilities, held by the caller; opened if there is none. Rejects as {@link LegacyServer} does, or with {@link CallError}. */
  acquire(claim: Claim): Promise<UpstreamSession>
  /** Ends all of them. Never rejects. */
  close(): Promise<void>
}

type OpenParameters = [LegacyServer, ...Parameters<LegacyServer['open']>]

interface Entry {
  opened: Promise<UpstreamSession>
  isOpen: boolean
  holders: number
  usedAt: number
}

/** A client has one set of capabilities, rarely two. More is a fault that must not open sessions without end. */
const mostSessions = 8

/** `onMessage` takes what comes on the standing stream of a session. */
export function createUpstreamSessions(
  server: LegacyServer,
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
    const legacy = await openLegacy(server, params, (message) => {
      if (session !== undefined) return onMessage(session, message)
      // The stream was faster than the promise: waiting for it here could be waiting for ourselves.
      void ready.then((late) => onMessage(late, message))
    })
    session = createSession(server, legacy, entry)
    announce(session)
    return session
  }

  function makeRoom(): void {
    if (entries.size < mostSessions) return
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
      // One that still opens may do so for long, a person may be signing in: it is closed when it is there.
      const closing = all.map((entry) => ({ entry, done: closeEntry(entry) }))
      await Promise.all(closing.filter(({ entry }) => entry.isOpen).map(({ done }) => done))
    },
  }
}

/** A refused `initialize` is told in the words of the client, too. */
async function openLegacy(...[server, ...parameters]: OpenParameters): Promise<LegacySession> {
  try {
    return await server.open(...parameters)
  } catch (error) {
    const response = server.errorResponse(error)
    if (response === undefined || !('error' in response)) throw error
    const { code, message, data } = toModernError(response.error)
    throw new CallError(code, message, data)
  }
}

async function closeEntry({ opened }: Entry): Promise<void> {
  try {
    const { legacy } = await opened
    await legacy.close()
  } catch {
    // It never opened, or is gone already.
  }
}

function createSession(server: LegacyServer, legacy: LegacySession, entry: () => Entry): UpstreamSession {
  const serverCapabilities = mapServerCapabilities(legacy.initialized['capabilities'])
  let lastId = 0
  let logs = { severity: Number.POSITIVE_INFINITY, set: Promise.resolve() }

  function nextId(): number {
    lastId += 1
    return lastId
  }

  async function ask(
    id: JsonRpcId,
    method: string,
    params: JsonObject | undefined,
    options?: AskOptions,
  ): Promise<JsonRpcResponse> {
    try {
      return await legacy.request({ jsonrpc: '2.0', id, method, ...(params && { params }) }, options)
    } catch (error) {
      const response = server.errorResponse(error)
      if (response === undefined) throw error
      return response
    }
  }

  async function setLevel(level: string): Promise<void> {
    try {
      await ask(nextId(), 'logging/setLevel', { level })
    } catch {
      // Then the server logs as it likes: no reason to refuse the call.
    }
  }

  return {
    legacy,
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
    ask,
  }
}
