import type { JsonObject } from '@drawbridge/shared/json-object.ts'
import type {
  JsonRpcId,
  JsonRpcMessage,
  JsonRpcNotification,
  JsonRpcRequest,
  JsonRpcResponse,
} from '@drawbridge/shared/mcp/json-rpc.ts'
import { mcpMetaKey, modernRevision } from '@drawbridge/shared/mcp/mcp-protocol.ts'
import type { Runtime } from '@drawbridge/shared/runtime.ts'
import { Adapter } from '@drawbridge/shared/mcp/adapter/adapter.ts'
import { CallError, errorObject } from '@drawbridge/shared/mcp/adapter/call-error.ts'
import type { AdapterPorts, RequestOptions, RequestServer } from '@drawbridge/shared/mcp/adapter/ports.ts'
import { vi } from 'vitest'
import { until } from '../until.ts'

/**
 * A clock that only moves when it is advanced, and Vitest's fake timers with it. Sleeps of less than 0.4 seconds end at the next turn of the event
 * loop.
 */
export interface FakeClock extends Runtime {
  advance(seconds: number): Promise<void>
}

/** Starts at 1000. */
export function createFakeClock(): FakeClock {
  let now = 1000
  let random = 0
  let sleepers: { at: number; wake(): void }[] = []
  return {
    now: () => Math.floor(now),
    randomBytes(length) {
      random += 1
      return Uint8Array.from({ length }, (_, index) => (random * 31 + index * 7) % 256)
    },
    sleep(ms) {
      return new Promise((resolve) => {
        if (ms < 400) setImmediate(resolve)
        else sleepers.push({ at: now + ms / 1000, wake: resolve })
      })
    },
    fetch() {
      throw new Error('no network')
    },
    async advance(seconds) {
      const end = now + seconds
      for (;;) {
        await turns()
        const due = sleepers.filter(({ at }) => at <= end).toSorted((a, b) => a.at - b.at)[0]
        if (due === undefined) break
        now = Math.max(now, due.at)
        sleepers = sleepers.filter((each) => each !== due)
        due.wake()
      }
      if (vi.isFakeTimers()) await vi.advanceTimersByTimeAsync(seconds * 1000)
      now = end
      await turns()
    },
  }
}

/** Lets everything run that does not wait for an external event. */
export async function turns(count = 5): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

/** A client that records the messages it receives. */
export interface FakeClient {
  send(message: JsonRpcMessage): Promise<void>
  readonly sent: JsonRpcMessage[]
  responses(id: JsonRpcId): JsonRpcResponse[]
  response(id: JsonRpcId): Promise<JsonRpcResponse>
  requests(): JsonRpcRequest[]
  notifications(method?: string): JsonRpcNotification[]
}

/** Calls `react` with each message after recording it. */
export function createFakeClient(react: (message: JsonRpcMessage) => void = () => {}): FakeClient {
  const sent: JsonRpcMessage[] = []
  const responses = (id: JsonRpcId) =>
    sent.filter((each): each is JsonRpcResponse => !('method' in each) && each.id === id)
  return {
    sent,
    async send(message) {
      sent.push(message)
      react(message)
    },
    responses,
    async response(id) {
      await until(() => responses(id).length > 0, `a response to ${id}`)
      return responses(id)[0]!
    },
    requests: () => sent.filter((each): each is JsonRpcRequest => 'method' in each && 'id' in each),
    notifications: (method) =>
      sent.filter(
        (each): each is JsonRpcNotification =>
          'method' in each && !('id' in each) && (method === undefined || each.method === method),
      ),
  }
}

/** An adapter that takes the messages of a client one by one, and sends the client the responses, as its users do. */
export interface ConnectedAdapter {
  receive(message: JsonRpcMessage): Promise<void>
  close(): Promise<void>
}

