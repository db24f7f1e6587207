import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from '@modelcontextprotocol/client'
import { MemoryOAuthProvider } from './memory-oauth-provider.ts'
import type { Person } from './person.ts'
import type { ServerAddress } from './server-process.ts'

/** A client of an official SDK, used as an application uses it. */
export interface SdkClient {
  /** Its stored state, and the sign-ins that it asked for. */
  provider: MemoryOAuthProvider
  /** Rejects when it has to sign in first. */
  connect(): Promise<void>
  /** Signs in where it asked to last. */
  signIn(person: Pick<Person, 'allow'>): Promise<void>
  /** Redeems the code that came back. */
  finish(callback: URLSearchParams): Promise<void>
  serverName(): string | undefined
  /** The revision that was negotiated. Only the second line of the SDK tells. */
  revision(): string | undefined
  sessionId(): string | undefined
  listTools(): Promise<string[]>
  /** Calls a tool; returns its text, and the progress reported before. */
  call(name: string, input?: Record<string, unknown>): Promise<{ text: string; progress: number[] }>
  /** Ends the session, if any, and closes. */
  end(): Promise<void>
}

/** Where a client connects to, with which stored state; by default `/mcp` of the server, with none. */
interface SdkClientOptions {
  url?: string
  provider?: MemoryOAuthProvider
  fetch?: typeof fetch
}

type CreateSdkClient = (server: ServerAddress, options?: SdkClientOptions) => SdkClient

/** The official SDKs: package and revision. */
export const sdkClientNames = [
  'sdk 1, 2025-11-25',
  'client 2, 2025-11-25',
  'client 2, 2026-07-28 if it can',
] as const

export type SdkClientName = (typeof sdkClientNames)[number]

export const sdkClients: Readonly<Record<SdkClientName, CreateSdkClient>> = {
  'sdk 1, 2025-11-25': createSdk1,
  'client 2, 2025-11-25': (server, options) => createSdk2(server, 'legacy', options),
  'client 2, 2026-07-28 if it can': (server, options) => createSdk2(server, 'auto', options),
}

/** Connects like an application: refused, browser, callback, connected. */
export async function connectSdkClient(
  name: SdkClientName,
  server: ServerAddress,
  person: Person,
): Promise<SdkClient> {
  const client = sdkClients[name](server)
  await client.connect().catch(() => {})
  await client.signIn(person)
  await client.connect()
  return client
}

function createSdk1(server: ServerAddress, options: SdkClientOptions = {}): SdkClient {
  const { url = server.mcpUrl, provider = new MemoryOAuthProvider(), fetch = server.fetch } = options
  const client = new Client1({ name: 'client-1', version: '1.0.0' })
  return sdkClient(provider, {
    client,
    open: () => new Transport1(new URL(url), { fetch, authProvider: provider }),
    connect: (transport) => client.connect(transport),
    finish: (transport, callback) => transport.finishAuth(callback.get('code') ?? ''),
    revision: () => undefined,
    callTool: (call, onprogress) => client.callTool(call, undefined, { onprogress }),
  })
}

function createSdk2(
  server: ServerAddress,
  mode: 'legacy' | 'auto',
  options: SdkClientOptions = {},
): SdkClient {
  const { url = server.mcpUrl, provider = new MemoryOAuthProvider(), fetch = server.fetch } = options
  const client = new Client2({ name: 'client-2', version: '1.0.0' }, { versionNegotiation: { mode } })
  return sdkClient(provider, {
    client,
    open: () => new Transport2(new URL(url), { fetch, authProvider: provider }),
    connect: (transport) => client.connect(transport),
    // Checks iss before anything else.
    finish: (transport, callback) => transport.finishAuth(callback),
    revision: () => client.getNegotiatedProtocolVersion(),
    callTool: (call, onprogress) => client.callTool(call, { onprogress }),
  })
}

/** What the two lines of the SDK do differently. */
interface Sdk<Transport> {
  client: Client1 | Client2
  open(): Transport
  connect(transport: Transport): Promise<void>
  finish(transport: Transport, callback: URLSearchParams): Promise<void>
  revision(): string | undefined
  callTool(
    call: { name: string; arguments: Record<string, unknown> },
    onprogress: (told: { progress: number }) => void,
  ): Promise<Record<string, unknown>>
}

function sdkClient<Transport extends Transport1 | Transport2>(
  provider: MemoryOAuthProvider,
  sdk: Sdk<Transport>,
): SdkClient {
  const { client } = sdk
  let transport = sdk.open()
  const finish = (callback: URLSearchParams): Promise<void> => sdk.finish(transport, callback)
  return {
    provider,
    finish,
    revision: sdk.revision,
    async connect() {
      transport = sdk.open()
      await sdk.connect(transport)
    },
    async signIn(person) {
      const url = provider.authorizationUrls.at(-1)
      if (!url) throw new Error('The client asked for no sign-in.')
      const { searchParams } = await person.allow(url)
      if (searchParams.get('state') !== provider.state()) throw new Error('This is another state.')
      await finish(searchParams)
    },
    serverName: () => client.getServerVersion()?.name,
    sessionId: () => transport.sessionId,
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    async call(name, input = {}) {
      const progress: number[] = []
      const { content } = await sdk.callTool({ name, arguments: input }, (told) =>
        progress.push(told.progress),
      )
      return { text: (content as { text?: string }[]).map(({ text = '' }) => text).join('\n'), progress }
    },
    async end() {
      await transport.terminateSession()
      await client.close()
    },
  }
}
