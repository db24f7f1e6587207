import { toResponse } from '@drawbridge/shared/text-response.ts'
import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { CommandUpstream } from '../../../../server/core/gateway/upstream.ts'
import type { IncomingCalls } from '../../../../server/core/access/call-record.ts'
import type { Caller, SignedInCaller } from '../../../../server/core/tokens/caller.ts'
import {
  type CommandEndpoint,
  type CommandEndpointConfig,
  createCommandEndpoint,
} from '../../../../server/mcp/command/command-endpoint.ts'
import {
  initialize,
  message2026,
  type MessageReader,
  notification,
  readMessages,
  request,
  type StreamedMessage,
  toolCall,
} from './mcp-message.ts'
import { createFakeRuntime, type FakeRuntime } from '../fake-runtime.ts'
import { callerSample, callsSample, endpointConfigSample } from './tool-fixture.ts'

/** A report of a command endpoint: an event with its fields. */
type Reported = { event: string; fields: Record<string, unknown> }

/** A command endpoint with real processes. */
export interface CommandFixture {
  endpoint: CommandEndpoint
  runtime: FakeRuntime
  /** All reports, including calls. */
  reports: Reported[]
  /** Returns the reports of that event. */
  reported(event: string): Record<string, unknown>[]
  client(caller?: Caller): CommandClient
  /** Returns the running processes, including their children. */
  processes(): number[]
  close(): Promise<void>
}

/** A message from an endpoint's response. */
type Message = StreamedMessage['message']

/** Sends the messages of one user. */
export interface CommandClient {
  post(message: unknown, headers?: Record<string, string>, signal?: AbortSignal): Promise<Response>
  send(method: string, headers?: Record<string, string>): Promise<Response>
  /** Sends a request of an earlier revision without a session. Returns the response message. */
  request(method: string, params?: object, id?: string | number): Promise<Message>
  call(name: string, input?: object, id?: string | number): Promise<Message>
  /** Sends a request of 2026-07-28. */
  request2026(method: string, params?: Record<string, unknown>, capabilities?: object): Promise<Message>
  /** Like global `fetch`, for the transports of SDKs. */
  fetch: (url: string | URL, init?: RequestInit) => Promise<Response>
  open(capabilities?: object): Promise<CommandSession>
}

/** A session of a client. */
export interface CommandSession {
  initialized: Message
  /** Headers for its messages. */
  headers: Record<string, string>
  post(message: unknown): Promise<Response>
  /** Sends a request. Returns the response message. */
  request(method: string, params?: object, id?: string | number): Promise<Message>
  call(name: string, input?: object, id?: string | number): Promise<Message>
  /** Opens its stream of notifications. */
  listen(): Promise<MessageReader>
  end(): Promise<Response>
}

const peerPath = (name: string): string =>
  fileURLToPath(new URL(`../../../peers/stdio/${name}`, import.meta.url))
const scriptedServer = peerPath('scripted-server.mjs')

/** What makes an upstream one of many small processes, instead of {@link scriptedServer}. */
export const smallServer: Pick<CommandUpstream, 'command' | 'args'> = {
  command: '/bin/sh',
  args: [peerPath('small-server.sh')],
}

/** Returns a caller with that name. */
export function callerOf(name: string, more: Partial<SignedInCaller> = {}): SignedInCaller {
  return {
    ...callerSample,
    user: {
      id: `https://provider#${name}`,
      sub: name,
      email: `${name}@example.com`,
      name: `Name of ${name}`,
      emailVerified: true,
    },
    grantId: `grant of ${name}`,
    ...more,
  }
}

/** Returns an upstream that starts {@link scriptedServer} with these arguments. */
export function upstreamSample(
  args: readonly string[] = [],
  more: Partial<CommandUpstream> = {},
): CommandUpstream {
  return {
    kind: 'command',
    name: undefined,
    command: process.execPath,
    args: [scriptedServer, ...args],
    cwd: undefined,
    env: {},
    process: 'user',
    idleSeconds: 60,
    startTimeoutSeconds: 20,
    firstStartTimeoutSeconds: 20,
    maxProcesses: 8,
    maxPerUser: 3,
    user: undefined,
    secrets: [],
    policy: { allow: ['*'], deny: [], publicTools: new Set(), scopes: [] },
    scopes: {},
    workspacesUrl: undefined,
    ...more,
  }
}

