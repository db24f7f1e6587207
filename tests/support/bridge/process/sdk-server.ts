import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { getRequestListener } from '@hono/node-server'
import { Server as LegacySdkServer } from '@modelcontextprotocol/sdk/server/index.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import {
  CallToolRequestSchema,
  CreateMessageResultSchema,
  ElicitResultSchema,
  ListRootsResultSchema,
  ListToolsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { createMcpHandler, inputRequired, Server } from '@modelcontextprotocol/server'
import { listenOn } from './socket-server.ts'
import type { Stage } from './stage.ts'

/** A server of an SDK with those tools of a `Remote` that involve more than text. */
export interface SdkServer {
  url: string
  /** Names of tools whose call was cancelled. */
  cancelled: readonly string[]
  /** Notifies clients that the tools have changed. */
  changeTools(): void | Promise<void>
}

const toolNames = ['echo', 'elicit', 'sample', 'roots', 'progress', 'slow']
const instructions = 'Call echo.'
const serverInfo = { name: 'remote', version: '1.0.0' }
const capabilities = { tools: { listChanged: true } }
const requestedSchema = {
  type: 'object' as const,
  properties: { name: { type: 'string' as const } },
  required: ['name'],
}
const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'Say hi' } }]
const steps = [1, 2, 3, 4]

function text(value: unknown): { content: { type: 'text'; text: string }[] } {
  return { content: [{ type: 'text', text: typeof value === 'string' ? value : JSON.stringify(value) }] }
}

function listed(extra: readonly string[]): { name: string; inputSchema: { type: 'object' } }[] {
  return [...toolNames, ...extra].map((name) => ({ name, inputSchema: { type: 'object' as const } }))
}

/**
 * Returns the pause after a step in milliseconds; after the last it is long enough that no client reads its
 * notification together with the result.
 */
const pauseBehind = (step: number): number => (step === steps.length ? 400 : 30)

/** Waits for the cancellation of a call that never ends on its own. */
function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}

/** A server of `@modelcontextprotocol/sdk`, revision 2025-11-25, with sessions. */
export async function startLegacySdkServer(stage: Stage): Promise<SdkServer> {
  const cancelled: string[] = []
  const extra: string[] = []
  const transports = new Map<string, StreamableHTTPServerTransport>()
  const servers = new Set<LegacySdkServer>()

  function create(): LegacySdkServer {
    const server = new LegacySdkServer(serverInfo, { capabilities, instructions })
    server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: listed(extra) }))
    server.setRequestHandler(
      CallToolRequestSchema,
      async ({ params }, { sendRequest, sendNotification, ...call }) => {
        switch (params.name) {
          case 'elicit': {
            const asked = { message: 'Your name?', requestedSchema }
            return text(
              await sendRequest({ method: 'elicitation/create', params: asked }, ElicitResultSchema),
            )
          }
          case 'sample': {
            const asked = { messages, maxTokens: 10 }
            const method = 'sampling/createMessage'
            return text(await sendRequest({ method, params: asked }, CreateMessageResultSchema))
          }
          case 'roots':
            return text(await sendRequest({ method: 'roots/list' }, ListRootsResultSchema))
          case 'progress':
            for (const progress of steps) {
              const progressToken = call._meta?.progressToken ?? ''
              await sendNotification({
                method: 'notifications/progress',
                params: { progressToken, progress, total: 4 },
              })
              await delay(pauseBehind(progress))
            }
            return text('done')
          case 'slow':
            await aborted(call.signal)
            cancelled.push(params.name)
            return text('too late')
          default:
            return text(String(params.arguments?.['text']))
        }
      },
    )
    servers.add(server)
    return server
  }

  async function transportFor(id: string | string[] | undefined): Promise<StreamableHTTPServerTransport> {
    const known = typeof id === 'string' ? transports.get(id) : undefined
    if (known !== undefined) return known
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (opened) => void transports.set(opened, transport),
    })
    await create().connect(transport)
    return transport
  }

  const server = createServer((request, response) => {
    void transportFor(request.headers['mcp-session-id']).then((transport) =>
      transport.handleRequest(request, response),
    )
  })
  const { port } = await listenOn(stage, server)
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    cancelled,
    async changeTools() {
      extra.push('extra_1')
      for (const each of servers) await each.sendToolListChanged().catch(() => {})
    },
  }
}

/** A server of `@modelcontextprotocol/server`: 2026-07-28, and the older era too unless `only`. */
export async function startModernSdkServer(stage: Stage, { only }: { only: boolean }): Promise<SdkServer> {
  const cancelled: string[] = []
  const extra: string[] = []

  function create(): Server {
    const server = new Server(serverInfo, { capabilities, instructions })
    server.setRequestHandler('tools/list', () => ({ tools: listed(extra) }))
    server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
      const answers = mcpReq.inputResponses
      switch (params.name) {
        case 'elicit':
          if (answers !== undefined) return text(answers['answer'])
          return inputRequired({
            inputRequests: { answer: inputRequired.elicit({ message: 'Your name?', requestedSchema }) },
          })
        case 'sample':
          if (answers !== undefined) return text(answers['answer'])
          return inputRequired({
            inputRequests: { answer: inputRequired.createMessage({ messages, maxTokens: 10 }) },
          })
        case 'roots':
          if (answers !== undefined) return text(answers['answer'])
          return inputRequired({ inputRequests: { answer: inputRequired.listRoots() } })
        case 'progress':
          for (const progress of steps) {
            const progressToken = mcpReq._meta?.progressToken ?? ''
            await mcpReq.notify({
              method: 'notifications/progress',
              params: { progressToken, progress, total: 4 },
            })
            await delay(pauseBehind(progress))
          }
          return text('done')
        case 'slow':
          await aborted(mcpReq.signal)
          cancelled.push(params.name)
          return text('too late')
        default:
          return text(String(params.arguments?.['text']))
      }
    })
    return server
  }

  const handler = createMcpHandler(create, only ? { legacy: 'reject' } : {})
  const listener = getRequestListener((request) => handler.fetch(request))
  const server = createServer((...exchange) => void listener(...exchange))
  stage.later(() => handler.close())
  const { port } = await listenOn(stage, server)
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    cancelled,
    changeTools() {
      extra.push('extra_1')
      handler.notify.toolsChanged()
    },
  }
}
