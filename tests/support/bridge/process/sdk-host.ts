import { Client as ModernSdkClient } from '@modelcontextprotocol/client'
import { StdioClientTransport as ModernStdio } from '@modelcontextprotocol/client/stdio'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { bridgeLauncher, environmentOf } from './bridge-child.ts'
import type { Stage } from './stage.ts'

/** A local client as used by applications: it starts the bridge itself and talks to it over stdio. */
export interface SdkHost {
  /** The era it uses with the bridge. */
  era: string
  serverName: string | undefined
  instructions: string | undefined
  tools(): Promise<string[]>
  call(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<string>
  /** Counts the notifications of changed tools. */
  changes(): number
  /** All errors reported by the SDK itself. */
  errors: readonly string[]
  close(): Promise<void>
}

/** Options of one call. */
interface CallOptions {
  signal?: AbortSignal
  onprogress?: (progress: { progress: number }) => void
}

/** Answers to the server's requests in either era. */
export const answers = {
  elicit: { action: 'accept' as const, content: { name: 'Ada' } },
  sample: {
    model: 'm',
    role: 'assistant' as const,
    content: { type: 'text' as const, text: 'hi' },
  },
  roots: { roots: [{ uri: 'file:///project', name: 'project' }] },
}

const clientInfo = { name: 'host', version: '1' }
const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: { listChanged: true } }

function command(
  stage: Stage,
  url: string,
): { command: string; args: string[]; env: Record<string, string>; stderr: 'ignore' } {
  return {
    command: process.execPath,
    args: [bridgeLauncher, url, '--no-open'],
    env: environmentOf({ home: stage.home }),
    stderr: 'ignore',
  }
}

function textOf(result: unknown): string {
  return (result as { content: { text: string }[] }).content.map(({ text }) => text).join('\n')
}

/** `@modelcontextprotocol/sdk`. */
export async function startLegacyHost(stage: Stage, url: string): Promise<SdkHost> {
  const client = new Client(clientInfo, { capabilities })
  const errors: string[] = []
  let changes = 0
  Object.assign(client, { onerror: (error: Error) => errors.push(String(error)) })
  client.setRequestHandler(ElicitRequestSchema, () => answers.elicit)
  client.setRequestHandler(CreateMessageRequestSchema, () => answers.sample)
  client.setRequestHandler(ListRootsRequestSchema, () => answers.roots)
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => void (changes += 1))
  stage.later(() => client.close())
  await client.connect(new StdioClientTransport(command(stage, url)))
  return {
    era: 'legacy',
    serverName: client.getServerVersion()?.name,
    instructions: client.getInstructions(),
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args = {}, options = {}) =>
      textOf(await client.callTool({ name, arguments: args }, undefined, options)),
    changes: () => changes,
    errors,
    close: () => client.close(),
  }
}

/** `@modelcontextprotocol/client`, which finds out the era. */
export async function startModernHost(stage: Stage, url: string): Promise<SdkHost> {
  let changes = 0
  const client = new ModernSdkClient(clientInfo, {
    capabilities,
    versionNegotiation: { mode: 'auto' },
    listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => void (changes += 1) } },
  })
  const errors: string[] = []
  Object.assign(client, { onerror: (error: Error) => errors.push(String(error)) })
  client.setRequestHandler('elicitation/create', () => answers.elicit)
  client.setRequestHandler('sampling/createMessage', () => answers.sample)
  client.setRequestHandler('roots/list', () => answers.roots)
  stage.later(() => client.close())
  await client.connect(new ModernStdio(command(stage, url)))
  return {
    era: String(client.getProtocolEra()),
    serverName: client.getServerVersion()?.name,
    instructions: client.getInstructions(),
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args = {}, options = {}) =>
      textOf(await client.callTool({ name, arguments: args }, options)),
    changes: () => changes,
    errors,
    close: () => client.close(),
  }
}
