import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A small MCP server of the 2025 era, to connect to. */
export interface McpServer {
  origin: string
  url: string
  /** Methods of requests and notifications as they came, and `DELETE` of sessions. */
  seen: string[]
  /** What the requests carried, without those of the protocol. */
  headers: IncomingMessage['headers'][]
  close(): Promise<void>
}

/** What a server does other than answering. */
export interface McpServerOptions {
  /** Only this token is accepted; without one the server asks for a sign-in. */
  token?: string
  /** Members of the challenge. */
  challenge?: (origin: string) => string
  /** Answers anything but the endpoint; false for 404. */
  other?: (request: IncomingMessage, response: ServerResponse, origin: string) => boolean
  /** The response to a method, without what goes around it; undefined for the usual one. */
  answer?: (method: string | undefined) => Record<string, unknown> | undefined
  /** The `Date` header. */
  date?: () => string
}

/** Listens on loopback. Answers `initialize`, `tools/list` and nothing else. */
export async function startMcpServer(options: McpServerOptions = {}): Promise<McpServer> {
  const seen: string[] = []
  const headers: IncomingMessage['headers'][] = []
  const server = createServer((request, response) => {
    void answer(request, response)
  })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (options.date) response.setHeader('Date', options.date())
    if (request.url !== '/mcp') {
      if (options.other?.(request, response, origin()) !== true) response.writeHead(404).end()
      return
    }
    if (options.token !== undefined && request.headers.authorization !== `Bearer ${options.token}`) {
      const challenge = options.challenge?.(origin()) ?? 'Bearer'
      response.writeHead(401, { 'WWW-Authenticate': challenge }).end()
      return
    }
    headers.push(request.headers)
    if (request.method === 'POST') await answerMessage(request, response)
    else {
      if (request.method === 'DELETE') seen.push('DELETE')
      response.writeHead(request.method === 'DELETE' ? 200 : 405).end()
    }
  }

  async function answerMessage(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const message = JSON.parse(body) as { id?: unknown; method?: string }
    seen.push(message.method ?? 'response')
    if (message.id === undefined) {
      response.writeHead(202).end()
      return
    }
    response.setHeader('Content-Type', 'application/json')
    if (message.method === 'initialize') response.setHeader('Mcp-Session-Id', 'session-1')
    response.end(
      JSON.stringify({
        jsonrpc: '2.0',
        id: message.id,
        ...(options.answer?.(message.method) ?? resultOf(message.method)),
      }),
    )
  }

  function origin(): string {
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    origin: origin(),
    url: `${origin()}/mcp`,
    seen,
    headers,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

function resultOf(method: string | undefined): Record<string, unknown> {
  switch (method) {
    case 'initialize':
      return {
        result: {
          protocolVersion: '2025-11-25',
          capabilities: { tools: {} },
          serverInfo: { name: 'small', version: '1' },
        },
      }
    case 'tools/list':
      return { result: { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] } }
    default:
      return { error: { code: -32_601, message: 'Method not found' } }
  }
}