export function connectAdapter({
  client,
  server,
  ...ports
}: Omit<AdapterPorts, 'notify' | 'request'> & {
  client: FakeClient
  server: FakeServer2026
}): ConnectedAdapter {
  const adapter = new Adapter({
    ...ports,
    notify: (notification) => client.send(notification),
    request: (method, params, options) => server.request(method, params, options),
  })
  const calls = new Map<unknown, AbortController>()
  const closing = new AbortController()
  async function serve(request: JsonRpcRequest): Promise<void> {
    const { id } = request
    const controller = new AbortController()
    const { signal } = controller
    calls.set(id, controller)
    const answer = await adapter
      .request(request, { signal, deliver: (message) => client.send(message) })
      .then(
        (result): JsonRpcResponse => ({ jsonrpc: '2.0', id, result }),
        (error: unknown): JsonRpcResponse => ({
          jsonrpc: '2.0',
          id,
          error: errorObject(error, describeFailure),
        }),
      )
    if (!signal.aborted && !closing.signal.aborted) await client.send(answer)
  }
  return {
    async receive(message) {
      if (!('method' in message)) adapter.receive(message)
      else if ('id' in message) void serve(message)
      else if (message.method !== 'notifications/cancelled') adapter.receive(message)
      else calls.get(message.params?.['requestId'])?.abort()
    },
    async close() {
      closing.abort()
      adapter.close()
    },
  }
}

/** One request that reached a fake server. */
export interface Arrival {
  message: JsonRpcRequest
  options: RequestOptions
  /** Sends a message before the response. */
  say(message: JsonRpcMessage): Promise<void>
  answer(result: JsonObject): void
  fail(code: number, message: string, data?: unknown): void
  break(error: unknown): void
}

/** Requests received by a fake server; `next` waits for one of a method that was not taken before. */
interface Arrivals {
  readonly all: Arrival[]
  next(method: string): Promise<Arrival>
  request: RequestServer
}

/**
 * Answers requests for which `automatic` returns a result. An aborted request rejects with the reason, as a transport
 * does.
 */
function createArrivals(automatic: (message: JsonRpcRequest) => JsonObject | undefined): Arrivals {
  const all: Arrival[] = []
  const taken = new Set<Arrival>()
  let lastId = 0
  return {
    all,
    async next(method) {
      const find = () => all.find((each) => each.message.method === method && !taken.has(each))
      await until(() => find() !== undefined, `a request ${method}`)
      const found = find()!
      taken.add(found)
      return found
    },
    request(method, params, options = {}) {
      return new Promise((resolve, reject) => {
        lastId += 1
        const message: JsonRpcRequest = { jsonrpc: '2.0', id: lastId, method, params }
        const { signal } = options
        if (signal?.aborted) return reject(signal.reason as Error)
        signal?.addEventListener('abort', () => reject(signal.reason as Error))
        const arrival: Arrival = {
          message,
          options,
          say: async (each) => options.onMessage?.(each),
          answer: resolve,
          fail: (code, text, data) => reject(new CallError(code, text, data)),
          break: (error) => reject(error),
        }
        all.push(arrival)
        const result = automatic(message)
        if (result !== undefined) arrival.answer(result)
      })
    },
  }
}

/** A 2026-07-28 server whose answers come from the test. */
export type FakeServer2026 = Arrivals

/** Answers `server/discover` automatically. */
export function createFakeServer2026(capabilities: JsonObject, rest: JsonObject = {}): FakeServer2026 {
  return createArrivals(({ method }) =>
    method === 'server/discover'
      ? {
          resultType: 'complete',
          supportedVersions: [modernRevision],
          capabilities,
          ttlMs: 0,
          cacheScope: 'private',
          _meta: { [mcpMetaKey.serverInfo]: { name: 'far', version: '7' } },
          ...rest,
        }
      : undefined,
  )
}

/** Maps the failures of tests to JSON-RPC errors. */
function describeFailure(error: unknown): { code: number; message: string } {
  return { code: -32_603, message: error instanceof Error ? error.message : String(error) }
}