/** Opens an endpoint in front of `upstream`. */
export function openCommand(
  upstream: CommandUpstream,
  more: Partial<CommandEndpointConfig> = {},
): CommandFixture {
  const reports: Reported[] = []
  const report = (event: string, fields: Record<string, unknown>): void =>
    void reports.push({ event, fields })
  const mark = randomUUID()
  const runtime = createFakeRuntime(1_750_000_000)
  const { sealer, resourceMetadata } = endpointConfigSample({})
  const endpoint = createCommandEndpoint({
    upstream: { ...upstream, args: [...upstream.args, '--mark', mark] },
    environment: { PATH: process.env['PATH'], LANG: 'C.UTF-8', HOME: undefined, SECRET_OF_THE_SERVER: 'yes' },
    version: '1.2.3',
    sealer,
    runtime,
    resourceMetadata,
    report,
    ...more,
  })
  return {
    endpoint,
    runtime,
    reports,
    reported: (name) => reports.filter(({ event }) => event === name).map(({ fields }) => fields),
    client: (caller = callerOf('ada')) => clientOf(endpoint, caller, (of) => callsSample(of, report)),
    processes: () => processesWith(mark),
    close: () => endpoint.close(),
  }
}

/** The endpoints of one test or file, in front of {@link upstreamSample}. */
export function createCommands(): {
  open(args?: readonly string[], more?: Partial<CommandUpstream>): CommandFixture
  /** Closes them. Returns the processes that are left. */
  end(): Promise<number[]>
} {
  const opened: CommandFixture[] = []
  return {
    open(args = [], more = {}) {
      const fixture = openCommand(upstreamSample(args, more))
      opened.push(fixture)
      return fixture
    },
    async end() {
      const all = opened.splice(0)
      await Promise.all(all.map((each) => each.close()))
      return all.flatMap((each) => each.processes())
    },
  }
}

function clientOf(
  endpoint: CommandEndpoint,
  caller: Caller,
  callsOf: (caller: Caller) => IncomingCalls,
): CommandClient {
  const send = async (
    method: string,
    body: unknown,
    headers: Record<string, string> = {},
    signal?: AbortSignal,
  ): Promise<Response> => {
    const sent = new Request('http://localhost/mcp', {
      method,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        ...headers,
      },
      ...(signal && { signal }),
    })
    return toResponse(await endpoint.handle(sent, body, caller, callsOf(caller)))
  }
  const client: CommandClient = {
    post: (message, headers, signal) => send('POST', message, headers, signal),
    send: (method, headers) => send(method, undefined, headers),
    request: async (...given) => responseOf(await send('POST', request(...given))),
    call: async (...given) => responseOf(await send('POST', toolCall(...given))),
    request2026: async (method, params = {}, capabilities = {}) => {
      const { message, headers } = message2026(method, params, capabilities as Record<string, unknown>)
      return responseOf(await send('POST', message, headers))
    },
    fetch: async (url, { body, ...init } = {}) =>
      toResponse(
        await endpoint.handle(
          new Request(url, init),
          typeof body === 'string' ? JSON.parse(body) : undefined,
          caller,
          callsOf(caller),
        ),
      ),
    open: async (capabilities = {}) => {
      const response = await send('POST', initialize(capabilities))
      const id = response.headers.get('mcp-session-id')
      const initialized = await responseOf(response)
      if (id === null) throw new Error(`No session: ${JSON.stringify(initialized)}`)
      const headers = { 'mcp-session-id': id, 'mcp-protocol-version': '2025-11-25' }
      const post: CommandSession['post'] = (message) => send('POST', message, headers)
      await post(notification('notifications/initialized'))
      return {
        headers,
        initialized,
        post,
        request: async (...given) => responseOf(await post(request(...given))),
        call: async (...given) => responseOf(await post(toolCall(...given))),
        listen: async () => readMessages(await send('GET', undefined, headers)),
        end: () => send('DELETE', undefined, headers),
      }
    },
  }
  return client
}

/** Returns the response message from a body of either kind. */
export async function responseOf(response: Response): Promise<Message> {
  if (response.headers.get('content-type') !== 'text/event-stream') return (await response.json()) as Message
  const messages = await readMessages(response).rest()
  const found = messages.find(({ message }) => message.result !== undefined || message.error !== undefined)
  return found?.message ?? {}
}

/** Returns the ids of running processes whose command line contains `text`. */
export function processesWith(text: string): number[] {
  if (process.platform === 'linux') return linuxProcessesWith(text)
  const lines = execFileSync('ps', ['-eo', 'pid=,stat=,args='], { encoding: 'utf8' }).split('\n')
  return lines
    .filter((line) => line.includes(text) && !/^\s*\d+\s+Z/.test(line))
    .map((line) => Number.parseInt(line, 10))
}

/** Without the start of a program: this is asked many times. The command line of a zombie is empty. */
function linuxProcessesWith(text: string): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && commandLineOf(pid).includes(text))
}

function commandLineOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8')
  } catch {
    // It has just ended.
    return ''
  }
}
