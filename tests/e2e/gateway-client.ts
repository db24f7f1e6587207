import { Client as Client1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as Transport1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { Client as Client2, StreamableHTTPClientTransport as Transport2 } from '@modelcontextprotocol/client'
import { MemoryOAuthProvider } from './memory-oauth-provider.ts'
import type { Person } from './person.ts'
import type { ServerProcess } from './server-process.ts'

/** A client of an official SDK with a signed-in user. */
export interface SignedInClient {
  /** Its stored state, and the number of requested sign-ins. */
  provider: MemoryOAuthProvider
  sessionId(): string | undefined
  listTools(): Promise<string[]>
  /** Calls a tool; returns its text, and the progress reported before. */
  call(name: string, input?: Record<string, unknown>): Promise<{ text: string; progress: number[] }>
  /** Ends the session, if any, and closes. */
  end(): Promise<void>
}

/** The official SDKs: package and revision. */
export const sdkClients = {
  'sdk 1, 2025-11-25': connectSdk1,
  'client 2, 2025-11-25': (server: ServerProcess, person: Person) => connectSdk2(server, person, 'legacy'),
  'client 2, 2026-07-28 if it can': (server: ServerProcess, person: Person) =>
    connectSdk2(server, person, 'auto'),
}

/** Connects a client of `@modelcontextprotocol/sdk` like an application: refused, browser, callback, connected. */
async function connectSdk1(server: ServerProcess, person: Person): Promise<SignedInClient> {
  const provider = new MemoryOAuthProvider()
  const open = (): Transport1 =>
    new Transport1(new URL(server.mcpUrl), { fetch: server.fetch, authProvider: provider })
  const create = (): Client1 => new Client1({ name: 'client-1', version: '1.0.0' })
  const refused = open()
  await create()
    .connect(refused)
    .catch(() => {})
  await refused.finishAuth((await callbackOf(provider, person)).get('code') ?? '')
  const [client, transport] = [create(), open()]
  await client.connect(transport)
  return signedIn(provider, { client, transport }, (call, onprogress) =>
    client.callTool(call, undefined, { onprogress }),
  )
}

/** Connects a client of `@modelcontextprotocol/client` in the same way. */
async function connectSdk2(
  server: ServerProcess,
  person: Person,
  mode: 'legacy' | 'auto',
): Promise<SignedInClient> {
  const provider = new MemoryOAuthProvider()
  const open = (): Transport2 =>
    new Transport2(new URL(server.mcpUrl), { fetch: server.fetch, authProvider: provider })
  const create = (): Client2 =>
    new Client2({ name: 'client-2', version: '1.0.0' }, { versionNegotiation: { mode } })
  const refused = open()
  await create()
    .connect(refused)
    .catch(() => {})
  await refused.finishAuth(await callbackOf(provider, person))
  const [client, transport] = [create(), open()]
  await client.connect(transport)
  return signedIn(provider, { client, transport }, (call, onprogress) =>
    client.callTool(call, { onprogress }),
  )
}

interface ToolCall {
  name: string
  arguments: Record<string, unknown>
}

type CallTool = (
  call: ToolCall,
  onprogress: (told: { progress: number }) => void,
) => Promise<Record<string, unknown>>

function signedIn(
  provider: MemoryOAuthProvider,
  { client, transport }: { client: Client1 | Client2; transport: Transport1 | Transport2 },
  callTool: CallTool,
): SignedInClient {
  return {
    provider,
    sessionId: () => transport.sessionId,
    listTools: async () => (await client.listTools()).tools.map(({ name }) => name),
    async call(name, input = {}) {
      const progress: number[] = []
      const result = await callTool({ name, arguments: input }, (told) => progress.push(told.progress))
      const content = result['content'] as { text?: string }[]
      return { text: content.map(({ text = '' }) => text).join('\n'), progress }
    },
    async end() {
      await transport.terminateSession()
      await client.close()
    },
  }
}

async function callbackOf(provider: MemoryOAuthProvider, person: Person): Promise<URLSearchParams> {
  const [authorizationUrl] = provider.authorizationUrls
  if (!authorizationUrl) throw new Error('The client asked for no sign-in.')
  return (await person.allow(authorizationUrl)).searchParams
}
