import { PassThrough } from 'node:stream'
import { onTestFinished } from 'vitest'
import { createLineClient, type LineClient, modernClaims } from '../process/line-client.ts'
import { networkConfig } from '../http/server-fixture.ts'
import { createHttpClient } from '../../../../bridge/http/undici-client.ts'
import { McpProxy, type McpProxyPorts, type McpProxyConfig } from '../../../../bridge/proxy/proxy.ts'
import type { ServerMemory } from '../../../../bridge/transport/server-memory.ts'
import type { Json, Received } from '../../remote/received.ts'
import { type Remote, type RemoteOptions, startRemote } from '../../remote/remote.ts'

/** A proxy between two streams, with the client at their other ends. */
export interface Rig extends Pick<LineClient, 'write'> {
  proxy: McpProxy
  /** Resolves with the exit code. */
  over: Promise<number>
  input: PassThrough
  output: PassThrough
  messages: readonly Json[]
  said: string[]
  notes: string[]
  opened: string[]
  memory(): ServerMemory | undefined
  /** Sends a request and resolves with its response. */
  ask(method: string, params?: Json, id?: number | string): Promise<Json>
  /** Resolves with the first matching message, including past ones. */
  find(fits: (message: Json) => boolean): Promise<Json>
  initialize(capabilities?: Json): Promise<Json>
  /** Stops the proxy unless it has ended. */
  stop(): Promise<void>
}

/** Differences from a plain proxy. */
export type RigOptions = Partial<Omit<McpProxyConfig, 'serverUrl'>> & {
  ports?: Partial<McpProxyPorts>
  memory?: ServerMemory
}

/** Starts a remote for one test: of 2025-11-25 by default, with a tool `echo` that answers with its arguments. */
export async function startServer(options: RemoteOptions = {}): Promise<Remote> {
  const tools = [{ name: 'echo', inputSchema: { type: 'object', properties: {} } }]
  const remote = await startRemote({ era: 'legacy', tools, ...options })
  onTestFinished(() => remote.close())
  return remote
}

/** Makes a `handle` that leaves calls of tools to `take`, and everything else to the remote. */
export function onCall(take: (call: Received) => unknown): (request: Received) => boolean {
  return (request) => request.body['method'] === 'tools/call' && (take(request), true)
}

/** Starts a proxy for one test, without a login, with short timeouts. */
export function startProxy({ url: serverUrl }: { url: string }, options: RigOptions = {}): Rig {
  const { ports, memory: before, ...config } = options
  const input = new PassThrough()
  const output = new PassThrough()
  const said: string[] = []
  const notes: string[] = []
  const opened: string[] = []
  let memory = before
  const client = createLineClient(input, output, () => notes.join('\n'))
  const http = createHttpClient(
    networkConfig({ connectTimeoutMs: 30_000, headersTimeoutMs: 0, bodyTimeoutMs: 0, allowHttp: true }),
  )
  const proxy = new McpProxy(
    {
      version: '1.2.3',
      serverUrl,
      transport: 'http-first',
      protocol: 'auto',
      headers: {},
      tools: { allow: [], deny: [] },
      retryMs: 0,
      watchdogMs: 0,
      pingMs: 0,
      signInWaitMs: 100,
      ...config,
    },
    {
      input,
      output,
      http,
      runtime: {
        now: () => Math.floor(Date.now() / 1000),
        randomBytes: (length) => crypto.getRandomValues(new Uint8Array(length)),
        sleep: (ms) => new Promise((resolve) => void setTimeout(resolve, ms)),
        fetch: () => Promise.reject(new Error('not here')),
      },
      login: {
        tokens: {
          authorization: () => Promise.resolve(undefined),
          refused: () => Promise.resolve('sign_in_needed'),
        },
      },
      openBrowser: (url) => opened.push(url) < 0,
      memory: { read: () => memory, write: (news) => void (memory = news) },
      describeFailure: (error) => ({
        code: -31_000,
        message: error instanceof Error ? error.message : String(error),
        data: { fault: (error as { fault?: string }).fault },
      }),
      say: (line) => void said.push(line),
      note: (text) => void notes.push(text),
      ...ports,
    },
  )
  const over = proxy.run()
  const rig: Rig = {
    ...client,
    proxy,
    over,
    input,
    output,
    said,
    notes,
    opened,
    memory: () => memory,
    async stop() {
      proxy.stop('test')
      await over
      http.close()
    },
  }
  onTestFinished(() => rig.stop())
  return rig
}

/** Returns `_meta` for a request of 2026-07-28. */
export const claims = (capabilities: Json = {}): Json => ({ _meta: modernClaims(capabilities) })

/** A client's side of a protocol era, to run a test with both. */
export type Era = 'legacy' | 'modern'

/** Returns what the params of a request of that era have. */
export const own = (era: Era): Json => (era === 'modern' ? claims() : {})

/** Opens as a client of that era does. */
export async function open(rig: Rig, era: Era): Promise<void> {
  if (era === 'legacy') await initialize(rig)
  else await rig.ask('server/discover', claims())
}

/** Opens a session as a client of 2025-11-25 does. */
export const initialize = (rig: Rig, capabilities: Json = {}): Promise<Json> => rig.initialize(capabilities)
