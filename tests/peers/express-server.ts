import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import { createMcpExpressApp } from '@modelcontextprotocol/sdk/server/express.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'

const texts: Readonly<Record<string, string>> = {
  opening_hours: 'Open from 9 to 5.',
  delete_everything: 'Deleted everything.',
}

type Handler = (request: IncomingMessage & { body: unknown }, response: ServerResponse) => void
type App = RequestListener & { post(path: string, handler: Handler): void }

/** Starts a server on loopback that reads messages with Express's body parser, like most MCP servers in JavaScript. */
export async function startExpressServer(port: number): Promise<{ url: string; close(): Promise<void> }> {
  const app = createMcpExpressApp() as unknown as App
  app.post('/mcp', (request, response) => void answer(request, response))
  const server = createServer(app).listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

async function answer(request: IncomingMessage & { body: unknown }, response: ServerResponse): Promise<void> {
  const server = new McpServer({ name: 'express', version: '1' })
  for (const [name, text] of Object.entries(texts)) {
    server.registerTool(name, { description: 'For the tests' }, () => ({ content: [{ type: 'text', text }] }))
  }
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true })
  await server.connect(transport)
  await transport.handleRequest(request, response, request.body)
}
